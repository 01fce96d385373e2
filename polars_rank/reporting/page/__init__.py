"""A comparison as one HTML page: numbers, charts, slices and rankings."""

import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import chain, combinations
from typing import Any, NamedTuple

import polars as pl

from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.contributions import contribution, is_sum_over_items
from polars_rank.comparison.pairs import Missing, completed, higher_is_better
from polars_rank.core.errors import ArgumentError, DataError, Setting, nearest, require_columns
from polars_rank.core.frames import Frame, as_lazy, as_list, columns_apart, named_apart, unify_ids
from polars_rank.evaluation.per_query import evaluate, summarize
from polars_rank.measures.names import parse
from polars_rank.measures.rows import number
from polars_rank.reporting.curves import CUTOFFS, RECALL_LEVELS, curves_by_ranking

MOST_SLICES = 500
EMBEDDED = 200
DEPTH = 20
RELEVANT = 30
LONGEST_TEXT = 240

Json = dict[str, Any]


class _Plan(NamedTuple):
    """What the page shows: systems in display order, baseline, measures and attributes."""

    systems: list[Any]
    baseline: Any
    measures: list[str]
    attributes: range
    missing: Missing

    @property
    def sums(self) -> list[str]:
        """Measures that are sums over items."""
        return [name for name in self.measures if is_sum_over_items(parse(name))]

    def placed(self, table: pl.DataFrame) -> pl.DataFrame:
        places = pl.DataFrame({"system": pl.Series(self.systems, dtype=table.schema["system"])})
        return table.join(places.with_row_index("_system"), on="system", how="inner")


def page(
    judged: Frame,
    measures: str | Sequence[str],
    baseline: object = None,
    *,
    by: str | Sequence[str] | None = None,
    queries: Frame | None = None,
    items: Frame | None = None,
    missing: Missing = "error",
    title: str = "Comparison of systems",
) -> str:
    """Write a comparison of systems as one HTML page that works offline.

    The page has a table of systems with intervals and tests against the baseline, charts, a selection of
    slices, and a searchable table of queries that opens both rankings of a query, with the contribution of
    each item. Its numbers are those of `summarize` and `compare`. It includes the rankings of the 200
    queries with the largest difference from the baseline in the first measure: the top 20 items and up to
    30 relevant ones.

    Parameters
    ----------
    judged
        A judged table of at least two systems, as returned by `judge`: `query`, `system`, `item`, `rank`,
        `relevance`, attributes.
    measures
        Names such as ``"nDCG@10"``; the first one is selected when the page opens.
    baseline
        System to compare the others with; default: the best one by the first measure.
    by
        Attributes of queries to slice by, columns of `judged`. Each combination of their values is a slice;
        a page has at most 500.
    queries
        One row per query: `query` and `text`, which is shown next to the id.
    items
        One row per item: `item` and `text`, which is shown in rankings, cut to 240 characters.
    missing
        As in `compare`; ``"zero"`` also counts a missing query as 0 in the means.
    title
        Heading of the page.

    Returns
    -------
    str
        HTML. Data is inserted as text, never as markup.

    Raises
    ------
    DataError
        If a column is missing, there is only one system, or there are too many slices.
    ValueError
        If a measure is unknown, or `baseline` is not a system.
    ModuleNotFoundError
        If SciPy is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, _, _ = rank.example()
    >>> html = rank.page(rank.judge(run, qrels), ["nDCG@10", "AP"], "bm25")
    >>> html[:15], "https://" in html
    ('<!doctype html>', False)
    """
    names, slices = list(dict.fromkeys(as_list(measures))), list(dict.fromkeys(as_list(by)))
    if not names:
        raise ValueError("measures is empty; name one or more, such as 'nDCG@10'")
    for name in {"query", "system", "item", "rank", "relevance"} & set(slices):
        taken = " can't slice the page: the column has another role; leave it out"
        raise ArgumentError((Setting("by", name), taken))
    lazy = as_lazy(judged, "judged")
    require_columns(
        lazy.collect_schema().names(), ["query", "system", "item", "rank", "relevance", *slices], "judged"
    )
    apart = named_apart(slices)
    unified = unify_ids({"judged": lazy}, ["query", "system", "item"])["judged"]
    rows = unified.select("query", "system", "item", "rank", "relevance", *columns_apart(apart)).collect()
    cutoffs = {f"nDCG@{k}": k for k in CUTOFFS}
    shown = [*names, *(name for name in cutoffs if name not in names)]
    evaluated = evaluate(rows, shown, by=list(apart.values()))
    per_query = completed(evaluated, shown, list(apart.values()), zero=missing == "zero")
    best_first = _best_first(per_query, names[0])
    plan = _Plan(best_first, _known(baseline, best_first), names, range(len(slices)), missing)
    per_query, attributes = _coded(per_query, apart)
    curves = curves_by_ranking(rows.lazy(), ["system", "query"]).collect()
    if missing == "zero":
        curves = completed(curves, RECALL_LEVELS, zero=True)
    values = plan.placed(per_query).sort("query", "_system")
    ids = values["query"].unique(maintain_order=True)
    data = {
        "baseline": plan.systems.index(plan.baseline),
        "missing": missing if len(evaluated) < len(per_query) else None,
        "systems": [_plain(name) for name in plan.systems],
        "measures": [
            {"name": name, "higher": higher_is_better(name), "sum": name in plan.sums} for name in names
        ],
        "attributes": attributes,
        "queries": {
            "ids": [_plain(one) for one in ids],
            "texts": _texts(ids.to_frame(), queries, "query", "queries"),
            "codes": [_first_of_query(values, f"_code_{place}") for place in plan.attributes],
        },
        "values": _matrices(values, plan),
        "slices": _slices(values, curves, list(cutoffs), plan),
        "cutoffs": list(cutoffs.values()),
        "rankings": _rankings(rows, _most_different(values, plan), ids, plan, items),
        "depth": DEPTH,
    }
    return _filled(title, data)


