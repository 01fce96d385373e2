"""What is refused, and how: swapped tables, null ids, repeated rows, what varies within a ranking."""

from collections.abc import Callable, Sequence

import polars as pl

from polars_rank.errors import DataError, require_columns
from polars_rank.tables import OURS, column


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


def refusing_repeats(columns: Sequence[str], table: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Refuse repeated rows within a plan, when it is collected; for tables that are small."""

    def check(rows: pl.DataFrame) -> pl.DataFrame:
        refuse_repeats(rows.select(columns), table, rows)
        return rows

    return check


def refuse_repeats(keys: pl.DataFrame, table: str, rows: pl.DataFrame | None = None) -> None:
    """Refuse repeated rows, naming the first and, in qrels, its grades."""
    # Rows with one hash are cheap to look for, and nearly always there are none.
    hashes = pl.sum_horizontal(pl.col(name).hash(seed) for seed, name in enumerate(keys.columns))
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
    where = ", ".join(f"{name} {value!r}" for name, value in first.items())
    way_out = {
        "run": "duplicates='first' keeps the best-ranked",
        "qrels": "duplicates='max' keeps the highest grade",
    }.get(table, "it takes one row each")
    raise DataError(f"{table} has a row twice{grades}: {where} ({repeated.height} such rows); {way_out}")


def refuse_strangers(run_rows: pl.LazyFrame, grades: pl.LazyFrame, query: str) -> None:
    """Refuse tables without a common query, showing ids of both."""
    shared = run_rows.join(grades, on=query, how="semi").select(query).head(1)
    if not shared.collect(engine="streaming").is_empty():
        return
    examples = [frame.select(query).unique(maintain_order=True).head(3) for frame in (run_rows, grades)]
    ours, theirs = pl.collect_all(examples)
    if not ours.is_empty() and not theirs.is_empty():
        raise DataError(
            f"run and qrels have no query in common: the run has {ours[query].to_list()}, …; "
            f"the qrels {theirs[query].to_list()}, …"
        )


DIFFERENT = f"{OURS}different "  # before a column's name: how many values of it a ranking has


def refusing_variation(
    names: Sequence[str], ranking: Sequence[str], told: str
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Refuse columns that vary within a ranking; `told` says so of a {name} and of {where} it varies."""

    def check(values: pl.DataFrame) -> pl.DataFrame:
        for name in names:
            varying = values.filter(pl.col(f"{DIFFERENT}{name}") > 1)
            if not varying.is_empty():
                where = ", ".join(f"{key} {varying[key][0]!r}" for key in ranking)
                raise DataError(told.format(name=repr(name), where=where))
        return values

    return check
