"""Score a judged table or a run per query, and summarize the per-query table."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, get_args

import polars as pl

from polars_rank.core.checks import DIFFERENT, refusing_variation
from polars_rank.core.errors import (
    DataError,
    Message,
    Setting,
    refuse_patterns,
    require_choice,
    require_columns,
)
from polars_rank.core.frames import (
    OURS,
    Frame,
    FrameT,
    as_frame,
    as_lazy,
    as_list,
    like,
    refuse_names,
    unify_ids,
    with_system,
)
from polars_rank.core.ordering import OrderBy, ScoreType, Ties
from polars_rank.evaluation.asked_measures import (
    JUDGED_ONLY,
    Calls,
    columns_read,
    expression_of,
    judged_rows_suffice,
    needs_judgements,
    read_measures,
)
from polars_rank.evaluation.batches import score_in_parts
from polars_rank.evaluation.shared_plan import SharedPlan, is_flat
from polars_rank.evaluation.summary import SummaryInterval, summary_statistics
from polars_rank.judging.judged_table import judge_lazily, judged_rows_only
from polars_rank.judging.matching import JudgedParts
from polars_rank.judging.options import Duplicates, JudgeOptions, Queries, over_defaults, ranking_keys
from polars_rank.judging.user_tables import readable, refuse_run, without_repeats
from polars_rank.measures.catalogue import Aggregate, programs
from polars_rank.measures.conventions import convention_of
from polars_rank.measures.names import Call, parse
from polars_rank.measures.rows import judged, number, returned

_GRADES = f"{OURS}number of grades"
_VARIES = (
    "by names {name}, which varies within a ranking ({where}): a missed item would fall out of its slice"
)


class JudgingOptions(TypedDict, total=False):
    """Options that `evaluate` passes to `judge`."""

    attributes: str | Sequence[str] | Frame | None
    order_by: OrderBy | None
    descending: bool
    ties: Ties
    score_dtype: ScoreType
    queries: Queries
    duplicates: Duplicates
    judged_only: bool
    drop_identical: bool
    depth: int | None
    score: str


def evaluate(
    table: FrameT,
    measures: str | pl.Expr | Sequence[str | pl.Expr],
    *,
    qrels: Frame | None = None,
    by: str | Sequence[str] | None = None,
    keys: str | Sequence[str] | None = None,
    convention: str | None = None,
    rank_base: Literal[0, 1] = 1,
    query: str = "query",
    item: str = "item",
    rank: str = "rank",
    relevance: str = "relevance",
    system: str | None = "system",
    **judging: Unpack[JudgingOptions],
) -> FrameT:
    r"""Evaluate every ranking: one row per query and system, one column per measure.

    $value = measure(\{(rank, relevance)\})$ over the rows of a ranking; the mean over queries is
    `summarize`'s.

    Parameters
    ----------
    table
        A judged table (one row an item that was returned, judged, or both: `query`, `rank`, `relevance`,
        keys), or a run (as in `judge`) where `qrels` is given.
    measures
        Names, as ``"nDCG@10"``, ``"map"``, ``"precision@10-l2"``, or expressions, as
        ``rank.ndcg(k=10)``. ``"P_5,10"`` and ``"ndcg_cut.5,10"`` are several, ``"P_5"`` and so on, and
        ``"official"`` is what trec_eval prints by itself. A name with ``judged_only=True`` ranks the judged
        items anew for itself.
    qrels
        The judgements, where the table is a run.
    by
        Further columns to carry: keys and attributes. One that varies within a ranking is refused.
    keys
        Columns that identify a ranking of a query; default: `system`, if the table has it.
    convention
        Tool, such as ``"ranx"``, whose defaults to use for measures given by name and, with `qrels`, for
        `judge`; it also decides what an ambiguous name means.
    rank_base
        0 for ranks that count from 0.
    query, item, rank, relevance
        Names of the columns; a judged table may lack the item.
    system
        The key of the systems; with `qrels`, it is crossed with the judged queries, as in `judge`.
    **judging
        Further options of `judge`, if `qrels` is given; they override the convention.

    Returns
    -------
    DataFrame or LazyFrame
        As the table: `query`, keys, `by`, one Float64 column a measure, named as it was given; sorted by
        query and keys. A ranking without a single judged row has null for each measure that needs
        judgements (all but counts and shares of what was returned or judged); an expression counts as the
        measure whose name it has.

    Raises
    ------
    DataError
        If a column is missing, `by` varies within a ranking, or `judge` refuses the tables; if a judged
        table has an item twice in a ranking (a lazy plan looks at judged rows alone), a rank of 0 without
        ``rank_base=0``, or an infinite rank or grade.
    ValueError
        If a name is unknown or ambiguous, or options of `judge` are given without `qrels`.

    Warns
    -----
    NoMatchWarning
        If no item that a run returned is judged.

    References
    ----------
    Each measure names its own.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.2, 0.9]})
    >>> qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "c"], "relevance": [2, 1]})
    >>> rank.evaluate(run, ["RR", "P@2"], qrels=qrels).rows()
    [('q', 0.5, 0.5)]
    """
    columns = {"query": query, "rank": rank, "relevance": relevance}
    require_choice("rank_base", rank_base, (0, 1))
    carried: list[str] = as_list(by)
    refuse_names("by", carried, ())
    named: dict[str, Any] = {**columns, "by": by, "keys": keys, "system": system}
    for argument, names in named.items():
        refuse_patterns(argument, as_list(names))
    calls, table = read_measures(measures, convention), as_frame(table, "table" if qrels is None else "run")
    if qrels is not None:
        tables, qrels = [], as_frame(qrels, "qrels")
        for ways, chosen in _by_ranking(calls, convention):
            given = {"keys": keys, "system": system, "rank_base": rank_base, "item": item, **columns}
            arguments: dict[str, Any] = {**given, **over_defaults(ways, judging)}
            tables.append(_score_run(table, qrels, chosen, JudgeOptions(**arguments), carried))
        return like(table, _side_by_side(tables, _ranking(tables[0], query, keys, system), carried, calls))
    if judging:
        raise ValueError(f"{', '.join(judging)}: only a run is judged; give qrels= too")
    rows = table.lazy()
    refuse_run(rows.collect_schema(), columns)
    refuse_names("keys", as_list(keys), columns.values())
    ranking = _ranking(rows, query, keys, system)
    rows = readable(table, rank, relevance, rank_base)
    check = without_repeats(table, ranking, item, relevance, columns_read(calls))
    if isinstance(table, pl.DataFrame) and len(ranking) == 1 and table[query].is_sorted():
        # Grouping streams through a sorted column; looking costs a hundredth of the grouping.
        rows = rows.with_columns(pl.col(query).set_sorted())
    return like(table, _per_query(rows, calls, ranking, carried, columns, check=check))


def _by_ranking(calls: Calls, convention: str | None) -> list[tuple[dict[str, Any], Calls]]:
    """Group the calls by the arguments of `judge` that the convention sets for them."""
    rules = convention_of(convention, programs())
    groups: list[tuple[dict[str, Any], dict[str, Call | pl.Expr]]] = []
    for name, call in calls.items():
        ways = rules.judging_of(call.measure.name, call.options) if isinstance(call, Call) else rules.judging
        same = next((chosen for other, chosen in groups if other == ways), None)
        if same is None:
            groups.append((dict(ways), {name: call}))
        else:
            same[name] = call
    return [*groups]


def _side_by_side(
    tables: Sequence[pl.LazyFrame], ranking: Sequence[str], by: Sequence[str], calls: Calls
) -> pl.LazyFrame:
    """Join per-query tables; a ranking that does not count for a measure gets null."""
    if len(tables) == 1:
        return tables[0]
    on = list(dict.fromkeys([*ranking, *by]))
    whole = tables[0]
    for table in tables[1:]:
        whole = whole.join(table, on=on, how="full", coalesce=True, nulls_equal=True)
    return whole.select(*on, *calls).sort(ranking)


def _score_run(
    run: Frame,
    qrels: Frame,
    calls: Calls,
    options: JudgeOptions,
    by: Sequence[str],
) -> pl.LazyFrame:
    columns = {"query": options.query, "rank": options.rank, "relevance": options.relevance}
    columns["score"] = options.score

    def score(
        run: Frame, qrels: Frame, *, part: bool = False, systems: pl.DataFrame | None = None
    ) -> pl.LazyFrame:
        complete = options.queries in ("qrels", "both")
        if complete and not by and all(map(judged_rows_suffice, calls.values())):
            parts = judged_rows_only(run, qrels, options, part=part, systems=systems)
            return _per_query(parts.matched, calls, parts.ranking, by, columns, parts=parts)
        judged = judge_lazily(run, qrels, options, part=part, systems=systems)
        return _per_query(
            judged, calls, _ranking(judged, options.query, options.keys, options.system), by, columns
        )

    whole = score(run, qrels)
    if isinstance(run, pl.DataFrame):
        return whole
    tables = unify_ids({"run": run, "qrels": as_lazy(qrels, "qrels")}, [options.query, options.item])
    return score_in_parts(
        tables["run"],
        tables["qrels"],
        options.query,
        options.item,
        crossed=options.queries in ("qrels", "all"),
        system=options.system,
        score=lambda run, qrels, systems: score(run, qrels, part=True, systems=systems).collect(
            engine="streaming"
        ),
        schema=whole.collect_schema(),
    ).sort(_ranking(whole, options.query, options.keys, options.system))


def _ranking(
    rows: pl.LazyFrame, query: str, keys: str | Sequence[str] | None, system: str | None
) -> list[str]:
    return [query, *ranking_keys(keys, system, rows.collect_schema().names())]


def _per_query(
    rows: pl.LazyFrame,
    calls: Calls,
    ranking: Sequence[str],
    by: Sequence[str],
    columns: Mapping[str, str],
    *,
    parts: JudgedParts | None = None,
    check: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """Score a judged table, or the judged rows of `parts`, whose rankings have a judged row each.

    `check` is a plan without rows that refuses the table when it runs.
    """
    carried = [name for name in by if name not in ranking]
    refuse_names("measures", list(calls), [*ranking, *carried])
    own = {name for call in calls.values() if isinstance(call, Call) for name in call.measure.columns}
    schema = rows.collect_schema()
    require_columns(schema, [*ranking, *carried, *sorted(columns.get(name, name) for name in own)], "table")
    if any(isinstance(call, Call) and call.judged_only for call in calls.values()):
        kept = returned(number(columns["rank"])) & judged(number(columns["relevance"]))
        again = pl.when(kept).then(number(columns["rank"])).rank("min").over(ranking)
        rows = rows.with_columns(again.alias(JUDGED_ONLY))
    flat = {name: call for name, call in calls.items() if isinstance(call, Call) and is_flat(call)}
    others = [expression_of(call, columns).alias(name) for name, call in calls.items() if name not in flat]
    plan = SharedPlan(flat, columns, schema)
    if parts is not None:
        rankings = _rankings_of_parts(parts, plan, others)
        return plan.add_to(rankings, rows, ranking).select(*ranking, *calls).sort(ranking)
    grade = pl.col(columns["relevance"])
    grade = grade.fill_nan(None) if schema[columns["relevance"]].is_float() else grade
    rankings = rows.group_by(ranking).agg(
        *(pl.col(name).first() for name in carried),
        *(pl.col(name).n_unique().name.prefix(DIFFERENT) for name in carried),
        *others,
        grade.count().alias(_GRADES),
        **plan.returned_counts,
        **plan.judged_counts,
    )
    if check is not None:
        rankings = pl.concat([rankings, check], how="diagonal")
    if carried:
        rankings = rankings.map_batches(
            refusing_variation(carried, ranking, _VARIES, _remedy_of_variation), validate_output_schema=False
        )
    needy = [name for name, call in calls.items() if needs_judgements(call)]
    result = plan.add_to(rankings, rows, ranking).with_columns(
        pl.when(pl.col(_GRADES) > 0).then(name).alias(name) for name in needy
    )
    return result.select(*ranking, *carried, *calls).sort(ranking)


def _rankings_of_parts(parts: JudgedParts, plan: SharedPlan, others: Sequence[pl.Expr]) -> pl.LazyFrame:
    """Join to each ranking its counts and the measures that are aggregations of their own."""
    rankings = parts.rankings
    for rows, wanted in ((parts.ranked, plan.returned_counts), (parts.matched, plan.judged_counts)):
        if wanted:
            counted = rows.group_by(parts.ranking).agg(**wanted)
            rankings = rankings.join(counted, on=parts.ranking, how="left")
            rankings = rankings.with_columns(pl.col(name).fill_null(0.0) for name in wanted)
    if others:
        values = parts.matched.group_by(parts.ranking).agg(others)
        rankings = rankings.join(values, on=parts.ranking, how="left")
    return rankings


def _remedy_of_variation(name: str) -> Message:
    as_key, as_attribute = Setting("keys", [name]), Setting("attributes", [name])
    fill = " of judge fills it on every row"
    return ("if it tells rankings apart, ", as_key, "; if it describes the query, ", as_attribute, fill)


def summarize(
    per_query: FrameT,
    *,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    aggregate: Aggregate | None = None,
    interval: SummaryInterval | None = None,
    level: float = 0.95,
    weight: str | None = None,
    totals: bool = False,
    samples: int = 2000,
    seed: int = 0,
    convention: str | None = None,
    system: str | None = "system",
) -> FrameT:
    r"""Summarize measures over queries: mean, sum or geometric mean, with intervals.

    $value = \sum w v / \sum w$ for most measures, the sum for counts, the geometric mean for `gm_map` and
    its like.

    Parameters
    ----------
    per_query
        One row a ranking, one numeric column a measure, as `evaluate` gives it.
    by
        Columns to slice by, beside the system. Null is a slice.
    measures
        The measures' columns; default: the numeric columns whose names are measures.
    aggregate
        ``"mean"``, ``"geometric"`` (a value below 1e-5 counts as that) or ``"sum"`` for all of them; default:
        to each its own.
    interval
        None; ``"t"``; ``"bootstrap"``, percentiles of resampled queries; ``"basic"``, these mirrored;
        ``"bca"``, corrected for bias and skewness; ``"wilson"``, for measures that are 0 or 1.
    level
        Coverage of the interval.
    weight
        Column of weights, such as the traffic of a query.
    totals
        Add rows that leave out the columns of `by`, the last first; `total_over` names those left out.
        Systems are never pooled.
    samples, seed
        Resamples of a bootstrap, and where they start: the same seed gives the same interval.
    convention
        A program, such as ``"ranx"``: decides a name that means different things elsewhere.
    system
        The column of the systems, which are kept apart: if the table has it, it is put before `by` unless
        it is named there. None pools them.

    Returns
    -------
    DataFrame or LazyFrame
        As the table, one row a slice and measure: `by`, `measure`, `value`, `n` and `missing` (rankings
        with and without a value: a null is left out), `standard_deviation`, `standard_error`, with
        `interval` also `low` and `high`, and `reason`: why something is null.

    Raises
    ------
    DataError
        If a column is missing, no column is a measure, or a weight is null, NaN or negative.
    ValueError
        If an option has no such value.

    References
    ----------
    trec_eval, trec_eval.c (means, sums of num_* measures); Wilson 1927; Efron and Tibshirani 1993.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> per_query = pl.DataFrame({"query": ["q1", "q2"], "AP": [1.0, 0.5], "num_ret": [3.0, 5.0]})
    >>> rank.summarize(per_query).select("measure", "value", "n").rows()
    [('AP', 0.75, 2), ('num_ret', 8.0, 2)]
    """
    rows = as_lazy(per_query, "per_query")
    schema = rows.collect_schema()
    slices: list[str] = with_system(as_list(by), system, schema.names())
    chosen: list[str] | None = None if measures is None else as_list(measures)
    require_columns(schema, [*slices, *(chosen or [])], "per_query")
    aggregates = _aggregates(schema, slices, chosen, convention)
    if aggregate is not None:
        require_choice("aggregate", aggregate, get_args(Aggregate))
        aggregates = dict.fromkeys(aggregates, aggregate)
    if not aggregates:
        raise DataError(
            f"per_query has no measure among its columns {schema.names()}; name them: measures=[...]"
        )
    result = summary_statistics(
        rows,
        aggregates,
        slices,
        interval=interval,
        level=level,
        weight=weight,
        totals=totals,
        keys=[system] if system else [],
        samples=samples,
        seed=seed,
    )
    return like(per_query, result)


def _aggregates(
    schema: pl.Schema, slices: Sequence[str], measures: Sequence[str] | None, convention: str | None
) -> dict[str, Aggregate]:
    """Aggregate of each measure column; a column whose name is not a measure is averaged."""
    convention_of(convention, programs())
    found: dict[str, Aggregate] = {}
    for name in measures if measures is not None else schema.names():
        try:
            found[name] = parse(name, convention=convention).aggregate
        except ValueError:
            if measures is not None:
                found[name] = "mean"
        if measures is None and (name in slices or not schema[name].is_numeric()):
            found.pop(name, None)
    return found