def _best_first(per_query: pl.DataFrame, measure: str) -> list[Any]:
    means = per_query.group_by("system").agg(pl.col(measure).fill_nan(None).mean())
    best_first = means.sort(measure, "system", descending=[higher_is_better(measure), False], nulls_last=True)
    systems = best_first["system"].to_list()
    if len(systems) < 2:
        raise DataError(f"judged has one system, {systems}; a comparison needs two")
    return systems


def _known(baseline: object, systems: list[Any]) -> Any:
    if baseline is not None and baseline not in systems:
        hint = nearest(str(baseline), map(str, systems))
        raise ValueError(
            f"baseline={baseline!r} is not a system of judged{hint}; its systems are {sorted(systems)}"
        )
    return systems[0] if baseline is None else baseline


def _coded(per_query: pl.DataFrame, slices: Mapping[str, str]) -> tuple[pl.DataFrame, list[Json]]:
    """Encode the values of each attribute, including null, as numbers."""
    attributes = []
    for place, (name, column) in enumerate(slices.items()):
        values = per_query.select(pl.col(column).unique().sort())
        codes = values.with_row_index(f"_code_{place}")
        per_query = per_query.join(codes, on=column, how="left", nulls_equal=True).drop(column)
        attributes.append({"name": name, "values": [_plain(value) for value in values[column]]})
    return per_query, attributes


def _matrices(values: pl.DataFrame, plan: _Plan) -> dict[str, list[list[float | None]]]:
    """Values of each measure: one list per system, in order of queries, null where a system has none."""
    queries = values.select("query").unique(maintain_order=True)
    rounded = values.with_columns(_finite(name).round(5) for name in plan.measures)
    of_system = [
        queries.join(rounded.filter(_system=place), on="query", how="left", maintain_order="left")
        for place in range(len(plan.systems))
    ]
    return {name: [table[name].to_list() for table in of_system] for name in plan.measures}


def _finite(column: str) -> pl.Expr:
    """Replace NaN and infinities, which JSON lacks, with null."""
    return pl.when(pl.col(column).is_finite()).then(pl.col(column)).alias(column)


