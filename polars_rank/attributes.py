"""Attributes: what describes a query, on every row of it, those of missed items too."""

from collections.abc import Callable, Sequence

import polars as pl

from polars_rank.errors import DataError, require_columns
from polars_rank.refusals import refusing_repeats
from polars_rank.tables import OURS, Frame, as_lazy, unify_ids

_DIFFERENT, _OF_QUERY = f"{OURS}different ", f" {OURS}of query"


def with_attributes(
    judged: pl.LazyFrame,
    run_rows: pl.LazyFrame,
    ranking: Sequence[str],
    query: str,
    given: Frame | Sequence[str] | None,
) -> pl.LazyFrame:
    """Carry what describes a query onto every row of it: a table of its own, or columns of the run."""
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
    names = list(given)
    require_columns(run_rows.collect_schema().names(), names, "run")
    judged = judged.drop(names)
    for level in dict.fromkeys([tuple(ranking), (query,)]):
        known = [pl.col(name).drop_nulls() for name in names]
        values = run_rows.group_by(level).agg(
            *(values.first() for values in known),
            *(values.n_unique().name.prefix(_DIFFERENT) for values in known),
        )
        if level == tuple(ranking):
            values = values.map_batches(_refusing_variation(names, level), validate_output_schema=False)
        one = [pl.when(pl.col(f"{_DIFFERENT}{name}") <= 1).then(name).name.keep() for name in names]
        judged = judged.join(values.select(*level, *one), on=level, how="left", suffix=_OF_QUERY)
        if level != tuple(ranking):
            # A system that missed the query has it from the others, where they agree.
            judged = judged.with_columns(pl.coalesce(name, f"{name}{_OF_QUERY}") for name in names)
            judged = judged.drop(f"{name}{_OF_QUERY}" for name in names)
    return judged


def _refusing_variation(names: Sequence[str], level: Sequence[str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(values: pl.DataFrame) -> pl.DataFrame:
        for name in names:
            varying = values.filter(pl.col(f"{_DIFFERENT}{name}") > 1)
            if not varying.is_empty():
                where = ", ".join(f"{key} {varying[key][0]!r}" for key in level)
                raise DataError(
                    f"attribute {name!r} varies within a ranking ({where}); make it a key: keys=[...]"
                )
        return values

    return check
