"""Errors and warnings: the problem, the argument at fault and its value, the remedy."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

import polars as pl

P = ParamSpec("P")
R = TypeVar("R")


class Setting(NamedTuple):
    """An argument and its value in a message; the command spells it as an option."""

    argument: str
    value: Any = ...

    def __str__(self) -> str:
        return f"{self.argument}={'' if self.value is ... else repr(self.value)}"


class Clause(tuple[str | Setting, ...]):
    """Parts of a message that make sense together only: without its settings, a clause is left out."""

    __slots__ = ()


Part = str | Setting | Clause
Message = str | Sequence[Part]
NameOf = Callable[[str], str | None]


def parts_of(message: Message) -> tuple[Part, ...]:
    """Split a message into its texts, settings and clauses."""
    return tuple([message] if message else []) if isinstance(message, str) else tuple(message)


def _spelled(message: Sequence[Part], spell: Callable[[Setting], str]) -> str:
    return "".join(
        part if isinstance(part, str) else spell(part) if isinstance(part, Setting) else _spelled(part, spell)
        for part in message
    )


def _renamed(message: Sequence[Part], name_of: NameOf) -> Sequence[Part] | None:
    """Rename the arguments of a message; None if it needs one that has no name."""
    parts: list[Part] = []
    for part in message:
        if isinstance(part, Clause):
            clause = _renamed(part, name_of)
            parts += [] if clause is None else clause
        elif isinstance(part, Setting):
            name = name_of(part.argument)
            if name is None:
                return None
            parts.append(part._replace(argument=name))
        else:
            parts.append(part)
    return parts


# Within an expression, Polars makes a new error of the class: the old text, this, and the expression.
_ADDED_BY_POLARS = "\n\nThis error occurred in the following"
_recent: deque[tuple[str, tuple[Message, Message, str | None, Any]]] = deque(maxlen=32)


class Explained(Exception):  # noqa: N818 - warnings have it as a base too
    """What is wrong and what to do, in fields, so that no code reads the text of an error.

    Attributes
    ----------
    problem : what is wrong: texts and settings.
    remedy : what to do, likewise; empty if the problem says it all.
    argument, value : the argument at fault; default: the first setting of the problem.
    """

    def __init__(
        self, problem: Message = "", *, remedy: Message = "", argument: str | None = None, value: Any = None
    ) -> None:
        if isinstance(problem, str) and _ADDED_BY_POLARS in problem:
            problem = problem.partition(_ADDED_BY_POLARS)[0]
            fields = dict(_recent).get(problem, (problem, remedy, argument, value))
            problem, remedy, argument, value = fields
        self.problem, self.remedy = parts_of(problem), parts_of(remedy)
        first = next((part for part in self.problem if isinstance(part, Setting)), None)
        if argument is None and first is not None:
            argument, value = first
        self.argument, self.value = argument, value
        text = self.spelled(str)
        super().__init__(text)
        _recent.append((text, (self.problem, self.remedy, argument, value)))

    def spelled(self, spell: Callable[[Setting], str]) -> str:
        """Join problem and remedy, with each setting written by `spell`."""
        problem, remedy = (_spelled(message, spell) for message in (self.problem, self.remedy))
        return shortened(f"{problem}; {remedy}" if remedy else problem)

    def within(self, place: str) -> Self:
        """Copy the error, with the place of the problem, such as a file, at its start."""
        return self._copy((f"{place}: ", *self.problem), self.remedy)

    def renamed(self, name_of: NameOf) -> Self:
        """Copy the error with other argument names; advice that needs an argument named None is left out."""
        problem, remedy = (_renamed(message, name_of) for message in (self.problem, self.remedy))
        return self._copy(self.problem if problem is None else problem, remedy or "")

    def _copy(self, problem: Message, remedy: Message) -> Self:
        # A subclass may take other arguments.
        error = type(self).__new__(type(self))
        error.__dict__.update(self.__dict__)
        Explained.__init__(error, problem, remedy=remedy, argument=self.argument, value=self.value)
        return error


class DataError(Explained, ValueError):
    """The data, not the call, is at fault: a bad file, a bad id, a repeated row."""


class ArgumentError(Explained, ValueError):
    """The call is at fault: an argument has a value that it can't have."""


def shortened(message: str) -> str:
    """Cut what no reader wants in full, such as an id of many megabytes or thousands of names."""
    message = re.sub(r"(\S{150})\S{100,}", r"\1…", message)
    return message if len(message) <= 3000 else f"{message[:2000]} … {message[-500:]}"


class DataWarning(Explained, UserWarning):
    """The data can be used, but the result may not mean what its reader expects."""


class NoMatchWarning(DataWarning):
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
        problem = f"{argument} must be one of {', '.join(map(repr, choices))}; got {value!r}{hint}"
        raise ArgumentError(problem, argument=argument, value=value)


def require_columns(columns: Iterable[str], wanted: Iterable[str], table: str) -> None:
    """Refuse a table that lacks a column, listing the columns there are; of a schema, Python objects too."""
    have = list(columns)
    for name in wanted:
        if name not in have:
            raise DataError(f"{table} has no column {name!r}{nearest(name, have)}; its columns are {have}")
        if isinstance(columns, pl.Schema) and columns[name] == pl.Object:
            raise DataError(
                f"{table}.{name} has type Object, which Polars can't group, sort or compare; "
                "make it text first, as by .map_elements(str, return_dtype=pl.String)"
            )


def refuse_patterns(argument: str, names: Iterable[str]) -> None:
    """Refuse names that Polars takes for patterns, such as ``*`` and ``^a.*$``."""
    for name in names:
        if name == "*" or (name.startswith("^") and name.endswith("$")):
            problem = (Setting(argument, name), " is a pattern in Polars, not one column")
            raise ArgumentError(problem, remedy="rename the column first")


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


needs_scipy = needs("statistics", "scipy", "scipy", "numpy")
