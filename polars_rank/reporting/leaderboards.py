"""Leaderboards: tables of systems with means, intervals and significance, as numbers or as text."""

import re
from collections.abc import Sequence
from itertools import chain, count, islice, product
from string import ascii_lowercase
from typing import Any, Literal, get_args

import polars as pl

from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.corrections import Correction
from polars_rank.comparison.pairs import Missing, Test, completed, higher_is_better, measure_columns
from polars_rank.core.errors import require_choice, require_columns
from polars_rank.core.frames import (
    Frame,
    as_lazy,
    as_list,
    columns_apart,
    named_apart,
    named_back,
    own_name,
    set_apart,
    unify_ids,
)
from polars_rank.evaluation.per_query import summarize
from polars_rank.reporting.renderers import FORMATS, Board, Cell, Format, Side

BoardInterval = Literal["t", "bootstrap", "basic", "bca"]

_TEST_NAMES = {
    "t": "paired t test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "randomization": "Fisher's randomisation test",
    "bootstrap": "paired bootstrap test",
    "tukey": "randomised Tukey HSD",
}
_INTERVAL_NAMES = {"t": "t", "bootstrap": "bootstrap", "basic": "basic bootstrap", "bca": "BCa bootstrap"}
_CORRECTION_NAMES = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "benjamini-hochberg": "Benjamini-Hochberg",
    "benjamini-yekutieli": "Benjamini-Yekutieli",
}
_COUNTS = "wins/ties/losses"
_NULL = "-"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def standings(
    per_query: Frame,
    baseline: object = None,
    *,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    interval: BoardInterval = "t",
    test: Test = "t",
    correction: Correction = "holm",
    level: float = 0.95,
    missing: Missing = "error",
    system: str = "system",
    query: str = "query",
) -> pl.DataFrame:
    """Rank the systems by each measure and mark significant differences: the numbers of `leaderboard`.

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    baseline
        System to compare the others with; None compares all pairs.
    by
        Columns that slice the table. P values are corrected over all slices together.
    measures
        Columns to show; the first one orders the systems. Default: all columns named like a measure.
    interval, level
        Interval of the mean, as in `summarize`; a p value below 1 - level is significant.
    test, correction, missing
        As in `compare`; ``"tukey"`` includes its own correction.
    system, query
        Names of the columns.

    Returns
    -------
    DataFrame
        One row per measure, slice and system, in this order; systems are sorted by the first measure, best
        first. Columns: `by`, `measure`, `system`, `letter` (a for the best overall), `value`, `low`,
        `high`, `n`, `reason` (of a null), `best` (Boolean: no other value is better), `beats` (letters of
        the systems that are significantly worse, separated by spaces if there are more than 26 systems;
        with a baseline, only the baseline's). With a baseline also `beaten` (Boolean: significantly worse),
        `difference`, `difference_low`, `difference_high`, `p` (corrected), `wins`, `ties`, `losses`, all
        null for the baseline itself. A win is a better value, which is a lower one for some measures.

        With ``missing="zero"``, a query that a system has no row for counts as 0 in its mean too.

    Raises
    ------
    DataError, ValueError, ModuleNotFoundError
        As in `summarize` and `compare`.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.reporting.leaderboards import standings
    >>> per_query = pl.DataFrame({
    ...     "query": ["q1", "q2", "q3"] * 2,
    ...     "system": ["x"] * 3 + ["y"] * 3,
    ...     "AP": [0.1, 0.2, 0.3, 0.5, 0.6, 0.8],
    ... })
    >>> standings(per_query).select("system", "letter", pl.col("value").round(4), "beats").rows()
    [('y', 'a', 0.6333, 'b'), ('x', 'b', 0.2, '')]
    """
    table = as_lazy(per_query, "per_query").collect()
    given: list[str] = as_list(by)
    names = measure_columns(table.schema, measures, [system, query, *given])
    apart = named_apart([query, system, *given])
    require_columns(table.schema, apart, "per_query")
    query, system, *slices = apart.values()
    table = (
        unify_ids({"per_query": table.lazy()}, list(apart)[:2])["per_query"]
        .select(*names, *columns_apart(apart))
        .collect()
    )
    if missing == "zero":
        table = completed(table, names, slices, zero=True, system=system, query=query)
    p = "p_tukey" if test == "tukey" else f"p_{test}_{correction.replace('-', '_')}"
    sign = (
        pl.when(pl.col("measure").is_in([n for n in names if not higher_is_better(n)])).then(-1).otherwise(1)
    )
    means = [
        summarize(table, by=[*part, system], measures=names, interval=interval, level=level, system=system)
        .rename({system: "system"})
        .with_columns(_merit=pl.col("value") * sign)
        for part in ([], slices)
    ]
    pairs = compare(
        table,
        baseline,
        by=slices,
        measures=names,
        tests=test,
        corrections=correction,
        interval=interval,
        level=level,
        missing=missing,
        system=system,
        query=query,
    )
    pairs = pairs.rename({p: "p"}).with_columns(
        _better=(pl.col("p") < 1 - level) & (pl.col("difference") * sign > 0),
        _worse=(pl.col("p") < 1 - level) & (pl.col("difference") * sign < 0),
    )
    first = _best_first(means[0].filter(measure=names[0]), [])
    letters = first.select("system", letter=pl.Series(_letters(len(first)), dtype=pl.String))
    places = _best_first(means[1].filter(measure=names[0]), slices).select(
        *slices, "system", _place=pl.row_index()
    )
    result = (
        means[1]
        .join(letters, on="system")
        .join(places, on=[*slices, "system"], nulls_equal=True)
        .join(_beaten_letters(pairs, slices, letters, baseline), on=[*slices, "measure", "system"], **_LEFT)
        .join(pl.DataFrame({"measure": names}).with_row_index("_measure"), on="measure")
        .sort("_measure", "_place")
        .with_columns(
            best=(pl.col("_merit") == pl.col("_merit").max().over(*slices, "measure")).fill_null(False),
            beats=pl.col("beats").fill_null(""),
        )
    )
    against = pairs.select(
        *slices,
        "measure",
        "system",
        beaten="_worse",
        difference="difference",
        difference_low="low",
        difference_high="high",
        p="p",
        wins=pl.when(sign > 0).then("wins").otherwise("losses"),
        ties="ties",
        losses=pl.when(sign > 0).then("losses").otherwise("wins"),
    )
    shown = ["measure", "system", "letter", "value", "low", "high", "n", "reason", "best", "beats"]
    if baseline is not None:
        result = result.join(against, on=[*slices, "measure", "system"], maintain_order="left", **_LEFT)
        shown += against.columns[len(slices) + 2 :]
    return named_back(result.select(*slices, *shown).lazy()).collect()


