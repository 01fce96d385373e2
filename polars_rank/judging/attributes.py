"""Attributes: columns that describe a query, filled in on every row of it, missed items included."""

from collections.abc import Sequence

import polars as pl

from polars_rank.core.checks import DIFFERENT, refusing_repeats, refusing_variation
from polars_rank.core.errors import DataError, Message, Setting, require_columns
from polars_rank.core.frames import OURS, Frame, as_lazy, as_list, unify_ids

_OF_QUERY = f" {OURS}of query"
_VARIES = "attribute {name} varies within a ranking ({where})"


def _as_key(name: str) -> Message:
    return ("make it a key: ", Setting("keys", [name]))


def with_attributes(
    judged: pl.LazyFrame,
    run_rows: pl.LazyFrame,
    ranking: Sequence[str],
    query: str,
    given: str | Sequence[str] | Frame | None,
) -> pl.LazyFrame:
    """Add attributes to every row of a query, from a table with one row per query or columns of the run."""
    if given is None:
        return judged
    if isinstance(given, pl.DataFrame | pl.LazyFrame):
        both = unify_ids({"judged": judged, "attributes": as_lazy(given, "attributes")}, [query])
        table = both["attributes"].map_batches(
            refusing_repeats([query], "attributes"), validate_output_schema=False
        )
        have = both["judged"].collect_schema().names()
        for name in table.collect_schema().names():
            if name != query and name in have:
                raise DataError(
                    f"attributes has a column {name!r} that the judged table has too: leave one out"
                )
        return both["judged"].join(table, on=query, how="left")
    names: list[str] = as_list(given)
    require_columns(run_rows.collect_schema(), names, "run")
    judged = judged.drop(names)
    for level in dict.fromkeys([tuple(ranking), (query,)]):
        known = [pl.col(name).drop_nulls() for name in names]
        values = run_rows.group_by(level).agg(
            *(values.first() for values in known),
            *(values.n_unique().name.prefix(DIFFERENT) for values in known),
        )
        if level == tuple(ranking):
            values = values.map_batches(
                refusing_variation(names, level, _VARIES, _as_key), validate_output_schema=False
            )
        one = [pl.when(pl.col(f"{DIFFERENT}{name}") <= 1).then(name).name.keep() for name in names]
        judged = judged.join(values.select(*level, *one), on=level, how="left", suffix=_OF_QUERY)
        if level != tuple(ranking):
            # A system that missed the query gets the value of the others, if they agree.
            judged = judged.with_columns(pl.coalesce(name, f"{name}{_OF_QUERY}") for name in names)
            judged = judged.drop(f"{name}{_OF_QUERY}" for name in names)
    return judged
