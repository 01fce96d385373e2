"""Charts of a comparison: Altair objects, saved as PNG or SVG without network by ``chart.save``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from polars_rank.catalogue import parse
from polars_rank.comparison import compare
from polars_rank.differences import gains
from polars_rank.errors import needs, require_columns
from polars_rank.evaluation import evaluate, summarize
from polars_rank.intervals import SummaryInterval
from polars_rank.measures.rows import number, relevant, returned
from polars_rank.pairing import Missing, as_list, measure_columns
from polars_rank.report import higher_is_better
from polars_rank.tables import Frame, as_lazy, columns_apart, like, named_apart, named_back, set_apart

if TYPE_CHECKING:
    import altair as alt

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
MOST_BARS = 1000

_needs_altair = needs("charts", "altair", "altair")

_GAINED, _LOST, _INK, _FAINT = "#1f6fb2", "#c4561a", "#2b2f36", "#8a919c"
RECALL_LEVELS = [f"{tenths / 10}" for tenths in range(11)]


def precision_recall(
    judged: FrameT,
    *,
    min_relevance: float = 1,
    keys: Sequence[str] = ("system",),
    query: str = "query",
    rank: str = "rank",
    relevance: str = "relevance",
) -> FrameT:
    r"""Average the interpolated precision at recall 0, 0.1, … 1 over queries: the classic curve.

    $precision(t) = \max \{i / rank_i : i \ge t R\}$ over the relevant items in order of rank, 0 where recall
    t is not reached; the mean over all queries.

    Parameters
    ----------
    judged
        A judged table, as `judge` gives it.
    min_relevance
        Least grade that is relevant.
    keys
        Columns that tell systems apart; a curve each.
    query, rank, relevance
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `judged`; one row a system and level: keys, `recall`, `precision` (Float64, in [0, 1]), sorted.

    Raises
    ------
    DataError
        If a column is missing.

    References
    ----------
    trec_eval, iprec_at_recall.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.charts import precision_recall
    >>> judged = pl.DataFrame({"query": "q", "rank": [1, 2, 3, None], "relevance": [1, 0, 1, 1]})
    >>> precision_recall(judged, keys=[])["precision"].round(2).to_list()
    [1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.0, 0.0, 0.0, 0.0]
    """
    rows = as_lazy(judged, "judged")
    require_columns(rows.collect_schema().names(), [*keys, query, rank, relevance], "judged")
    apart = named_apart([*keys, query], "keys")
    ranking = list(apart.values())
    systems = ranking[:-1]
    rows = rows.select(
        *columns_apart(apart),
        pl.col(rank).alias("rank"),
        pl.col(relevance).alias("relevance"),
    )
    curves = (
        curves_by_ranking(rows, ranking, min_relevance)
        .group_by(*systems, pl.lit(0).alias("_one"))
        .agg(pl.col(RECALL_LEVELS).mean())
        .unpivot(RECALL_LEVELS, index=systems, variable_name="recall", value_name="precision")
        .with_columns(pl.col("recall").cast(pl.Float64))
        .sort(*systems, "recall")
    )
    return like(judged, named_back(curves, "keys"))


def curves_by_ranking(rows: pl.LazyFrame, ranking: Sequence[str], min_relevance: float = 1) -> pl.LazyFrame:
    """Give one row a ranking, and a column a level of recall: the curves before they are averaged."""
    r = number("rank")
    found = rows.filter(relevant(number("relevance"), min_relevance)).select(
        *ranking,
        _place=pl.when(returned(r)).then(r).rank("ordinal").over(ranking).cast(pl.Int64),
        _rank=r,
        _total=pl.len().over(ranking).cast(pl.Int64),
    )
    place = pl.col("_place")
    best = [
        # In whole numbers: a tenth has no exact float.
        (place / pl.col("_rank")).filter(place * 10 >= tenths * pl.col("_total")).max().alias(name)
        for tenths, name in enumerate(RECALL_LEVELS)
    ]
    rankings = rows.select(ranking).unique()
    found = rankings.join(found.group_by(ranking).agg(best), on=ranking, how="left", nulls_equal=True)
    return found.with_columns(pl.col(RECALL_LEVELS).fill_null(0.0))


def by_cutoff(
    judged: FrameT,
    measure: str = "nDCG",
    cutoffs: Sequence[int] = CUTOFFS,
    *,
    by: str | Sequence[str] = "system",
    query: str = "query",
    rank: str = "rank",
    relevance: str = "relevance",
) -> FrameT:
    """Score a measure at several cutoffs, and average over queries.

    Parameters
    ----------
    judged
        A judged table, as `judge` gives it.
    measure
        A name without cutoff, such as ``"nDCG"`` or ``"precision(min_relevance=2)"``.
    cutoffs
        Whole numbers from 1.
    by
        Columns to slice by, as in `summarize`.
    query, rank, relevance
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `judged`; one row a slice and cutoff: the `by` columns, `k` (Int64), `value` (Float64, in units of
        the measure), sorted.

    Raises
    ------
    ValueError
        If the measure has a cutoff already, or takes none.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.charts import by_cutoff
    >>> judged = pl.DataFrame({"query": "q", "system": "x", "rank": [1, 2, 3], "relevance": [1, 0, 1]})
    >>> by_cutoff(judged, "P", [1, 2]).rows()
    [('x', 1, 1.0), ('x', 2, 0.5)]
    """
    call = parse(measure)
    if "k" not in call.measure.options or call.options.get("k") is not None:
        raise ValueError(f"measure must take a cutoff and have none yet, got {measure!r}")
    rows, slices = set_apart(as_lazy(judged, "judged"), as_list(by), "judged")
    names = {f"{measure}@{k}": int(k) for k in cutoffs}
    per_query = evaluate(rows, list(names), by=slices, query=query, rank=rank, relevance=relevance)
    means = summarize(per_query, by=slices, measures=list(names)).select(
        *slices, pl.col("measure").replace_strict(names, return_dtype=pl.Int64).alias("k"), "value"
    )
    return like(judged, named_back(means.sort(*slices, "k")))


@_needs_altair
def systems_chart(
    per_query: Frame, measures: str | Sequence[str] | None = None, *, interval: SummaryInterval = "t"
) -> alt.FacetChart:
    """Draw each system's mean with its interval, a panel a measure; the best by the first measure on top."""
    import altair as alt  # noqa: PLC0415 - an extra; a second

    table = as_lazy(per_query, "per_query").collect()
    names = measure_columns(table.schema, measures, ["system", "query"])
    summary = summarize(table, by="system", measures=names, interval=interval).pipe(_text, "system")
    best_first = summary.filter(measure=names[0]).sort(
        "value", "system", descending=[higher_is_better(names[0]), False], nulls_last=True
    )
    order = best_first["system"].to_list()
    base = alt.Chart(width=230, height=alt.Step(24)).encode(
        y=alt.Y(field="system", type="nominal", sort=order, title=None),
    )
    layers = alt.layer(
        base.mark_rule(color=_GAINED, size=2).encode(
            x=alt.X(field="low", type="quantitative", title=None, scale=alt.Scale(zero=False, padding=8)),
            x2=alt.X2(field="high"),
        ),
        base.mark_point(color=_GAINED, filled=True, size=55, opacity=1).encode(
            x=alt.X(field="value", type="quantitative")
        ),
        data=_values(summary),
    )
    header = alt.Header(labelFontWeight="bold", labelFontSize=12, title=None)
    faceted: alt.FacetChart = layers.facet(
        alt.Facet(field="measure", type="nominal", sort=names, header=header), columns=3
    )
    apart: alt.FacetChart = faceted.resolve_scale(x="independent")
    return _styled(apart)


