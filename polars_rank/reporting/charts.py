"""Charts of a comparison as Altair objects; ``chart.save`` writes PNG or SVG without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.contributions import gains
from polars_rank.comparison.pairs import Missing, higher_is_better, measure_columns
from polars_rank.core.errors import needs
from polars_rank.core.frames import (
    Frame,
    as_lazy,
    as_list,
    set_apart,
)
from polars_rank.evaluation.per_query import summarize
from polars_rank.evaluation.summary import SummaryInterval
from polars_rank.reporting.curves import CUTOFFS, by_cutoff, precision_recall

if TYPE_CHECKING:
    import altair as alt

MOST_BARS = 1000

_needs_altair = needs("charts", "altair", "altair")

_GAINED, _LOST, _INK, _FAINT = "#1f6fb2", "#c4561a", "#2b2f36", "#8a919c"


@_needs_altair
def systems_chart(
    per_query: Frame, measures: str | Sequence[str] | None = None, *, interval: SummaryInterval = "t"
) -> alt.FacetChart:
    """Chart of means with intervals, one panel per measure, the best system on top.

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    measures
        Columns to show; the first one orders the systems. Default: all columns named like a measure.
    interval
        As in `summarize`.

    Returns
    -------
    altair Chart
        ``chart.save("chart.png")`` writes it to a file.

    Raises
    ------
    DataError
        If a column is missing.
    ModuleNotFoundError
        If Altair is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, queries, _ = rank.example()
    >>> per_query = rank.evaluate(run, ["nDCG@10", "AP"], qrels=qrels)
    >>> rank.systems_chart(per_query).to_dict()["columns"]
    3
    """
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
    """Chart of the difference between two systems per query, in descending order.

    With more than 1,000 queries, evenly spaced ones are drawn, including the first and the last.

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    baseline, system
        The two systems.
    measure
        The column to show.

    Returns
    -------
    altair Chart
        ``chart.save("chart.png")`` writes it to a file.

    Raises
    ------
    DataError
        If a column is missing.
    ModuleNotFoundError
        If Altair is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, queries, _ = rank.example()
    >>> per_query = rank.evaluate(run, ["nDCG@10", "AP"], qrels=qrels)
    >>> rank.differences_chart(per_query, "bm25", "word-tfidf", "AP").to_dict()["title"]["text"]
    'AP per query: word-tfidf minus bm25'
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
        f"{measure} per query: {_plain(system)} minus {_plain(baseline)}",
        subtitle=", ".join(f"{count:,} {word}" for word, count in counts.items()),
    )
    shown = pl.concat([shown, table.tail(1)]).unique("place").sort("place").pipe(_text, "query")
    width = (len(table) or 1) / (len(shown) or 1)
    bars = alt.Chart(_values(shown.with_columns(end=pl.col("place") + width)), width=560, height=220)
    zero = alt.Chart(_values(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=_INK)
    x = alt.X(
        field="place",
        type="quantitative",
        title="queries, sorted by difference",
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
    """Chart of interpolated precision against recall, one curve per system.

    Parameters
    ----------
    judged
        A judged table, as returned by `judge`.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    altair Chart
        ``chart.save("chart.png")`` writes it to a file.

    Raises
    ------
    DataError
        If a column is missing.
    ModuleNotFoundError
        If Altair is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, queries, _ = rank.example()
    >>> chart = rank.precision_recall_chart(rank.judge(run, qrels))
    >>> len(chart.to_dict()["layer"])
    2
    """
    curves = precision_recall(as_lazy(judged, "judged"), min_relevance=min_relevance).collect()
    return _lines(curves, ("recall", "recall", {}), ("precision", "interpolated precision"))


@_needs_altair
def cutoffs_chart(judged: Frame, measure: str = "nDCG", cutoffs: Sequence[int] = CUTOFFS) -> alt.LayerChart:
    """Chart of a measure against its cutoff, one line per system.

    Parameters
    ----------
    judged
        A judged table, as returned by `judge`.
    measure
        A name without cutoff, such as ``"nDCG"``.
    cutoffs
        The cutoffs.

    Returns
    -------
    altair Chart
        ``chart.save("chart.png")`` writes it to a file.

    Raises
    ------
    DataError
        If a column is missing.
    ModuleNotFoundError
        If Altair is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, queries, _ = rank.example()
    >>> chart = rank.cutoffs_chart(rank.judge(run, qrels), "precision", [5, 10])
    >>> len(chart.to_dict()["layer"])
    2
    """
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
    """Chart of differences from the baseline with intervals, one panel per slice.

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    baseline
        System to compare the others with.
    measure
        The column to show.
    by
        Columns to slice by.
    missing
        As in `compare`.

    Returns
    -------
    altair Chart
        ``chart.save("chart.png")`` writes it to a file.

    Raises
    ------
    DataError
        If a column is missing.
    ModuleNotFoundError
        If Altair is not installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, queries, _ = rank.example()
    >>> judged = rank.judge(run, qrels, attributes=queries.select("query", "kind"))
    >>> per_query = rank.evaluate(judged, "AP", by="kind")
    >>> rank.slices_chart(per_query, "bm25", "AP", by="kind").to_dict()["columns"]
    3
    """
    import altair as alt  # noqa: PLC0415

    rows, slices = set_apart(as_lazy(per_query, "per_query"), as_list(by), "per_query")
    compared = compare(rows, baseline, by=slices, measures=measure, missing=missing).collect()
    parts = [pl.col(name).cast(pl.String).fill_null("(none)") for name in slices]
    table = compared.pipe(_text, "system").with_columns(
        slice=pl.concat_str(pl.concat_str(parts, separator=", "), pl.lit(" ("), "n", pl.lit(" queries)"))
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
    """Draw one line per system."""
    import altair as alt  # noqa: PLC0415

    (x_field, x_title, extra), (y_field, y_title) = x, y
    table = table.pipe(_text, "system")
    # Sorted by name, so that a system has the same colour in every chart.
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
    """Colours of a higher and of a lower value; the better one is blue."""
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