def _first_of_query(values: pl.DataFrame, column: str) -> list[int]:
    return values.group_by("query", maintain_order=True).agg(pl.col(column).first())[column].to_list()


def _texts(ids: pl.DataFrame, table: Frame | None, key: str, name: str) -> list[str | None] | None:
    """Look up the text of each id, and shorten it."""
    if table is None:
        return None
    rows = as_lazy(table, name)
    require_columns(rows.collect_schema().names(), [key, "text"], name)
    tables = unify_ids({"judged": ids.lazy(), name: rows}, [key])
    known = tables[name].select(key, pl.col("text").cast(pl.String)).drop_nulls().collect()
    repeated = known.filter(pl.col(key).is_duplicated())
    if len(repeated):
        raise DataError(f"{name} has two rows for {key} {repeated[key][0]!r}; keep one")
    text = pl.col("text").str.replace_all(r"\s+", " ")
    cut = pl.when(text.str.len_chars() > LONGEST_TEXT).then(text.str.head(LONGEST_TEXT) + "…").otherwise(text)
    found = (
        tables["judged"]
        .collect()
        .join(known.with_columns(cut.alias("text")), on=key, how="left", maintain_order="left")
    )
    return found["text"].to_list()


def _slices(values: pl.DataFrame, curves: pl.DataFrame, cutoffs: list[str], plan: _Plan) -> Json:
    """Numbers of every slice: each combination of attribute values, where each attribute may also be any."""
    kept_together = chain.from_iterable(
        combinations(plan.attributes, size) for size in range(len(plan.attributes) + 1)
    )
    levels = [[f"_code_{place}" for place in kept] for kept in kept_together]
    number_of_slices = sum(len(values.select(level).unique()) if level else 1 for level in levels)
    if number_of_slices > MOST_SLICES:
        raise DataError(
            f"by makes {number_of_slices:,} slices, but a page has at most {MOST_SLICES}; "
            "group the values of the attributes, or use fewer attributes"
        )
    curves = values.join(curves, on=["query", "system"], how="left")
    result: Json = {}
    for level in levels:
        for row in _sizes(values, level).iter_rows(named=True):
            result[_key(row, plan.attributes)] = {"n": row["n"], "rows": {}, "cutoffs": [], "recall": []}
        numbers = _numbers(values, level, plan)
        for row in numbers.iter_rows(named=True):
            rows = result[_key(row, plan.attributes)]["rows"]
            rows.setdefault(row["measure"], []).append([row[name] for name in _NUMBERS])
        for name, table, columns in (("cutoffs", values, cutoffs), ("recall", curves, RECALL_LEVELS)):
            means = table.group_by([*level, "_system"]).agg(pl.col(columns).mean().round(5)).sort("_system")
            for row in means.iter_rows(named=True):
                result[_key(row, plan.attributes)][name].append([row[column] for column in columns])
    return result


_NUMBERS = (
    "value",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
    "p",
    "wins",
    "ties",
    "losses",
)


def _sizes(values: pl.DataFrame, level: list[str]) -> pl.DataFrame:
    return values.group_by([*level, pl.lit(0).alias("_one")]).agg(n=pl.col("query").n_unique())


def _key(row: Json, places: range) -> str:
    """Key of a slice: the codes of its values, or a star for any value."""
    return ",".join(str(row.get(f"_code_{place}", "*")) for place in places)


def _numbers(values: pl.DataFrame, level: list[str], plan: _Plan) -> pl.DataFrame:
    """Numbers of `summarize` and `compare`: one row per slice, measure and system."""
    summary = summarize(values, by=[*level, "system"], measures=plan.measures, interval="t")
    compared = compare(values, plan.baseline, by=level, measures=plan.measures, missing=plan.missing)
    lower = [name for name in plan.measures if not higher_is_better(name)]
    turned = pl.col("measure").is_in(lower)
    against = compared.select(
        *level,
        "measure",
        "system",
        "difference",
        pl.col("p_t_holm").round_sig_figs(3).alias("p"),
        "ties",
        difference_low="low",
        difference_high="high",
        wins=pl.when(turned).then("losses").otherwise("wins"),
        losses=pl.when(turned).then("wins").otherwise("losses"),
    )
    joined = summary.join(against, on=[*level, "measure", "system"], how="left")
    rounded = pl.col("value", "low", "high", "difference", "difference_low", "difference_high").round(6)
    return plan.placed(joined.with_columns(rounded)).sort("_system")