@_needs_altair
def differences_chart(per_query: Frame, baseline: object, system: object, measure: str) -> alt.LayerChart:
    """Draw the difference of each query, the largest gain first: how many gain, how many lose, how much.

    Of more than 1,000 queries evenly spaced ones are drawn, the first and the last among them.
    """
    import altair as alt  # noqa: PLC0415

    table = gains(as_lazy(per_query, "per_query").collect(), baseline, system, measure)
    table = table.drop_nulls("gain").with_row_index("place")
    shown = table.gather_every(-(-len(table) // MOST_BARS)) if len(table) > MOST_BARS else table
    counts = {
        "higher": (table["gain"] > 0).sum(),
        "equal": (table["gain"] == 0).sum(),
        "lower": (table["gain"] < 0).sum(),
    }
    up, down = _colours(measure)
    title = alt.TitleParams(
        f"{_plain(system)} less {_plain(baseline)}: {measure} by query",
        subtitle=", ".join(f"{count:,} {word}" for word, count in counts.items()),
    )
    shown = pl.concat([shown, table.tail(1)]).unique("place").sort("place").pipe(_text, "query")
    width = (len(table) or 1) / (len(shown) or 1)
    bars = alt.Chart(_values(shown.with_columns(end=pl.col("place") + width)), width=560, height=220)
    zero = alt.Chart(_values(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=_INK)
    x = alt.X(
        field="place",
        type="quantitative",
        title="queries, by difference",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(nice=False),
    )
    y = alt.Y(field="gain", type="quantitative", title=f"difference in {measure}")
    marks = bars.mark_rect(stroke=None).encode(
        x=x,
        x2=alt.X2(field="end"),
        y=y,
        y2=alt.Y2(datum=0),
        color=alt.when("datum.gain > 0").then(alt.value(up)).otherwise(alt.value(down)),
    )
    line = zero.encode(y=alt.Y(field="zero", type="quantitative"))
    return _styled(alt.LayerChart(layer=[marks, line], title=title))


@_needs_altair
def precision_recall_chart(judged: Frame, *, min_relevance: float = 1) -> alt.LayerChart:
    """Draw interpolated precision against recall, a curve a system."""
    curves = precision_recall(as_lazy(judged, "judged"), min_relevance=min_relevance).collect()
    return _lines(curves, ("recall", "recall", {}), ("precision", "interpolated precision"))


@_needs_altair
def cutoffs_chart(judged: Frame, measure: str = "nDCG", cutoffs: Sequence[int] = CUTOFFS) -> alt.LayerChart:
    """Draw a measure against its cutoff, a line a system."""
    means = by_cutoff(as_lazy(judged, "judged"), measure, cutoffs).collect()
    ticks = {"axis": {"values": sorted(cutoffs), "grid": False}, "scale": {"type": "log", "nice": False}}
    return _lines(means, ("k", "cutoff k", ticks), ("value", f"{measure}@k"))


@_needs_altair
def slices_chart(
    per_query: Frame,
    baseline: object,
    measure: str,
    *,
    by: str | Sequence[str],
    missing: Missing = "error",
) -> alt.FacetChart:
    """Draw each system's difference from the baseline with its interval, a small panel a slice.

    `missing` is what a query that a system lacks does, as in `compare`.
    """
    import altair as alt  # noqa: PLC0415

    rows, slices = set_apart(as_lazy(per_query, "per_query"), as_list(by), "per_query")
    compared = compare(rows, baseline, by=slices, measures=measure, missing=missing).collect()
    parts = [pl.col(name).cast(pl.String).fill_null("none") for name in slices]
    table = compared.pipe(_text, "system").with_columns(
        slice=pl.format("{} ({} queries)", pl.concat_str(parts, separator=", "), "n")
    )
    up, down = _colours(measure)
    base = alt.Chart(width=190, height=alt.Step(22)).encode(
        y=alt.Y(field="system", type="nominal", title=None, sort=None),
        color=alt.when("datum.low > 0")
        .then(alt.value(up))
        .when("datum.high < 0")
        .then(alt.value(down))
        .otherwise(alt.value(_FAINT)),
    )
    zero = alt.Chart().mark_rule(color=_INK).encode(x=alt.datum(0))
    layers = alt.layer(
        zero,
        base.mark_rule(size=2).encode(
            x=alt.X(field="low", type="quantitative", title=None, axis=alt.Axis(tickCount=5)),
            x2=alt.X2(field="high"),
        ),
        base.mark_point(filled=True, size=50, opacity=1).encode(
            x=alt.X(field="difference", type="quantitative")
        ),
        data=_values(table),
    )
    header = alt.Header(labelFontWeight="bold", labelFontSize=12, title=None)
    order = table["slice"].unique(maintain_order=True).to_list()
    title = alt.TitleParams(f"{measure}: difference from {_plain(baseline)}, with 95 % intervals")
    facet = alt.Facet(field="slice", type="nominal", header=header, sort=order)
    return _styled(layers.facet(facet, columns=3, title=title))


def _lines(table: pl.DataFrame, x: tuple[str, str, Mapping[str, Any]], y: tuple[str, str]) -> alt.LayerChart:
    """Draw a line a system."""
    import altair as alt  # noqa: PLC0415

    (x_field, x_title, extra), (y_field, y_title) = x, y
    table = table.pipe(_text, "system")
    # By name, so that a system has one colour in every chart.
    names = table["system"].unique().sort().to_list()
    colours = alt.Scale(domain=names, scheme="tableau10" if len(names) <= 10 else "tableau20")
    base = alt.Chart(_values(table), width=420, height=280).encode(
        x=alt.X(field=x_field, type="quantitative", title=x_title, **extra),
        y=alt.Y(field=y_field, type="quantitative", title=y_title, scale=alt.Scale(zero=False)),
        color=alt.Color(field="system", type="nominal", title=None, scale=colours),
    )
    points = base.mark_point(filled=True, size=35, opacity=1)
    return _styled(alt.LayerChart(layer=[base.mark_line(strokeWidth=2), points]))


def _colours(measure: str) -> tuple[str, str]:
    """Give the colours of a higher and of a lower value: blue is better."""
    return (_GAINED, _LOST) if higher_is_better(measure) else (_LOST, _GAINED)


def _values(table: pl.DataFrame) -> alt.InlineData:
    import altair as alt  # noqa: PLC0415

    return alt.InlineData(values=table.to_dicts())


def _text(table: pl.DataFrame, column: str) -> pl.DataFrame:
    name = pl.col(column)
    shown = name.bin.encode("hex") if table.schema[column] == pl.Binary else name.cast(pl.String)
    return table.with_columns(shown)


def _plain(name: object) -> str:
    return name.hex() if isinstance(name, bytes) else f"{name!s}"


Chart = TypeVar("Chart", bound="alt.TopLevelMixin")


def _styled(chart: Chart) -> Chart:
    ink = {"labelColor": _INK, "titleColor": _INK}
    styled: Chart = (
        chart.configure(font="DejaVu Sans, Liberation Sans, sans-serif", background="white", padding=12)
        .configure_view(stroke=None)
        .configure_axis(
            **ink, gridColor="#e6e8ec", domainColor=_FAINT, tickColor=_FAINT, titleFontWeight="normal"
        )
        .configure_title(
            anchor="start", offset=10, color=_INK, subtitleColor="#5b626d", fontSize=14, subtitleFontSize=12
        )
        .configure_legend(labelColor=_INK)
    )
    return styled
