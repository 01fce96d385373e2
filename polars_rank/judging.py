"""Run and qrels become the judged table that measures eat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import polars as pl
import polars.selectors as cs

from polars_rank.attributes import with_attributes
from polars_rank.conventions import convention_of
from polars_rank.errors import require_choice, require_columns
from polars_rank.ranking import (
    OrderBy,
    ScoreType,
    Ties,
    distinct_places,
    given_rank,
    in_order_of_queries,
    ordinal,
    score_key,
    tie_rule,
    whole_rest,
)
from polars_rank.refusals import (
    apart_by_keys,
    grade_of,
    no_nulls,
    refuse_repeats,
    refuse_strangers,
    refuse_swapped,
    refusing_infinite,
    refusing_repeats,
    require_number,
)
from polars_rank.tables import OURS, Frame, as_lazy, like, refuse_names, require_different, unify_ids

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)
Queries = Literal["qrels", "both", "run", "all"]
Duplicates = Literal["error", "first", "max"]

_POSITION = f"{OURS}position"


@dataclass(frozen=True)
class Judging:
    """The arguments of `judge`, checked."""

    keys: Sequence[str] | None = None
    attributes: Frame | Sequence[str] | None = None
    order_by: OrderBy | None = None
    descending: bool = True
    ties: Ties = "item-descending"
    score_dtype: ScoreType = "float64"
    rank_base: Literal[0, 1] = 1
    queries: Queries = "qrels"
    duplicates: Duplicates = "error"
    judged_only: bool = False
    drop_identical: bool = False
    depth: int | None = None
    query: str = "query"
    item: str = "item"
    score: str = "score"
    rank: str = "rank"
    relevance: str = "relevance"

    def __post_init__(self) -> None:
        require_choice("order_by", self.order_by, (*get_args(OrderBy), None))
        require_choice("ties", self.ties, get_args(Ties))
        require_choice("score_dtype", self.score_dtype, get_args(ScoreType))
        require_choice("rank_base", self.rank_base, (0, 1))
        require_choice("queries", self.queries, get_args(Queries))
        require_choice("duplicates", self.duplicates, get_args(Duplicates))
        for switch in ("descending", "judged_only", "drop_identical"):
            require_choice(switch, getattr(self, switch), (True, False))
        if self.depth is not None and (isinstance(self.depth, bool) or self.depth < 1 or self.depth % 1):
            raise ValueError(
                f"depth must be a whole number of at least 1, got {self.depth!r}; "
                "use depth=None for whole rankings"
            )
        columns = {name: getattr(self, name) for name in ("query", "item", "rank", "relevance")}
        require_different(columns)
        roles = {*columns.values(), self.score}
        for argument in ("keys", "attributes"):
            given = getattr(self, argument)
            names = [] if given is None or isinstance(given, pl.DataFrame | pl.LazyFrame) else given
            refuse_names(argument, names, ())
            for name in roles.intersection(names):
                raise ValueError(
                    f"{argument} names {name!r}, which has a part in the ranking already; leave it out"
                )


def judge(
    run: FrameT,
    qrels: Frame,
    *,
    convention: str | None = None,
    keys: Sequence[str] | None = None,
    attributes: Frame | Sequence[str] | None = None,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: Ties | None = None,
    score_dtype: ScoreType | None = None,
    rank_base: Literal[0, 1] = 1,
    queries: Queries | None = None,
    duplicates: Duplicates | None = None,
    judged_only: bool = False,
    drop_identical: bool | None = None,
    depth: int | None = None,
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    relevance: str = "relevance",
) -> FrameT:
    r"""Join a run with its judgements: one row an item that was returned, judged, or both.

    $rank = 1 + |\{\text{items of the ranking that stand above}\}|$ by score, equal scores by the tie rule.

    A ranking is a query and its keys. Every ranking gets all judged rows of its query, so that an item
    that a system missed counts against it: its rank is null. An item without a judgement has a null
    relevance. A null or NaN score comes last.

    Parameters
    ----------
    run
        One row an item that a system returned: `query`, `item` (text, integers or binary), `score` or
        `rank` or both (numbers), any other columns.
    qrels
        One row a judgement: `query`, `item`, `relevance` (a number; without that column every row has
        grade 1; null or NaN is unjudged). Its other columns are not used.
    convention
        A program, such as ``"trec_eval-9"``, whose ways are the defaults of `ties`, `score_dtype`,
        `queries`, `duplicates` and `drop_identical`; what is given itself goes first.
    keys
        Columns that tell rankings of a query apart; default ``["system"]`` if the run has it. Each system
        is crossed with the judged queries; any other key gives a ranking where some system has it.
    attributes
        What describes a query: a table of one row a query, or a list of columns of the run; filled on
        the rows of missed items too.
    order_by
        ``"score"`` or ``"rank"``; default: the score if there is one. Where score orders, the rank
        column is not read.
    descending
        False where a low score is good, as with distances.
    ties
        Order of equal scores: ``"item-descending"`` (default; trec_eval), ``"item-ascending"``,
        ``"item-text-descending"`` (integers as text), ``"best"`` or ``"worst"`` (higher or lower grades
        first, then item-descending).
    score_dtype
        ``"float64"`` (default; whole numbers count to the last digit); ``"float32"`` narrows the scores, as
        trec_eval 9 does, so that close ones tie.
    rank_base
        0 for ranks that count from 0.
    queries
        ``"qrels"`` (default): every judged query, a missing one scores 0 (trec_eval -c); ``"both"``: only
        rankings that the run has of judged queries (trec_eval without -c); ``"run"``: those of the run,
        judged or not; ``"all"``.
    duplicates
        An item twice in a ranking, or twice judged: ``"error"`` (default); ``"first"`` keeps its
        best-ranked copy and the places of all others, and equal judgements once; ``"max"`` keeps the
        highest grade too.
    judged_only
        Rank judged items only (trec_eval -J): unjudged rows go, and negative grades lose their rank.
    drop_identical
        Drop rows whose item is the query itself before ranking (BEIR); default: False.
    depth
        Keep the top of each ranking only (trec_eval -M).
    query, item, score, rank, relevance
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As the run: `query`, keys, `item`, `rank` (Int64; Float64 for given fractional ranks), `relevance`
        (Float64), the run's other columns, attributes. In no particular order.

    Raises
    ------
    DataError
        If a column is missing, ids are null or of different kinds, a row is repeated, a given rank is
        below the base, an attribute varies within a ranking, the tables are swapped, or no query is in
        both. A lazy plan raises when it is collected, and looks for repeated rows among the judged only.
    ValueError
        If an option has no such value.

    References
    ----------
    trec_eval, form_res_rels.c (order of equal scores).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.2, 0.9]})
    >>> qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "c"], "relevance": [2, 1]})
    >>> rank.judge(run, qrels).select("item", "rank", "relevance").sort("rank").rows()
    [('c', None, 1.0), ('b', 1, None), ('a', 2, 2.0)]
    """
    given = {
        "order_by": order_by,
        "ties": ties,
        "score_dtype": score_dtype,
        "queries": queries,
        "duplicates": duplicates,
        "drop_identical": drop_identical,
    }
    options = Judging(
        keys=keys,
        attributes=attributes,
        descending=descending,
        rank_base=rank_base,
        judged_only=judged_only,
        depth=depth,
        query=query,
        item=item,
        score=score,
        rank=rank,
        relevance=relevance,
        **above(convention_of(convention).judging, given),
    )
    return like(run, judged_table(run, qrels, options))


def above(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Put what is given above the defaults; None is not given."""
    return {**defaults, **{name: value for name, value in given.items() if value is not None}}


