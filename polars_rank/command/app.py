"""The command ``polars-rank``: its sub-commands, errors and exit codes."""

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import polars as pl
from cyclopts import App, CycloptsError, Parameter

import polars_rank as rank
from polars_rank.command.arguments import in_shell
from polars_rank.command.comparing import compare_runs
from polars_rank.command.fusing import fuse
from polars_rank.command.output import close_streams, open_streams, print_bytes, say
from polars_rank.command.reference import list_measures, sql
from polars_rank.command.scoring import check, evaluate
from polars_rank.command.trec_eval.app import USAGE as TREC_EVAL_USAGE
from polars_rank.command.trec_eval.app import main as as_trec_eval
from polars_rank.core.errors import Explained
from polars_rank.core.interrupts import interrupts_end_quietly, interrupts_raise

app = App(
    name="polars-rank",
    help="Score, check, compare and fuse rankings.\n\n"
    "Results go to standard output, notes and errors to standard error.",
    help_format="markdown",
    help_epilogue="Exit codes: 0 for success, 1 for bad data, 2 for wrong arguments.",
    version=rank.__version__,
    default_parameter=Parameter(negative=()),
)
app.command(evaluate, usage="Usage: polars-rank evaluate QRELS RUN... [OPTIONS]")
app.command(fuse, usage="Usage: polars-rank fuse RUN RUN... [OPTIONS]")
app.command(check, usage="Usage: polars-rank check QRELS RUN... [OPTIONS]")
app.command(compare_runs, name="compare", usage="Usage: polars-rank compare QRELS RUN RUN... [OPTIONS]")
app.command(list_measures, name="list")
app.command(sql)


@app.command(usage=TREC_EVAL_USAGE, version_flags=[])
def trec_eval(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Drop-in replacement for trec_eval: the same output, byte for byte.

    Parameters
    ----------
    arguments
        The options above, in any order, and the two files.
    """
    code = as_trec_eval(arguments)
    if code:
        sys.exit(code)


# What users can fix, including a package that is not installed. Anything else is a bug: its traceback shows.
_TOLD = (CycloptsError, pl.exceptions.PolarsError, OSError, ValueError, TypeError, ModuleNotFoundError)


def _fail(error: Exception) -> int:
    """Print the problem in one line; return the exit code."""
    wrong_use = not isinstance(error, rank.DataError | pl.exceptions.PolarsError | OSError)
    message = str(error)
    if isinstance(error, CycloptsError):
        message += " See polars-rank --help"
    elif isinstance(error, OSError):
        wrong_use = isinstance(error, FileNotFoundError | IsADirectoryError)
        if error.filename and error.strerror:
            message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, Explained):
        message = error.spelled(in_shell)
    # Polars adds the query plan below the message.
    say([message.strip().splitlines()[0]], kind="")
    return 2 if wrong_use else 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit: 0 for success, 1 for bad data, 2 for wrong arguments."""
    code = 0
    # The commands print a note of their own, which names the file.
    warnings.simplefilter("ignore", rank.NoMatchWarning)
    try:
        interrupts_raise()
        open_streams()
        given = sys.argv[1:] if arguments is None else arguments
        app(given, exit_on_error=False, print_error=False, result_action="return_none")
        print_bytes(b"")
    except BrokenPipeError:
        # The reader has closed the pipe, as in `| head`.
        pass
    except KeyboardInterrupt:
        code = 130
    except _TOLD as error:
        code = _fail(error)
    interrupts_end_quietly()
    close_streams()
    sys.exit(code)
