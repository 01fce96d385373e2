"""Files that appear whole or not at all; pipes and open descriptors, which are written to as they are."""

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

# Where Linux and macOS show the open descriptors of a process.
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/(\d+)(/task/\d+)?/fd")
# What ends a process at once, unless it asks to be told. Windows has no SIGHUP.
_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


@contextmanager
def replace_file(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when all went well.

    On an error, and where SIGTERM or SIGHUP ends the process, `path` stays as it was and nothing is left
    behind. A link is followed. A pipe, a device, and an open descriptor such as ``/dev/stdout`` or the
    shell's ``>(...)``, is written to and never replaced.
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
        # Ours is the only file here; its temporary name says nothing.
        if error.errno is not None:
            error.filename = os.fspath(path)
        raise


def _special(path: PathLike) -> int | None:
    """Give a descriptor to write to, if `path` is no ordinary file."""
    step = os.path.join(os.getcwd(), path)
    for _ in range(40):  # as many links as Linux follows
        folder, name = os.path.split(step)
        step = os.path.join(os.path.realpath(folder), name)
        found = _DESCRIPTORS.fullmatch(os.path.dirname(step))
        if found and name.isdecimal():
            if found[1] in (None, str(os.getpid())):
                # Opened again by its name, a file would be emptied.
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
    # Not the target's name, which may be as long as a name can be.
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
    """Remove the file before a signal ends the process as it would have."""

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
        # Only the main thread may; another one must live with what it finds.
        pass
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
