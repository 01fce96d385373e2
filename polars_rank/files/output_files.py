"""Write files completely or not at all; write directly to pipes and open descriptors."""

import io
import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from types import FrameType
from typing import IO

PathLike = str | os.PathLike[str]

# Paths of open descriptors on Linux and macOS.
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(\d+)(/task/\d+)?/fd")
# Signals that end a process unless it handles them. Windows has no SIGHUP.
_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` on success.

    On an error, or if SIGTERM or SIGHUP ends the process, `path` is unchanged and no temporary file is left.
    Links are followed. Pipes, devices and open descriptors, such as ``/dev/stdout`` or ``>(...)`` of the
    shell, are written to directly.
    """
    try:
        special = _special(path)
        if special is None:
            with _replacing(path) as file:
                yield file
        else:
            with open(special, "wb") as file:
                content = io.BytesIO()
                yield content
                file.write(content.getbuffer())
    except OSError as error:
        # Name the file, not its temporary replacement.
        if error.errno is not None:
            error.filename = os.fspath(path)
        raise


def _special(path: PathLike) -> int | None:
    """Open a descriptor if `path` is not an ordinary file."""
    step = os.path.join(os.getcwd(), path)
    for _ in range(40):  # as many links as Linux follows
        folder, name = os.path.split(step)
        step = os.path.join(os.path.realpath(folder), name)
        found = _DESCRIPTORS.fullmatch(os.path.dirname(step))
        if found and name.isdecimal():
            if found[1] in (None, str(os.getpid())):
                # Opening it again by name would truncate the file.
                if sys.stdout is not None:
                    sys.stdout.flush()
                return os.dup(int(name))
            return os.open(step, os.O_WRONLY | os.O_APPEND)
        if not os.path.islink(step):
            break
        step = os.path.join(os.path.dirname(step), os.readlink(step))
    ordinary = os.path.isfile(step) or os.path.isdir(step) or not os.path.exists(step)
    return None if ordinary else os.open(step, os.O_WRONLY)


@contextmanager
def _replacing(path: PathLike) -> Iterator[IO[bytes]]:
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)} is a directory; name a file")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no directory {folder} to write {os.path.basename(target)} to")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied")
    # Independent of the name of the target, which may have the maximal length.
    temporary = os.path.join(folder, f".polars_rank.{token_hex(6)}")
    with _removed_by_signals(temporary):
        try:
            with open(temporary, "xb") as file:
                yield file
            if os.path.exists(target):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)


@contextmanager
def _removed_by_signals(temporary: str) -> Iterator[None]:
    """Remove the file before a signal ends the process."""

    def end(number: int, _: FrameType | None) -> None:
        if os.path.exists(temporary):
            os.remove(temporary)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    changed = []
    try:
        for number in _ENDING:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, end)
                changed.append(number)
    except ValueError:
        # Only the main thread can set signal handlers.
        pass
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
