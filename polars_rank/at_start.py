"""Ctrl-C while the command starts: it ends with 130 and without a stack trace.

This is the first module that the package imports, since the imports after it take most of that time. In a
program that only uses the package, it does nothing.
"""

import os
import signal
import sys
from types import FrameType


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(130)


def interrupts_end_quietly() -> None:
    """Let Ctrl-C end the process at once, where it would raise KeyboardInterrupt."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def interrupts_raise() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    program = os.path.basename((getattr(sys, "argv", None) or [""])[0])
    as_module = program == "-m" and any(word.endswith("polars_rank") for word in sys.orig_argv)
    return as_module or os.path.splitext(program)[0] == "polars-rank"


if _is_command():
    interrupts_end_quietly()