class Pieces(NamedTuple):
    """What a judged table is made of, as plans."""

    ranking: list[str]
    rankings: pl.LazyFrame
    """The rankings that count: query and keys."""
    matched: pl.LazyFrame
    """All judged rows of each ranking; the rank is null where the item was not returned."""
    ranked: pl.LazyFrame
    """All rows of the run, with their ranks."""
    run_rows: pl.LazyFrame
    grades: pl.LazyFrame


def judged_table(
    run: Frame, qrels: Frame, options: Judging, *, part: bool = False, systems: pl.DataFrame | None = None
) -> pl.LazyFrame:
    """Lay out `judge` as a plan; `systems` are those of the whole run, where this is a part of it."""
    parts = pieces(run, qrels, options, part=part, systems=systems)
    judged = pl.concat([parts.matched, _unjudged(parts.ranked, parts.grades, options)], how="diagonal")
    if options.judged_only:
        judged = _judged_only(judged, parts.ranking, options)
    place = [*parts.ranking, options.item]
    names = parts.ranked.collect_schema().names()
    others = [name for name in names if name not in {*place, options.rank}]
    # By selector, since Polars takes a text such as * for a pattern.
    judged = judged.select(cs.by_name(*place, options.rank, options.relevance, *others))
    return with_attributes(judged, parts.run_rows, parts.ranking, options.query, options.attributes)


