"""A run larger than memory, scored a part at a time: each part holds whole queries."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from polars_rank.core.checks import matches, no_nulls, warn_of_no_match

Score = Callable[[pl.DataFrame, pl.DataFrame, pl.DataFrame | None], pl.DataFrame]

PROGRESS: ContextVar[Callable[[int, int], None] | None] = ContextVar("PROGRESS", default=None)
"""Told rows done and rows in all, where a command wants to show them."""

ROWS_AT_ONCE = 2_000_000
ROWS_A_PASS = 16_000_000


class _Look(NamedTuple):
    """What one pass over the ids of the queries tells."""

    contiguous: bool
    systems: pl.DataFrame | None


def score_in_parts(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    query: str,
    item: str,
    *,
    crossed: bool,
    system: str | None,
    score: Score,
    schema: pl.Schema,
) -> pl.LazyFrame:
    """Score a run as a source of rows: nothing is read before the plan that it is part of is run.

    `score` takes whole queries of the run, their judgements, and the systems of the whole run; `crossed`
    tells whether judged queries that no part holds count too. Warns where no part has a judged `item`.
    """
    told = PROGRESS.get()

    def parts(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for part in _scored(run, qrels, query, item, crossed=crossed, system=system, score=score, told=told):
            kept = part if predicate is None else part.filter(predicate)
            kept = kept if left is None else kept.head(left)
            left = None if left is None else left - kept.height
            yield kept if with_columns is None else kept.select(with_columns)
            if left == 0:
                return

    return register_io_source(parts, schema=schema)


def _scored(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    query: str,
    item: str,
    *,
    crossed: bool,
    system: str | None,
    score: Score,
    told: Callable[[int, int], None] | None,
) -> Iterator[pl.DataFrame]:
    rows = run.select(pl.len()).collect().item()
    if rows <= ROWS_AT_ONCE:
        whole, judgements = pl.collect_all([run, qrels])
        yield score(whole, judgements, None)
        if not matches(whole.lazy(), judgements.lazy(), [query, item]):
            warn_of_no_match(whole.lazy(), judgements.lazy(), item)
        return
    judgements = qrels.sort(query).collect()
    look = _look(run, query, system)
    seen, done, matched = [], 0, False
    empty = run.head(0).collect()
    for part in _stretches(run, query) if look.contiguous else _passes(run, query, rows):
        # Most rows have the query of the row above: what is left is few.
        starts = pl.col(query).filter((pl.col(query) != pl.col(query).shift()).fill_null(True))
        queries = part.select(starts.unique().sort())
        seen.append(queries)
        judged = _of_queries(judgements, queries, query)
        matched = matched or matches(part.lazy(), judged.lazy(), [query, item])
        yield score(part, judged, look.systems)
        done += part.height
        if told is not None:
            told(done, rows)
    if crossed:
        unseen = judgements.join(pl.concat(seen), on=query, how="anti")
        if not unseen.is_empty():
            yield score(empty, unseen, look.systems)
    if not matched:
        warn_of_no_match(run, judgements.lazy(), item)


def _look(run: pl.LazyFrame, query: str, system: str | None) -> _Look:
    # A query that comes back later in the file would be scored twice, so order is looked at, never trusted.
    # A null is neither equal nor unequal to what stands beside it, so it is refused before anything is cut.
    ids = no_nulls(run.select(query), [query], "run")
    before = pl.col(query).shift()
    contiguous = not ids.select((pl.col(query) < before).any()).collect().item()
    if not contiguous:
        stretches = (pl.col(query) != before).sum() + 1
        contiguous = ids.select(stretches == pl.col(query).n_unique()).collect().item()
    systems = None
    if system is not None and system in run.collect_schema():
        systems = run.select(pl.col(system).unique()).collect()
    return _Look(contiguous, systems)


def _stretches(run: pl.LazyFrame, query: str) -> Iterator[pl.DataFrame]:
    """Cut a file whose queries stand together where one of them ends."""
    rest: list[pl.DataFrame] = []
    for batch in run.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
        last = batch[query][-1]
        whole = batch.filter(pl.col(query) != last)
        if whole.height:
            yield pl.concat([*rest, whole])
            rest = []
        rest.append(batch.filter(pl.col(query) == last))
    if rest:
        yield pl.concat(rest)


def _passes(run: pl.LazyFrame, query: str, rows: int) -> Iterator[pl.DataFrame]:
    """Read a file whose queries are strewn once for each share of them."""
    shares = -(-rows // ROWS_A_PASS)
    for share in range(shares):
        part = run.filter(pl.col(query).hash() % shares == share).collect()
        if part.height:
            yield part


def _of_queries(judgements: pl.DataFrame, queries: pl.DataFrame, query: str) -> pl.DataFrame:
    # Judgements are sorted, so the stretch between the first and the last query is found at once.
    ids = judgements[query]
    start, stop = ids.search_sorted(queries[query][0]), ids.search_sorted(queries[query][-1], side="right")
    return judgements[start:stop].join(queries, on=query, how="semi")