# Null is a slice of its own.
_LEFT: dict[str, Any] = {"how": "left", "nulls_equal": True}


def _best_first(means: pl.DataFrame, slices: Sequence[str]) -> pl.DataFrame:
    of_slices = [False] * len(slices)
    return means.sort(
        *slices,
        "_merit",
        "system",
        descending=[*of_slices, True, False],
        nulls_last=[*of_slices, True, False],
    )


def _beaten_letters(
    pairs: pl.DataFrame, slices: Sequence[str], letters: pl.DataFrame, baseline: object
) -> pl.DataFrame:
    """Letters of the systems that each system is significantly better than."""
    keys = [*slices, "measure"]
    both_ways = pairs.select(*keys, "system", "baseline", "_better")
    if baseline is None:
        turned = pairs.select(*keys, system="baseline", baseline="system", _better="_worse")
        both_ways = pl.concat([both_ways, turned])
    between = "" if len(letters) <= len(ascii_lowercase) else " "
    return (
        both_ways.filter("_better")
        .join(letters.select(baseline="system", letter="letter", _place=pl.row_index()), on="baseline")
        .sort("_place")
        .group_by(*keys, "system", maintain_order=True)
        .agg(pl.col("letter").str.join(between).alias("beats"))
    )


def _letters(number: int) -> list[str]:
    """Labels a to z, then aa, ab and so on."""
    words = chain.from_iterable(product(ascii_lowercase, repeat=length) for length in count(1))
    return ["".join(word) for word in islice(words, number)]