def judged_rows_alone(
    run: Frame, qrels: Frame, options: Judging, *, part: bool = False, systems: pl.DataFrame | None = None
) -> Pieces:
    """Lay out the judged rows alone, which are few, without the run's other columns."""
    parts = pieces(run, qrels, options, narrow=True, part=part, systems=systems)
    if not options.judged_only:
        return parts
    matched = _judged_only(parts.matched, parts.ranking, options)
    return parts._replace(matched=matched, ranked=matched)


def pieces(
    run: Frame,
    qrels: Frame,
    options: Judging,
    *,
    narrow: bool = False,
    part: bool = False,
    systems: pl.DataFrame | None = None,
) -> Pieces:
    """Rank the run and match it with the judgements.

    `part`: this is a part of a larger run, and `systems` are those of the whole.
    """
    run_rows, grades, keys = _read(run, qrels, options)
    ranking = [options.query, *keys]
    place = [*ranking, options.item]
    eager = isinstance(run, pl.DataFrame)
    # A query that loses all its rows here is a ranking still.
    kept = run_rows
    if options.drop_identical:
        kept = kept.filter(pl.col(options.query) != pl.col(options.item))
    first = "duplicates='first' keeps the best-ranked"
    way_out = apart_by_keys(kept, ranking, options.item, [options.score, options.rank], first)
    if eager and not part:
        refuse_strangers(run_rows, grades, options.query, options.item)
        if options.duplicates == "error":
            refuse_repeats(kept.select(place).collect(), "run", way_out=way_out)
    if narrow:
        orders = [name for name in (options.score, options.rank) if name in kept.collect_schema()]
        kept = kept.select(*place, *orders)
    in_order = isinstance(run, pl.DataFrame) and narrow and not keys and run[options.query].is_sorted()
    ranked = _ranked(kept, grades, ranking, options, eager=eager, in_order=in_order)
    if eager and not narrow:
        # Used twice; a lazy plan leaves that to the engine.
        ranked = ranked.collect().lazy()
    rankings = _rankings(run_rows, grades, keys, options, systems)
    # Without keys and by the qrels, each judged row is one of its own ranking already.
    due = rankings.join(grades, on=options.query) if keys or options.queries != "qrels" else grades
    matched = due.join(ranked, on=place, how="left")
    if options.duplicates == "error" and (part or not eager):
        matched = matched.map_batches(refusing_repeats(place, "run", way_out), validate_output_schema=False)
    return Pieces(ranking, rankings, matched, ranked, run_rows, grades)


def _read(run: Frame, qrels: Frame, options: Judging) -> tuple[pl.LazyFrame, pl.LazyFrame, list[str]]:
    """Check both tables: the run's rows, one grade a judged item, and the names of the keys."""
    tables = {"run": as_lazy(run, "run"), "qrels": as_lazy(qrels, "qrels")}
    refuse_swapped(
        *(tables[name].collect_schema().names() for name in ("run", "qrels")),
        score=options.score,
        rank=options.rank,
        relevance=options.relevance,
        order_by=options.order_by,
    )
    tables = unify_ids(tables, [options.query, options.item])
    names = tables["run"].collect_schema().names()
    keys = list(options.keys) if options.keys is not None else ["system"] if "system" in names else []
    require_columns(names, keys, "run")
    run_rows = no_nulls(tables["run"], [options.query, options.item, *keys], "run")
    graded = no_nulls(tables["qrels"], [options.query, options.item], "qrels")
    grades = graded.select(options.query, options.item, grade_of(graded, options.relevance))
    return run_rows, _judgements(grades, options), keys


def _judgements(grades: pl.LazyFrame, options: Judging) -> pl.LazyFrame:
    """Make one row of each judged item, of judged queries alone where only these count."""
    judged = [options.query, options.item]
    grades = grades.map_batches(refusing_infinite(options.relevance, judged), validate_output_schema=False)
    if options.duplicates == "max":
        grades = grades.group_by(judged).agg(pl.col(options.relevance).max())
    else:
        grades = grades.unique() if options.duplicates == "first" else grades
        grades = grades.map_batches(refusing_repeats(judged, "qrels"), validate_output_schema=False)
    if options.queries in ("qrels", "both"):
        grades = grades.map_batches(_of_judged_queries(options), validate_output_schema=False)
    return grades


