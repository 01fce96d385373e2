"""What is refused, and how: swapped tables, null ids, repeated rows, what varies within a ranking."""

import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from numbers import Real

import polars as pl
import polars.selectors as cs

from polars_rank.core.errors import (
    Clause,
    DataError,
    Message,
    NoMatchWarning,
    Setting,
    parts_of,
    require_columns,
)
from polars_rank.core.frames import OURS, column

WayOut = Callable[[], Message]


def refuse_swapped(
    run: Sequence[str], qrels: Sequence[str], *, score: str, rank: str, relevance: str, order_by: str | None
) -> None:
    """Tell tables that were given in each other's place by their columns."""
    orders = {score, rank}
    if relevance in run:
        swapped = not orders & set(run)
        raise DataError(
            f"run has a column {relevance!r}"
            + (
                f" and neither {score!r} nor {rank!r}: are run and qrels swapped?"
                if swapped
                else ": is it a judged table already? Give it to evaluate without qrels, or drop that column"
            )
        )
    if relevance not in qrels and orders & set(qrels):
        raise DataError(
            f"qrels has no column {relevance!r} but {sorted(orders & set(qrels))}: are run and qrels swapped?"
        )
    wanted = order_by and {"score": score, "rank": rank}[order_by]
    if wanted:
        require_columns(run, [wanted], "run")
    elif not orders & set(run):
        raise DataError(f"run has neither {score!r} nor {rank!r}; its columns are {run}")


def require_number(dtype: pl.DataType, name: str) -> None:
    """Refuse what casts to a number and is none: text, dates, durations."""
    if not (dtype.is_numeric() or isinstance(dtype, pl.Boolean | pl.Null)):
        raise DataError(f"{name} has type {dtype}, which is no number: cast it first")


def require_sampling(level: float, samples: int, seed: int) -> None:
    """Refuse a confidence level, a number of samples or a seed that is out of range."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level!r}; 0.95 is usual")
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def grade_of(qrels: pl.LazyFrame, relevance: str) -> pl.Expr:
    """Read the grades as Float64; without a column every row has grade 1."""
    dtype = qrels.collect_schema().get(relevance)
    if dtype is None:
        return pl.lit(1.0).alias(relevance)
    require_number(dtype, f"qrels.{relevance}")
    return pl.col(relevance).cast(pl.Float64).fill_nan(None)


def no_nulls(frame: pl.LazyFrame, columns: Sequence[str], table: str) -> pl.LazyFrame:
    """Refuse null ids, batch by batch as they pass."""

    def check(name: str) -> Callable[[pl.Series], pl.Series]:
        def refuse(values: pl.Series) -> pl.Series:
            if values.null_count():
                raise DataError(
                    f"{table}.{name} has a null: every row needs its {name}; drop or fill such rows"
                )
            return values

        return refuse

    schema = frame.collect_schema()
    checked = [
        column(name).map_batches(check(name), return_dtype=schema[name], is_elementwise=True)
        for name in columns
    ]
    return frame.with_columns(checked)


def refusing_repeats(
    columns: Sequence[str], table: str, way_out: WayOut | None = None
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Refuse repeated rows within a plan, when it is collected; for tables that are small."""

    def check(rows: pl.DataFrame) -> pl.DataFrame:
        refuse_repeats(rows.select(cs.by_name(columns)), table, rows, way_out)
        return rows

    return check