def leaderboard(
    per_query: Frame,
    baseline: object = None,
    *,
    format: Format = "markdown",  # noqa: A002 - as in the command; no other word is as plain
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    interval: BoardInterval = "t",
    test: Test = "t",
    correction: Correction = "holm",
    level: float = 0.95,
    missing: Missing = "error",
    digits: int = 3,
    system: str = "system",
    query: str = "query",
) -> str:
    """Format the table of systems: means with intervals, the best in bold, significance, wins.

    Without a baseline, each system has a letter, and the letters next to a value are the systems that are
    significantly worse. With a baseline, an arrow marks a system that is significantly better (↑) or worse
    (↓), and wins/ties/losses count queries. The note below the table names the test and the correction.

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    baseline
        System to compare the others with; None compares all pairs.
    format
        ``"terminal"`` (rich; bold if the output is a terminal), ``"markdown"``, ``"latex"`` (needs
        booktabs), ``"html"`` (great_tables).
    by
        Columns that slice the table. Each slice has its own rows and number of queries; p values are
        corrected over all slices together. A letter is the same system in every slice.
    measures
        Columns to show; the first one orders the systems. Default: all columns named like a measure.
    interval, level
        Interval of the mean, as in `summarize`; a p value below 1 - level is significant.
    test, correction, missing
        As in `compare`.
    digits
        Decimals of the values.
    system, query
        Names of the columns.

    Returns
    -------
    str
        The table. Names of systems and measures are escaped for the format.

    Raises
    ------
    DataError, ValueError, ModuleNotFoundError
        As in `summarize` and `compare`; if great_tables (``"html"``) or rich (``"terminal"``) is not
        installed.

    Examples
    --------
    >>> import polars_rank as rank
    >>> run, qrels, _, _ = rank.example()
    >>> per_query = rank.evaluate(run, ["nDCG@10"], qrels=qrels)
    >>> print(rank.leaderboard(per_query, "bm25"))
    | system | nDCG@10 | wins/ties/losses |
    | :--- | ---: | ---: |
    | bm25 | **0.674** [0.634, 0.714] |  |
    | word-tfidf | 0.623↓ [0.582, 0.664] | 31/148/82 |
    | char-tfidf | 0.578↓ [0.535, 0.620] | 50/109/102 |
    <BLANKLINE>
    261 queries. Means with 95 % intervals (t); the best in bold.
    ↑ ↓: better or worse than bm25 at 5 %, by paired t test, p values corrected by Holm.
    """
    require_choice("format", format, get_args(Format))
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 0:
        raise ValueError(f"digits must be a whole number from 0, got {digits!r}")
    # Column names of the numbers are not shown, so a slice may have the same name as one of them.
    table, slices = set_apart(as_lazy(per_query, "per_query"), as_list(by), "per_query")
    numbers = standings(
        table,
        baseline,
        by=slices,
        measures=measures,
        interval=interval,
        test=test,
        correction=correction,
        level=level,
        missing=missing,
        system=system,
        query=query,
    )
    means = f"Means with {_percent(level)} intervals ({_INTERVAL_NAMES[interval]}); the best in bold."
    marks = "Letters: better than these systems"
    if baseline is not None:
        marks = f"↑ ↓: better or worse than {_name(baseline)}"
    corrected = "" if test == "tukey" else f", p values corrected by {_CORRECTION_NAMES[correction]}"
    notes = [
        f"{_counted(numbers['n'])}{' per slice' if slices else ''}. {means}",
        f"{marks} at {_percent(1 - level)}, by {_TEST_NAMES[test]}{corrected}.",
        *_missing_notes(numbers, slices, missing),
    ]
    lettered = baseline is None
    header: list[tuple[str, Side]] = [(_name(own_name(name)), "left") for name in slices]
    if slices:
        header.append(("queries", "right"))
    header.append(("system", "left"))
    for name in numbers["measure"].unique(maintain_order=True):
        header.append((_name(name), "right"))
        if not lettered:
            header.append((_COUNTS, "right"))
    rows = [
        _row(list(part.iter_rows(named=True)), slices, digits, lettered=lettered)
        for part in numbers.partition_by(*slices, "system", maintain_order=True)
    ]
    return FORMATS[format](Board(header, rows, notes))


def _counted(sizes: pl.Series) -> str:
    ordered = sizes.unique().sort().to_list()
    counts = " to ".join(str(size) for size in dict.fromkeys([ordered[0], ordered[-1]]))
    return f"{counts} quer{'y' if counts == '1' else 'ies'}"


def _missing_notes(numbers: pl.DataFrame, slices: Sequence[str], missing: Missing) -> list[str]:
    """Notes on missing queries and missing values."""
    notes = []
    sizes = numbers.group_by(*slices, pl.lit(0).alias("_one")).agg(pl.col("n").n_unique())["n"]
    if missing == "drop" and (sizes > 1).any():
        notes.append("Systems lack queries; each pair is compared on the queries that both have.")
    if missing == "zero":
        notes.append("A query that a system lacks counts as 0.")
    reasons = numbers.filter(pl.col("value").is_null())["reason"].unique(maintain_order=True)
    return [*notes, *(f"{_NULL}: {reason}." for reason in reasons)]


def _name(system: Any) -> str:
    """Put a name on one line; control characters would break the table or control the terminal."""
    text = system.hex() if isinstance(system, bytes) else str(system)
    return _CONTROL.sub(" ", text)


def _percent(share: float) -> str:
    return f"{share * 100:.4g} %"


def _row(measures: list[dict[str, Any]], slices: Sequence[str], digits: int, *, lettered: bool) -> list[Cell]:
    """Cells of one system and slice, from its rows of each measure."""
    first = measures[0]
    cells = [Cell("(none)" if first[name] is None else _name(first[name])) for name in slices]
    if slices:
        cells.append(Cell(str(max(row["n"] for row in measures))))
    cells.append(Cell(_name(first["system"]), mark=first["letter"] if lettered else ""))
    for row in measures:
        value, ends = row["value"], (row["low"], row["high"])
        cells.append(
            Cell(
                _NULL if value is None else f"{value:.{digits}f}",
                "" if None in ends else "[" + ", ".join(f"{end:.{digits}f}" for end in ends) + "]",
                row["beats"] if lettered else "↑" * bool(row["beats"]) + "↓" * bool(row["beaten"]),
                row["best"],
            )
        )
        if not lettered:
            counts = (row["wins"], row["ties"], row["losses"])
            cells.append(Cell("" if None in counts else "/".join(map(str, counts))))
    return cells