def _of_judged_queries(options: Judging) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Leave out queries all of whose grades are null: nobody has judged them."""
    known = pl.col(options.relevance).is_not_null().any().over(options.query)

    def leave_out(grades: pl.DataFrame) -> pl.DataFrame:
        return grades.filter(known) if grades[options.relevance].null_count() else grades

    return leave_out


def _ranked(
    run_rows: pl.LazyFrame,
    grades: pl.LazyFrame,
    ranking: Sequence[str],
    options: Judging,
    *,
    eager: bool,
    in_order: bool,
) -> pl.LazyFrame:
    """Give each row of the run its rank, over all rows first; then cut at the depth and keep best copies."""
    schema = run_rows.collect_schema()
    by = options.order_by or ("score" if options.score in schema else "rank")
    rank = pl.col(options.rank)
    column = options.rank if by == "rank" else options.score
    require_number(schema[column], f"run.{column}")
    ties = tie_rule(options.ties, schema[options.item])
    grade = pl.col(options.relevance) if ties in ("best", "worst") else None
    if grade is not None:
        run_rows = run_rows.join(grades, on=[options.query, options.item], how="left")
    if by == "rank":
        given = given_rank(rank, f"run.{options.rank}", options.rank_base)
        position = ordinal(-rank, pl.col(options.item), ties, grade).over(ranking).cast(pl.Int64)
        places = distinct_places(rank, pl.col(_POSITION))
        ranked = (
            run_rows.with_columns(given.alias(options.rank))
            .with_columns(position.alias(_POSITION))
            .with_columns(places.over(ranking, order_by=_POSITION).alias(options.rank))
            .drop(_POSITION)
        )
    else:
        score = pl.col(options.score)
        key = score_key(score, descending=options.descending, score_dtype=options.score_dtype)
        rest = whole_rest(
            score, schema[options.score], descending=options.descending, score_dtype=options.score_dtype
        )
        if rest is not None and eager:
            ends = run_rows.select(score.min().alias("low"), score.max().alias("high")).collect().row(0)
            rest = rest if any(abs(end or 0) > 2**53 for end in ends) else None
        if in_order and grade is None and rest is None:
            nulls = run_rows.select(key.is_null().any()).collect().item()
            names = {"query": options.query, "item": options.item, "rank": options.rank}
            ranked = in_order_of_queries(run_rows, key, **names, ties=ties, nulls=nulls)
        else:
            position = ordinal(key, pl.col(options.item), ties, grade, rest)
            ranked = run_rows.with_columns(position.over(ranking).cast(pl.Int64).alias(options.rank))
    if grade is not None:
        ranked = ranked.drop(options.relevance)
    if options.duplicates != "error":
        place = [*ranking, options.item]
        ranked = ranked.sort(options.rank, nulls_last=True).unique(place, keep="first", maintain_order=True)
    if options.depth is not None:
        ranked = ranked.filter(rank.is_null() | (rank <= options.depth))
    return ranked


def _rankings(
    run_rows: pl.LazyFrame,
    grades: pl.LazyFrame,
    keys: Sequence[str],
    options: Judging,
    systems: pl.DataFrame | None,
) -> pl.LazyFrame:
    judged = grades.filter(pl.col(options.relevance).is_not_null()).select(options.query).unique()
    own = run_rows.select(options.query, *keys).unique()
    if options.queries == "run":
        return own
    if options.queries == "both":
        return own.join(judged, on=options.query, how="semi")
    others = [key for key in keys if key != "system"]
    crossed = judged
    if others:
        # A day on which nobody asked the query makes no ranking.
        crossed = run_rows.select(options.query, *others).unique().join(judged, on=options.query, how="semi")
    if "system" in keys:
        every = run_rows.select("system").unique() if systems is None else systems.lazy()
        crossed = crossed.join(every, how="cross")
    crossed = crossed.select(options.query, *keys)
    return crossed if options.queries == "qrels" else pl.concat([crossed, own]).unique()


def _unjudged(ranked: pl.LazyFrame, grades: pl.LazyFrame, options: Judging) -> pl.LazyFrame:
    unjudged = ranked.join(grades, on=[options.query, options.item], how="anti")
    if options.queries in ("qrels", "both"):
        unjudged = unjudged.join(grades, on=options.query, how="semi")
    return unjudged


def _judged_only(judged: pl.LazyFrame, ranking: Sequence[str], options: Judging) -> pl.LazyFrame:
    """Rank the judged items anew; a negative grade only loses its rank, so that no query vanishes."""
    rank = pl.when(pl.col(options.relevance) >= 0).then(pl.col(options.rank))
    again = rank.rank("min").over(ranking).cast(pl.Int64)
    return judged.filter(pl.col(options.relevance).is_not_null()).with_columns(again.alias(options.rank))