def refuse_repeats(
    keys: pl.DataFrame, table: str, rows: pl.DataFrame | None = None, way_out: WayOut | None = None
) -> None:
    """Refuse repeated rows, naming the first, in qrels its grades, and the way out."""
    # Rows with one hash are cheap to look for, and nearly always there are none.
    hashes = pl.sum_horizontal(cs.by_name(name).hash(seed) for seed, name in enumerate(keys.columns))
    in_order = keys.select(hashes).to_series().sort()
    if not (in_order == in_order.shift()).any():
        return
    repeated = keys.filter(keys.is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.row(0, named=True)
    grades = ""
    if table == "qrels" and rows is not None:
        same = rows.filter(*(pl.col(name) == value for name, value in first.items()))
        grades = f" with grades {same[:, -1].to_list()}"
    remedy: Message
    if way_out is not None:
        remedy = way_out()
    elif table == "qrels":
        remedy = (Setting("duplicates", "max"), " keeps the highest grade")
    else:
        remedy = "it takes one row each"
    where = ", ".join(f"{name} {value!r}" for name, value in first.items())
    problem = f"{table} has a row twice{grades}: {where} ({repeated.height} such rows)"
    raise DataError(problem, remedy=remedy)


def apart_by_keys(
    rows: pl.LazyFrame, ranking: Sequence[str], item: str, numbers: Sequence[str], otherwise: Message
) -> WayOut:
    """Advise, when asked, the keys that make repeated rows distinct.

    Parameters
    ----------
    rows : the whole table.
    ranking : query and keys.
    numbers : columns that are no keys, such as scores.
    otherwise : what to do if no column tells rankings apart.
    """
    place = [*ranking, item]

    def advise() -> Message:
        repeated = rows.filter(pl.struct(cs.by_name(place)).is_duplicated()).collect()
        others = [
            name
            for name, dtype in repeated.schema.items()
            if not (name in {*place, *numbers} or dtype.is_float() or dtype.is_nested())
        ]
        for size in (1, 2):
            apart = [
                [*ranking[1:], *more]
                for more in combinations(others, size)
                if not repeated.select(*place, *more).is_duplicated().any()
            ]
            if apart:
                choices = (part for keys in apart[:3] for part in (" or ", Setting("keys", keys)))
                remedy = Clause(["use ", *[*choices][1:], " if that tells rankings apart; otherwise "])
                return (remedy, *parts_of(otherwise))
        return otherwise

    return advise


def refusing_infinite(column: str, ids: Sequence[str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Refuse judgements with an infinite grade, naming the first."""

    def check(qrels: pl.DataFrame) -> pl.DataFrame:
        infinite = qrels.filter(pl.col(column).is_infinite())
        if not infinite.is_empty():
            where = ", ".join(f"{name} {infinite[name][0]!r}" for name in ids)
            refuse_infinite(infinite[column], f"qrels.{column}", f" for {where}")
        return qrels

    return check


def refuse_infinite(grades: pl.Series, name: str, where: str = "") -> None:
    """Refuse grades that are infinite."""
    infinite = grades.filter(grades.is_infinite())
    if len(infinite):
        raise DataError(
            f"{name} is {infinite[0]}{where} ({len(infinite)} such rows); grades are finite numbers: "
            "write the highest or lowest grade, or null for an item that is not judged"
        )


def refuse_strangers(run_rows: pl.LazyFrame, grades: pl.LazyFrame, query: str, item: str) -> None:
    """Refuse tables without a common query, showing ids of both; warn if they have no item in common."""
    if matches(run_rows, grades, [query, item]):
        return
    of_run, of_qrels = (_examples(frame, query) for frame in (run_rows, grades))
    if not matches(run_rows, grades, [query]) and of_run and of_qrels:
        raise DataError(
            f"run and qrels have no query in common: the run has {of_run}, …; the qrels {of_qrels}, …"
        )
    warn_of_no_match(run_rows, grades, item)


def matches(run_rows: pl.LazyFrame, grades: pl.LazyFrame, ids: Sequence[str]) -> bool:
    """Tell whether a row of the run has the ids of a judgement."""
    shared = run_rows.join(grades, on=ids, how="semi").select(cs.by_name(ids)).head(1)
    return not shared.collect(engine="streaming").is_empty()


def warn_of_no_match(run_rows: pl.LazyFrame, grades: pl.LazyFrame, item: str) -> None:
    """Warn that nothing can be found, showing ids of both; empty tables explain themselves."""
    of_run, of_qrels = (_examples(frame, item) for frame in (run_rows, grades))
    if not of_run or not of_qrels:
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].startswith("polars_rank."):
        frame, level = frame.f_back, level + 1
    message = (
        "no item that the run returned is judged, so nothing counts as found: "
        f"the run has {of_run}, …; the qrels {of_qrels}, …"
    )
    warnings.warn(message, NoMatchWarning, stacklevel=level)


def _examples(frame: pl.LazyFrame, column: str) -> list[object]:
    few = frame.select(cs.by_name(column)).unique(maintain_order=True).head(3)
    return few.collect().to_series().to_list()


DIFFERENT = f"{OURS}different "  # before a column's name: how many values of it a ranking has


def refusing_variation(
    names: Sequence[str], ranking: Sequence[str], problem: str, remedy: Callable[[str], Message]
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Refuse columns that vary within a ranking; `problem` has a place for the {name} and for {where}."""

    def check(values: pl.DataFrame) -> pl.DataFrame:
        for name in names:
            varying = values.filter(pl.col(f"{DIFFERENT}{name}") > 1)
            if not varying.is_empty():
                where = ", ".join(f"{key} {varying[key][0]!r}" for key in ranking)
                raise DataError(problem.format(name=repr(name), where=where), remedy=remedy(name))
        return values

    return check