def _most_different(values: pl.DataFrame, plan: _Plan) -> pl.DataFrame:
    """Queries whose rankings are shown: those with the largest difference from the baseline."""
    value = pl.col(plan.measures[0]).fill_nan(None)
    of_baseline = value.filter(pl.col("_system") == plan.systems.index(plan.baseline)).first()
    largest = values.group_by("query").agg((value - of_baseline).abs().max().alias("_largest"))
    return largest.sort("_largest", "query", descending=[True, False], nulls_last=True).head(EMBEDDED)


def _rankings(
    rows: pl.DataFrame, chosen: pl.DataFrame, ids: pl.Series, plan: _Plan, items: Frame | None
) -> Json:
    """Rankings of the chosen queries: for each query its graded items once, and the ranks in each system."""
    ranking = ["query", "system"]
    # Rounded, because digits that are never shown make the page larger.
    parts = [contribution(parse(name), ranking, text=name).round(6).alias(name) for name in plan.sums]
    rank, relevance = number("rank").fill_nan(None), number("relevance").fill_nan(None)
    is_relevant = (relevance > 0).fill_null(False)
    number_of_relevant = is_relevant.cum_sum().over(
        ranking, order_by=[rank.fill_null(float("inf")), -relevance, "item"]
    )
    kept = (rank <= DEPTH) | (is_relevant & (number_of_relevant <= RELEVANT))
    shown = (
        rows.join(chosen.select("query"), on="query", how="semi")
        .with_columns(rank, relevance, *parts)
        .filter(kept)
        .pipe(plan.placed)
        .sort("query", "_system", "rank", -pl.col("relevance"), "item", nulls_last=True)
    )
    names = shown.select(pl.col("item").unique().sort())
    shown = shown.join(names.with_row_index("_item"), on="item", maintain_order="left")
    places = {query: place for place, query in enumerate(ids)}
    by_query = {}
    for (query, *_), part in shown.group_by("query", maintain_order=True):
        grades = part.group_by("_item", maintain_order=True).agg(pl.col("relevance").first())
        ranked = part.filter(pl.col("rank").is_not_null())
        of_system = [
            ranked.filter(_system=place).select("_item", *map(_finite, ["rank", *plan.sums])).rows()
            for place in range(len(plan.systems))
        ]
        by_query[places[query]] = [grades.select("_item", _finite("relevance")).rows(), of_system]
    return {
        "items": [_plain(name) for name in names["item"]],
        "texts": _texts(names, items, "item", "items"),
        "sums": plan.sums,
        "queries": by_query,
    }


def _plain(value: object) -> str | None:
    if value is None:
        return None
    return value.hex() if isinstance(value, bytes) else f"{value!s}"


def _compact(value: Any) -> Any:
    """Write whole floats as integers: most numbers of a page are 0."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _compact(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_compact(member) for member in value]
    return value


def _filled(title: str, data: Json) -> str:
    """Fill the template; the policy allows only this script and this style."""
    script, style = _asset("page.js"), _asset("page.css")
    # In a script element, only "<" could end the element or start a comment.
    text = json.dumps(_compact(data), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "title": escape(title),
        "policy": f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}",
        "style": style,
        "data": text,
        "script": script,
    }
    # Split first, so that data that looks like a placeholder stays data.
    pieces = _asset("page.html").split("{{")
    return pieces[0] + "".join(
        parts[mark] + rest for mark, _, rest in (piece.partition("}}") for piece in pieces[1:])
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
