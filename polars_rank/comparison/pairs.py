"""Pairs of systems with their values per query: the input of every comparison."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import polars as pl

from polars_rank.core.errors import (
    ArgumentError,
    DataError,
    Setting,
    nearest,
    require_columns,
)
from polars_rank.core.frames import (
    OURS,
    as_list,
    column,
    columns_apart,
    long,
    named_apart,
    own_name,
    require_different,
    unify_ids,
)
from polars_rank.measures.names import AmbiguousMeasureError, parse

Missing = Literal["error", "zero", "drop"]
Test = Literal["t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"]
Alternative = Literal["two-sided", "less", "greater"]
Interval = Literal["t", "bootstrap", "basic", "bca"]
ZeroMethod = Literal["wilcox", "pratt", "zsplit"]
WilcoxonMethod = Literal["auto", "exact", "asymptotic"]

OUTCOMES = ("wins", "ties", "losses")


class ComparisonSetup(NamedTuple):
    """What to compare: columns of a per-query table (all but the measures renamed), and systems."""

    measures: list[str]
    by: list[str]
    system: str
    query: str
    baseline: object
    missing: Missing

    @property
    def keys(self) -> list[str]:
        """Key columns of the result."""
        return [*self.by, "measure", "system", "baseline"]

    def key_schema(self, schema: pl.Schema) -> dict[str, pl.DataType]:
        """Types of the key columns, without collecting."""
        system = schema[self.system]
        types = {name: schema[name] for name in self.by}
        return {**types, "measure": pl.String(), "system": system, "baseline": system}


class TestOptions(NamedTuple):
    """The options of `compare` that decide how each pair is tested."""

    tests: list[Test]
    alternative: Alternative
    interval: Interval
    level: float
    zero_method: ZeroMethod
    wilcoxon_method: WilcoxonMethod
    continuity: bool
    samples: int
    seed: int

    @property
    def tail(self) -> float:
        """Probability beyond each end of the interval."""
        return (1 - self.level) / (2 if self.alternative == "two-sided" else 1)

    @property
    def number_columns(self) -> list[str]:
        """Float columns that depend on one pair only; null where undefined."""
        names = ["mean", "mean_baseline", "difference", "low", "high", "effect_size"]
        for test in self.tests:
            names += [f"statistic_{test}"] if test in ("t", "wilcoxon") else []
            names += [f"p_{test}"] if test != "tukey" else []
        return names


def measure_columns(
    schema: pl.Schema, measures: str | Sequence[str] | None, others: Sequence[str]
) -> list[str]:
    """Return the measure columns: those in `measures`, or else all numeric columns named like a measure."""
    if measures is not None:
        names = as_list(measures)
        require_columns(schema, names, "per_query")
    else:
        names = [
            name
            for name, dtype in schema.items()
            if name not in others and dtype.is_numeric() and _is_measure(name)
        ]
    if not names:
        raise DataError(
            f"per_query has no column whose name is a measure, such as 'nDCG@10'; "
            f"name the columns in measures=: it has {schema.names()}"
        )
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"measures names {name!r} twice; once will do")
        if name in others or not (schema[name].is_numeric() or schema[name] in (pl.Boolean, pl.Null)):
            raise DataError(f"per_query.{name} has type {schema[name]} and can't be a measure; cast it first")
    return names


def _is_measure(name: str) -> bool:
    try:
        parse(name)
    except AmbiguousMeasureError:
        # Whichever measure is meant, its values are already in the column.
        return True
    except ValueError:
        return False
    return True


def higher_is_better(measure: str) -> bool:
    """Direction of a measure, by its name; an unknown name counts as higher-is-better."""
    try:
        return parse(measure).measure.higher_is_better
    except ValueError:
        return True


def completed(
    per_query: pl.DataFrame,
    measures: Sequence[str],
    by: Sequence[str] = (),
    *,
    zero: bool,
    system: str = "system",
    query: str = "query",
) -> pl.DataFrame:
    """Add a row for every query that a system has no row for: null, or `zero` if another has a value."""
    place, row = [*by, query], f"{OURS}row"
    grid = per_query.select(place).unique().join(per_query.select(system).unique(), how="cross")
    given = per_query.with_columns(pl.lit(True).alias(row))
    full = grid.join(given, on=[*place, system], how="left", nulls_equal=True)
    if zero:
        full = full.with_columns(
            pl.when(pl.col(row).is_null() & column(name).is_not_null().any().over(place))
            .then(0)
            .otherwise(column(name))
            .alias(name)
            for name in measures
        )
    return full.drop(row)


def prepare(
    per_query: pl.LazyFrame,
    *,
    baseline: object,
    by: str | Sequence[str] | None,
    measures: str | Sequence[str] | None,
    system: str,
    query: str,
    missing: Missing,
) -> tuple[pl.LazyFrame, ComparisonSetup]:
    """Check the columns of a per-query table, and cast its ids so that they join and sort by value.

    Query, system and slices get collision-free names, which `named_back` undoes.
    """
    groups = as_list(by)
    schema = per_query.collect_schema()
    require_columns(schema, [query, system, *groups], "per_query")
    require_different({"query": query, "system": system})
    reserved = {query, system, "measure", "system", "baseline"}
    for name in groups:
        if name in reserved:
            taken = " can't slice a comparison: the column has another role; leave it out"
            raise ArgumentError((Setting("by", name), taken))
    names = measure_columns(schema, measures, [query, system, *groups])
    apart = named_apart([query, system, *groups])
    by_apart = [apart[name] for name in groups]
    setup = ComparisonSetup(names, by_apart, apart[system], apart[query], baseline, missing)
    table = unify_ids({"per_query": per_query}, [query, system])["per_query"]
    return table.select(*map(column, names), *columns_apart(apart)), setup


def crossed_values(per_query: pl.DataFrame, setup: ComparisonSetup) -> pl.DataFrame:
    """Cross queries, measures and systems: one row each, with `value`, `lacking` and `absent`.

    `lacking`: the table has no value (no row, or null). `absent`: it has no row, but another system has a
    value, so the query counts; with ``missing="zero"`` the value is 0 there.
    """
    _, by, system, query, _, missing = setup
    _require_unique(per_query, setup)
    given = long(per_query, setup.measures, [*by, query, system], "value").with_columns(_row=True)
    cells = given.group_by(*by, "measure", query).agg(_known=pl.col("value").is_not_null().any())
    grid = cells.join(per_query.select(system).unique(), how="cross")
    return (
        grid.join(given, on=[*by, "measure", query, system], how="left", nulls_equal=True)
        .with_columns(lacking=pl.col("value").is_null(), absent=pl.col("_row").is_null() & pl.col("_known"))
        .with_columns(
            pl.when(pl.lit(missing == "zero"), "absent").then(0.0).otherwise("value").alias("value")
        )
        .drop("_row", "_known")
    )


def _require_unique(per_query: pl.DataFrame, setup: ComparisonSetup) -> None:
    _, by, system, query, _, _ = setup
    for name in (query, system):
        if per_query[name].null_count():
            raise DataError(f"per_query.{own_name(name)} has a null; every row needs a {own_name(name)}")
    repeated = per_query.group_by(*by, query, system).len().filter(pl.col("len") > 1).sort(query, system, *by)
    if len(repeated):
        row = repeated.row(0, named=True)
        raise DataError(
            f"per_query has {row['len']} rows for query {row[query]!r} of system {row[system]!r}",
            remedy=("name the other keys in ", Setting("by")),
        )


def paired_values(per_query: pl.DataFrame, setup: ComparisonSetup) -> pl.DataFrame:
    """Pair the systems: one row per slice, measure and pair, with the values of both as lists.

    Columns: the keys, `missing` (queries for which one of the two lacks a value), and `x` (the system's
    values) and `y` (the baseline's), both in the order of the query ids.
    """
    by, query = setup.by, setup.query
    cells = crossed_values(per_query, setup).rename({setup.system: "system"})
    if setup.missing == "error":
        _refuse_absent(cells, setup)
    pairs = _pairs(cells["system"].unique().sort(), setup.baseline)
    base = cells.drop("absent").rename({"system": "baseline", "value": "y", "lacking": "_base_lacks"})
    both = (
        cells.drop("absent")
        .rename({"value": "x"})
        .join(pairs, on="system")
        .join(base, on=[*by, "measure", query, "baseline"], nulls_equal=True)
    )
    has_both = pl.all_horizontal(pl.col("x", "y").is_not_null())
    return (
        both.sort(query)
        .group_by(setup.keys)
        .agg(
            pl.any_horizontal("lacking", "_base_lacks").sum().cast(pl.Int64).alias("missing"),
            pl.col("x", "y").filter(has_both).sort_by(pl.col(query).filter(has_both)),
        )
        .join(pl.DataFrame({"measure": setup.measures}).with_row_index("place"), on="measure")
        .sort(*by, "place", "baseline", "system")
        .drop("place")
    )


def _pairs(systems: pl.Series, baseline: object) -> pl.DataFrame:
    names: list[Any] = systems.to_list()
    if len(names) < 2:
        raise DataError(f"per_query holds one system, {names}; a comparison needs two")
    if baseline is None:
        pairs = list(combinations(names, 2))
    elif baseline in names:
        pairs = [(name, baseline) for name in names if name != baseline]
    else:
        hint = nearest(str(baseline), map(str, names))
        unknown = f" is not a system{hint}; the systems are {names}"
        raise ArgumentError((Setting("baseline", baseline), unknown))
    return pl.DataFrame(pairs, schema={"system": systems.dtype, "baseline": systems.dtype}, orient="row")


def _refuse_absent(cells: pl.DataFrame, setup: ComparisonSetup) -> None:
    absent = cells.filter("absent").sort("system", "measure", setup.query)
    if len(absent):
        first = absent.row(0, named=True)
        same = absent.filter(system=first["system"], measure=first["measure"])
        queries = same[setup.query].unique().sort()
        shown = ", ".join(map(repr, queries.head(3)))
        raise DataError(
            f"system {first['system']!r} lacks {first['measure']} for {len(same)} queries that another "
            f'system has: {shown}{" …" if len(queries) > 3 else ""}; use missing="zero" or missing="drop"'
        )
