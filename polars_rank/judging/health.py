"""Report input that makes a measure misleading."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.checks import require_number
from polars_rank.core.errors import DataError, refuse_patterns, require_columns
from polars_rank.core.frames import (
    Frame,
    FrameT,
    as_frame,
    as_lazy,
    as_list,
    id_kind,
    like,
    require_different,
)
from polars_rank.core.ordering import distinct_places, ordinal, score_key
from polars_rank.judging.options import ranking_keys


class Finding(NamedTuple):
    """A kind of problem, the rows that have it, and how to show one of them."""

    name: str
    rows: pl.LazyFrame
    example: pl.Expr


class Limits(NamedTuple):
    """Limits that tables are checked against."""

    k: int
    min_relevance: float
    max_relevance: float


_QUERY = pl.concat_str(pl.lit("query "), pl.col("query").fill_null("null"))
_ROW = pl.concat_str(_QUERY, pl.lit(", item "), pl.col("item").fill_null("null"))


def check(
    table: FrameT,
    qrels: Frame | None = None,
    *,
    keys: str | Sequence[str] | None = None,
    k: int = 10,
    min_relevance: float = 1,
    max_relevance: float = 4,
    descending: bool = True,
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    relevance: str = "relevance",
    system: str | None = "system",
) -> FrameT:
    r"""Report input that is valid, but probably a mistake, in run and qrels or in a judged table.

    $count = |\{\text{queries, rankings or rows with the finding}\}|$. Findings without a case
    have no row, so flawless tables give an empty result.

    Parameters
    ----------
    table
        A run, where `qrels` is given (see `judge`); else a judged table. Nothing in it is refused but
        a missing column: null ids, repeated rows and ids of different types are findings here.
    qrels
        The judgements.
    keys
        Columns that identify a ranking of a query; default: `system`, if the table has it.
    k
        The cutoff at which ties are reported, and down to which unjudged items are counted.
    min_relevance
        The least grade that is relevant.
    max_relevance
        The highest grade that `err` and graded `rbp` take; a larger one makes them NaN.
    descending
        False where a low score is good.
    query, item, score, rank, relevance
        Names of the columns.
    system
        The key of the systems, as in `judge`.

    Returns
    -------
    DataFrame or LazyFrame
        As the table: `finding` (String), `count` (Int64, at least 1), `examples` (List of String, up to
        three, sorted). Most count rows; query findings count queries, ties across k and gaps count
        rankings, repeats count the items that are repeated.

    Raises
    ------
    DataError
        If a column is missing.
    ValueError
        If `k` is no whole number of at least 1.

    References
    ----------
    trec_eval issues 18, 22 and 46 (missing queries, ties, no overlap).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.2, 0.2]})
    >>> qrels = pl.DataFrame({"query": ["q", "r"], "item": ["a", "c"], "relevance": [2, 1]})
    >>> for row in rank.check(run, qrels, k=1).rows():
    ...     print(row)
    ('query in qrels only', 1, ['query r'])
    ('tie across k', 1, ['query q'])
    ('unjudged within k', 1, ['query q, item b'])
    """
    if not isinstance(k, int | float) or isinstance(k, bool) or k < 1 or k % 1:
        raise ValueError(f"k must be a whole number of at least 1, got {k!r}")
    names = {"query": query, "item": item, "score": score, "rank": rank, "relevance": relevance}
    require_different(names)
    for argument, given in {**{part: [name] for part, name in names.items()}, "keys": as_list(keys)}.items():
        refuse_patterns(argument, given)
    limits = Limits(k, min_relevance, max_relevance)
    table = as_frame(table, "table" if qrels is None else "run")
    chosen = ranking_keys(keys, system, table.collect_schema().names())
    if qrels is None:
        findings = _of_judged(table.lazy(), names, chosen, limits, descending=descending)
    else:
        findings = _of_run(
            table.lazy(), as_lazy(qrels, "qrels"), names, chosen, limits, descending=descending
        )
    plans = [
        rows.select(
            pl.lit(place).alias("place"),
            pl.lit(name).alias("finding"),
            pl.len().cast(pl.Int64).alias("count"),
            example.unique().sort().head(3).implode().alias("examples"),
        )
        for place, (name, rows, example) in enumerate(findings)
    ]
    return like(table, pl.concat(plans).filter(pl.col("count") > 0).sort("place").drop("place"))


def _of_run(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    names: dict[str, str],
    keys: Sequence[str],
    limits: Limits,
    *,
    descending: bool,
) -> Iterator[Finding]:
    rows, have = _rows(run, names, keys, "run")
    grades, graded = _rows(qrels, names, [], "qrels")
    if not {"score", "rank"} & have:
        raise DataError(f"run has neither {names['score']!r} nor {names['rank']!r}")
    if "relevance" not in graded:
        grades = grades.with_columns(relevance=1.0)
    yield from _id_types({"run": run, "qrels": qrels}, [names["query"], names["item"]])
    yield Finding("null query, item or key in run", rows.filter("null"), _ROW)
    yield Finding("null query or item in qrels", grades.filter("null"), _ROW)
    rows, grades = rows.filter(~pl.col("null")), grades.filter(~pl.col("null"))
    yield from _overlap(rows, grades)
    yield Finding("item twice in a ranking", _repeats(rows, "ranking"), _ROW)
    yield Finding("item judged twice", _repeats(grades, "query"), _ROW)
    key, placed = -pl.col("rank"), rows.filter(pl.col("rank").is_not_null()) if "rank" in have else rows
    if "score" in have:
        placed = rows
        key = score_key(pl.col("score"), descending=descending, score_dtype="float64")
        yield Finding("score null or NaN", rows.filter(key.is_null()), _ROW)
        yield Finding("score infinite", rows.filter(key.is_infinite()), _ROW)
    if "rank" in have:
        yield Finding("rank null or NaN", rows.filter(pl.col("rank").is_null()), _ROW)
        yield from _rank_findings(rows, _ROW)
    if {"score", "rank"} <= have:
        yield Finding("rank against score", _disagreeing(rows, key), _ROW)
    yield Finding("tie across k", _tied_across(placed, key, limits.k), _QUERY)
    place = ordinal(key, pl.col("id"), "item-descending").over("ranking")
    top = placed.filter(place <= limits.k).join(grades.select("query").unique(), on="query", how="semi")
    judged = grades.filter(pl.col("relevance").is_not_null())
    yield Finding("unjudged within k", top.join(judged, on=["query", "item"], how="anti"), _ROW)
    yield Finding("grade null or NaN", grades.filter(pl.col("relevance").is_null()), _ROW)
    yield Finding("query without a grade", _ungraded(grades, "query"), _QUERY)
    yield from _grade_findings(grades, limits, _ROW)
    if "score" not in have:
        yield Finding("rank moved to a place of its own", _moved(rows), _ROW)


def _of_judged(
    table: pl.LazyFrame,
    names: dict[str, str],
    keys: Sequence[str],
    limits: Limits,
    *,
    descending: bool,
) -> Iterator[Finding]:
    rows, have = _rows(table, names, keys, "table")
    missing = {"rank", "relevance"} - have
    if missing:
        require_columns(table.collect_schema().names(), [names[name] for name in sorted(missing)], "table")
    example = _ROW if "item" in have else _QUERY
    yield Finding("null query, item or key", rows.filter("null"), example)
    rows = rows.filter(~pl.col("null"))
    rank, grade = pl.col("rank"), pl.col("relevance")
    returned = rows.filter(rank >= 1)
    if "item" in have:
        yield Finding("item twice in a ranking", _repeats(rows, "ranking"), _ROW)
    key = score_key(pl.col("score"), descending=descending, score_dtype="float64")
    if "score" in have:
        yield Finding("score null or NaN", returned.filter(key.is_null()), example)
        yield Finding("score infinite", returned.filter(key.is_infinite()), example)
    yield from _rank_findings(rows, example)
    if "score" in have:
        yield Finding("rank against score", _disagreeing(returned, key), example)
    yield Finding("tie across k", _tied_across(returned, -rank, limits.k), _QUERY)
    yield Finding("unjudged within k", returned.filter(rank <= limits.k, grade.is_null()), example)
    yield Finding("ranking without a grade", _ungraded(rows, "ranking"), _QUERY)
    yield from _grade_findings(rows, limits, example)
    missed = rows.filter(grade.is_not_null() & (rank >= 1).fill_null(False).not_()).select(
        pl.len().alias("missed")
    )
    whole = missed.filter(pl.col("missed") == 0)
    yield Finding(
        "no judged item is missing anywhere: recall and ideals come from the returned rows only",
        rows.filter(grade.is_not_null()).unique("ranking").join(whole, how="cross"),
        _QUERY,
    )


def _rows(
    frame: pl.LazyFrame, names: dict[str, str], keys: Sequence[str], table: str
) -> tuple[pl.LazyFrame, set[str]]:
    """Rename and cast the columns; also return the names of those that the table has."""
    schema = frame.collect_schema()
    ids = ["query"] if table == "table" and names["item"] not in schema else ["query", "item"]
    require_columns(schema, [*(names[name] for name in ids), *keys], table)
    numbers = {}
    for name in ("score", "rank", "relevance"):
        dtype = schema.get(names[name])
        if dtype is not None:
            require_number(dtype, f"{table}.{names[name]}")
            numbers[name] = pl.col(names[name]).cast(pl.Float64).fill_nan(None)
    texts = {name: _text(names[name], schema[names[name]]) for name in ids}
    rows = frame.select(
        **texts,
        **numbers,
        ranking=pl.struct(names["query"], *keys),
        id=texts["item"]
        if isinstance(schema.get(names["item"]), pl.Categorical | pl.Enum)
        else names[ids[-1]],
        null=pl.any_horizontal(pl.col(*(names[name] for name in ids), *keys).is_null()),
    )
    return rows, {*ids, *numbers}


def _text(column: str, dtype: pl.DataType) -> pl.Expr:
    return (
        pl.col(column).bin.encode("hex") if isinstance(dtype, pl.Binary) else pl.col(column).cast(pl.String)
    )


def _id_types(tables: dict[str, pl.LazyFrame], columns: Sequence[str]) -> Iterator[Finding]:
    refused, different = [], []
    for column in columns:
        kinds = {}
        for table, frame in tables.items():
            dtype = frame.collect_schema()[column]
            try:
                kinds[f"{table}.{column} is {dtype}"] = id_kind(dtype, column, table)
            except DataError:
                refused.append(f"{table}.{column} is {dtype}")
        if len(set(kinds.values()) - {"null"}) > 1:
            different.append(", ".join(kinds))
    for name, examples in (("id of no id type", refused), ("ids of different types", different)):
        found = pl.LazyFrame({"example": examples}, schema={"example": pl.String})
        yield Finding(name, found, pl.col("example"))


def _overlap(rows: pl.LazyFrame, grades: pl.LazyFrame) -> Iterator[Finding]:
    asked, judged = (frame.select("query").unique() for frame in (rows, grades))
    common = judged.join(asked, on="query", how="semi")
    items = rows.join(grades, on=["query", "item"], how="semi")
    yield Finding("query in run only", asked.join(judged, on="query", how="anti"), _QUERY)
    yield Finding("query in qrels only", judged.join(asked, on="query", how="anti"), _QUERY)
    yield Finding("no query in common", _unless(judged, common), _QUERY)
    yield Finding("queries in common, but no item", _unless(common, items), _QUERY)


def _unless(rows: pl.LazyFrame, others: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows if there are no others, else none."""
    return rows.join(others.select(pl.len().alias("others")).filter(pl.col("others") == 0), how="cross")


