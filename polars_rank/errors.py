"""What is refused, and how it is said: the argument, the value, the way out."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class DataError(ValueError):
    """The data, not the call, is at fault: a bad file, a bad id, a repeated row."""


class NoMatchWarning(UserWarning):
    """No item that a run returned is judged, so that nothing counts as found."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Give `` (did you mean 'x'?)`` for the choice most like `word`, or nothing."""
    by_lower, lower = {choice.lower(): choice for choice in choices}, word.lower()
    # Letters that changed places look far off when they are few.
    close = get_close_matches(lower, by_lower, n=1, cutoff=0.6) or [
        choice for choice in by_lower if sorted(choice) == sorted(lower)
    ]
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def require_choice(argument: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value outside an option's list, naming the list and the nearest."""
    if not any(value is choice or (value == choice and type(value) is type(choice)) for choice in choices):
        words = [choice for choice in choices if isinstance(choice, str)]
        hint = nearest(value, words) if isinstance(value, str) else ""
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, choices))}; got {value!r}{hint}")


def require_columns(columns: Iterable[str], wanted: Iterable[str], table: str) -> None:
    """Refuse a table that lacks a column, listing the columns there are."""
    have = list(columns)
    for name in wanted:
        if name not in have:
            raise DataError(f"{table} has no column {name!r}{nearest(name, have)}; its columns are {have}")


def needs(purpose: str, package: str, *modules: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Say how to get a package, should the decorated function import one of its modules in vain."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in modules:
                    raise
                message = f"{purpose} need {package}: pip install {package}"
                raise ModuleNotFoundError(message, name=error.name) from error

        return call

    return decorate