def _repeats(rows: pl.LazyFrame, within: str) -> pl.LazyFrame:
    groups = rows.group_by(within, "query", "item") if within != "query" else rows.group_by("query", "item")
    return groups.agg(pl.len().alias("copies")).filter(pl.col("copies") > 1)


def _rank_findings(rows: pl.LazyFrame, example: pl.Expr) -> Iterator[Finding]:
    rank = pl.col("rank")
    placed = rows.filter(rank >= 1, rank.is_finite())
    tied = placed.filter(pl.len().over("ranking", "rank") > 1)
    gapped = placed.filter((rank.max() > rank.n_unique()).over("ranking")).unique("ranking")
    yield Finding("rank below 1", rows.filter(rank < 1), example)
    yield Finding("rank not whole", placed.filter(rank % 1 != 0), example)
    yield Finding("rank tied", tied, example)
    yield Finding("ranks with a gap", gapped, _QUERY)


def _moved(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows that `judge` moves from their given rank, because it is tied or fractional."""
    rank, order = pl.col("rank"), ordinal(-pl.col("rank"), pl.col("id"), "item-descending")
    placed = rows.filter(rank >= 1, rank.is_finite())
    placed = placed.with_columns(order=order.over("ranking").cast(pl.Int64))
    place = distinct_places(rank, pl.col("order")).over("ranking", order_by="order")
    return placed.filter(place != rank)


def _grade_findings(rows: pl.LazyFrame, limits: Limits, example: pl.Expr) -> Iterator[Finding]:
    grade = pl.col("relevance")
    best = rows.group_by("query").agg(grade.max())
    yield Finding(
        "no grade reaches min_relevance", best.filter((grade < limits.min_relevance).fill_null(True)), _QUERY
    )
    yield Finding("grade infinite", rows.filter(grade.is_infinite()), example)
    yield Finding("grade above max_relevance", rows.filter(grade > limits.max_relevance), example)


def _ungraded(rows: pl.LazyFrame, within: str) -> pl.LazyFrame:
    """Return queries or rankings whose grades are all null."""
    counted = rows.group_by(list(dict.fromkeys([within, "query"]))).agg(pl.col("relevance").count())
    return counted.filter(pl.col("relevance") == 0)


def _places(key: pl.Expr) -> list[pl.Expr]:
    """Return the first and the last rank that a row can have among its ties; null is last."""
    known = key.fill_null(float("-inf"))
    return [known.rank(end, descending=True).over("ranking") for end in ("min", "max")]


def _tied_across(rows: pl.LazyFrame, key: pl.Expr, k: int) -> pl.LazyFrame:
    first, last = _places(key)
    return rows.filter(first <= k, last > k).unique("ranking")


def _disagreeing(rows: pl.LazyFrame, key: pl.Expr) -> pl.LazyFrame:
    """Return rows whose possible ranks by score exclude their given rank."""
    (first, last), (rank_first, rank_last) = _places(key), _places(-pl.col("rank"))
    return rows.filter(key.is_not_null(), pl.col("rank").is_not_null()).filter(
        (first > rank_last) | (rank_first > last)
    )
