"""A comparison as a table for people: in a terminal, in Markdown, in a paper, on a page."""

import io
import re
import sys
from collections.abc import Callable, Sequence
from html import escape
from itertools import chain, count, islice, product
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple, get_args

import polars as pl

from polars_rank.catalogue import parse
from polars_rank.comparison import compare
from polars_rank.errors import needs, require_choice
from polars_rank.evaluation import summarize
from polars_rank.pairing import Correction, Missing, Test, measure_columns
from polars_rank.tables import Frame, as_lazy

Format = Literal["terminal", "markdown", "latex", "html"]
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
_NO_VALUE = "-"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def standings(
    per_query: Frame,
    baseline: object = None,
    *,
    measures: str | Sequence[str] | None = None,
    interval: BoardInterval = "t",
    test: Test = "t",
    correction: Correction = "holm",
    level: float = 0.95,
    missing: Missing = "error",
    system: str = "system",
    query: str = "query",
) -> pl.DataFrame:
    """Rank the systems by each measure, and say which differences are significant: `leaderboard`'s numbers.

    Parameters
    ----------
    per_query
        One row a query and system, one column a measure, as `evaluate` gives it.
    baseline
        The system that the others are compared with; None compares all pairs.
    measures
        Columns to show, the first of which orders the systems; default: all whose names are measures.
    interval, level
        Of the mean, as in `summarize`; a p value below 1 - level is significant.
    test, correction, missing
        As in `compare`. Corrected p values of ``"tukey"`` are its own.
    system, query
        Names of the columns.

    Returns
    -------
    DataFrame
        One row a measure and system, in order of measures, then of the first measure's values, best
        first: `measure`, `system`, `letter` (a for the best), `value`, `low`, `high`, `n`, `reason` (why one
        of these is null), `best` (Boolean: nobody's value is better), `beats` (letters of the systems that it
        is significantly better than, with blanks between them if there are more than 26; a baseline alone if
        there is one). With a baseline also `beaten` (Boolean: significantly worse), `difference`,
        `difference_low`, `difference_high`, `p` (corrected), `wins`, `ties`, `losses`, all null for the
        baseline itself. A win is a better value, where lower is better a lower one.

        With ``missing="zero"`` a query that a system lacks is 0 in its mean too.

    Raises
    ------
    DataError, ValueError, ModuleNotFoundError
        As `summarize` and `compare` do.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.report import standings
    >>> per_query = pl.DataFrame({
    ...     "query": ["q1", "q2", "q3"] * 2,
    ...     "system": ["x"] * 3 + ["y"] * 3,
    ...     "AP": [0.1, 0.2, 0.3, 0.5, 0.6, 0.8],
    ... })
    >>> standings(per_query).select("system", "letter", pl.col("value").round(4), "beats").rows()
    [('y', 'a', 0.6333, 'b'), ('x', 'b', 0.2, '')]
    """
    table = as_lazy(per_query, "per_query").collect()
    names = measure_columns(table.schema, measures, [system, query])
    if missing == "zero":
        table = completed(table, names, zero=True, system=system, query=query)
    summary = summarize(table, by=[system], measures=names, interval=interval, level=level)
    compared = compare(
        table,
        baseline,
        measures=names,
        tests=test,
        corrections=correction,
        interval=interval,
        level=level,
        missing=missing,
        system=system,
        query=query,
    )
    p = "p_tukey" if test == "tukey" else f"p_{test}_{correction.replace('-', '_')}"
    lower = [name for name in names if not higher_is_better(name)]
    sign = pl.when(pl.col("measure").is_in(lower)).then(-1).otherwise(1)
    known = summary.rename({system: "system"}).with_columns(_merit=pl.col("value") * sign)
    order = known.filter(measure=names[0]).sort("_merit", "system", descending=[True, False], nulls_last=True)
    order = order.select(
        "system", letter=pl.Series(_letters(len(order)), dtype=pl.String), _place=pl.row_index()
    )
    pairs = compared.rename({p: "p"}).with_columns(
        _better=(pl.col("p") < 1 - level) & (pl.col("difference") * sign > 0),
        _worse=(pl.col("p") < 1 - level) & (pl.col("difference") * sign < 0),
    )
    both_ways = pairs.select("measure", "system", "baseline", "_better")
    if baseline is None:
        turned = pairs.select("measure", system="baseline", baseline="system", _better="_worse")
        both_ways = pl.concat([both_ways, turned])
    beats = (
        both_ways.filter("_better")
        .join(order.select(baseline="system", letter="letter", _place="_place"), on="baseline")
        .sort("_place")
        .group_by("measure", "system", maintain_order=True)
        .agg(pl.col("letter").str.join("" if len(order) <= len(ascii_lowercase) else " ").alias("beats"))
    )
    table = (
        known.join(order, on="system")
        .join(beats, on=["measure", "system"], how="left")
        .join(pl.DataFrame({"measure": names}).with_row_index("_measure"), on="measure")
        .sort("_measure", "_place")
        .with_columns(
            best=(pl.col("_merit") == pl.col("_merit").max().over("measure")).fill_null(False),
            beats=pl.col("beats").fill_null(""),
        )
    )
    shown = ["measure", "system", "letter", "value", "low", "high", "n", "reason", "best", "beats"]
    if baseline is None:
        return table.select(shown)
    against = pairs.select(
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
    joined = table.select(shown).join(against, on=["measure", "system"], how="left", maintain_order="left")
    return joined.select(*shown, *against.columns[2:])


def higher_is_better(measure: str) -> bool:
    """Tell a measure's direction by its name; a name that the catalogue lacks is taken to be a gain."""
    try:
        return parse(measure).measure.higher_is_better
    except ValueError:
        return True


def completed(
    per_query: pl.DataFrame,
    measures: Sequence[str],
    by: Sequence[str] = (),
    *,
    zero: bool,
    system: str = "system",
    query: str = "query",
) -> pl.DataFrame:
    """Give every system a row for every query: null, or `zero` where another system has a value."""
    place = [*by, query]
    grid = per_query.select(place).unique().join(per_query.select(system).unique(), how="cross")
    full = grid.join(per_query, on=[*place, system], how="left", nulls_equal=True)
    if not zero:
        return full
    some = [pl.col(name).is_not_null().any().over(place) for name in measures]
    return full.with_columns(
        pl.when(known).then(pl.col(name).fill_null(0)).alias(name)
        for name, known in zip(measures, some, strict=True)
    )


def _letters(number: int) -> list[str]:
    """Count a to z, then aa, ab and so on."""
    words = chain.from_iterable(product(ascii_lowercase, repeat=length) for length in count(1))
    return ["".join(word) for word in islice(words, number)]


class _Cell(NamedTuple):
    """What stands in one place of the table."""

    text: str
    interval: str = ""
    mark: str = ""
    bold: bool = False


class _Board(NamedTuple):
    measures: list[str]
    counted: bool
    rows: list[list[_Cell]]
    notes: list[str]

    @property
    def header(self) -> list[str]:
        counts = [_COUNTS] if self.counted else []
        return ["system", *(name for measure in self.measures for name in (_name(measure), *counts))]


def leaderboard(
    per_query: Frame,
    baseline: object = None,
    *,
    format: Format = "markdown",  # noqa: A002 - as in the command; no other word is as plain
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
    """Write the table of systems: means with intervals, the best in bold, what is significant, wins.

    Without a baseline, each system has a letter, and beside a value stand the letters of the systems
    that it is significantly better than. With one, an arrow tells a system that is significantly better (↑)
    or worse (↓) than the baseline, and wins/ties/losses count queries. The note below the table says which
    test and correction it was.

    Parameters
    ----------
    per_query
        One row a query and system, one column a measure, as `evaluate` gives it.
    baseline
        The system that the others are compared with; None compares all pairs.
    format
        ``"terminal"`` (rich; bold where the output is a terminal), ``"markdown"``, ``"latex"`` (needs
        booktabs), ``"html"`` (great_tables).
    measures
        Columns to show, the first of which orders the systems; default: all whose names are measures.
    interval, level
        Of the mean, as in `summarize`; a p value below 1 - level is significant.
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
        As `summarize` and `compare` do; without great_tables for ``"html"``, without rich for
        ``"terminal"``.

    Examples
    --------
    >>> import polars_rank as rank
    >>> from polars_rank.report import leaderboard
    >>> run, qrels, _, _ = rank.example()
    >>> per_query = rank.evaluate(run, ["nDCG@10"], qrels=qrels)
    >>> print(leaderboard(per_query, "bm25"))
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
    numbers = standings(
        per_query,
        baseline,
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
        f"{_counted(numbers['n'])}. {means}",
        f"{marks} at {_percent(1 - level)}, by {_TEST_NAMES[test]}{corrected}.",
        *_shortcomings(numbers, missing),
    ]
    rows = [
        _row(list(part.iter_rows(named=True)), digits, lettered=baseline is None)
        for part in numbers.partition_by("system", maintain_order=True)
    ]
    board = _Board(
        numbers["measure"].unique(maintain_order=True).to_list(), baseline is not None, rows, notes
    )
    return _FORMATS[format](board)


def _counted(sizes: pl.Series) -> str:
    ordered = sizes.unique().sort().to_list()
    counts = " to ".join(str(size) for size in dict.fromkeys([ordered[0], ordered[-1]]))
    return f"{counts} quer{'y' if counts == '1' else 'ies'}"


def _shortcomings(numbers: pl.DataFrame, missing: Missing) -> list[str]:
    """Say what a reader would otherwise take for granted: every value known, the same queries for all."""
    said = []
    if missing == "drop" and numbers["n"].n_unique() > 1:
        said.append("Systems lack queries; two are compared by those that both have.")
    if missing == "zero":
        said.append("A query that a system lacks counts as 0.")
    reasons = numbers.filter(pl.col("value").is_null())["reason"].unique(maintain_order=True)
    return [*said, *(f"{_NO_VALUE}: {reason}." for reason in reasons)]


def _name(system: Any) -> str:
    """Write a name in one line; a control character would break the table, or steer a terminal."""
    text = system.hex() if isinstance(system, bytes) else str(system)
    return _CONTROL.sub(" ", text)


def _percent(share: float) -> str:
    return f"{share * 100:.4g} %"


def _row(measures: list[dict[str, Any]], digits: int, *, lettered: bool) -> list[_Cell]:
    """Make the cells of one system, from its row of each measure."""
    first = measures[0]
    cells = [_Cell(_name(first["system"]), mark=first["letter"] if lettered else "")]
    for row in measures:
        value, ends = row["value"], (row["low"], row["high"])
        cells.append(
            _Cell(
                _NO_VALUE if value is None else f"{value:.{digits}f}",
                "" if None in ends else "[" + ", ".join(f"{end:.{digits}f}" for end in ends) + "]",
                row["beats"] if lettered else "↑" * bool(row["beats"]) + "↓" * bool(row["beaten"]),
                row["best"],
            )
        )
        if not lettered:
            counts = (row["wins"], row["ties"], row["losses"])
            cells.append(_Cell("" if None in counts else "/".join(map(str, counts))))
    return cells


def _markdown(board: _Board) -> str:
    def escaped(text: str) -> str:
        # A backslash keeps what Markdown would read as markup.
        return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", text)

    def cell(c: _Cell) -> str:
        text = escaped(c.text)
        mark = c.mark if c.mark in ("↑", "↓", "") else f"<sup>{c.mark}</sup>"
        return (f"**{text}**" if c.bold else text) + mark + (f" {c.interval}" if c.interval else "")

    lines = [
        [cell(_Cell(name)) for name in board.header],
        [":---", *["---:"] * (len(board.header) - 1)],
        *([cell(c) for c in row] for row in board.rows),
    ]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *map(escaped, board.notes)])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After the end of a row these two would be read as its options.
    **{character: f"{{{character}}}" for character in "[*"},
    "`": r"\textasciigrave{}",
}


def _latex(board: _Board) -> str:
    def text(plain: str) -> str:
        return "".join(_LATEX.get(character, character) for character in plain)

    def cell(c: _Cell) -> str:
        value = rf"\textbf{{{text(c.text)}}}" if c.bold else text(c.text)
        mark = rf"\textsuperscript{{{text(c.mark)}}}" if c.mark else ""
        return value + mark + (rf" {{\scriptsize {c.interval}}}" if c.interval else "")

    lines = [
        " & ".join(map(cell, row)) + r" \\" for row in [[_Cell(name) for name in board.header], *board.rows]
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(board.header) - 1)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in board.notes),
        ]
    )


@needs("tables of HTML", "great-tables", "great_tables")
def _html(board: _Board) -> str:
    import great_tables as gt  # noqa: PLC0415 - an extra; half a second

    def cell(c: _Cell) -> str:
        value = f"<strong>{escape(c.text)}</strong>" if c.bold else escape(c.text)
        interval = f' <small style="white-space: nowrap">{c.interval}</small>' if c.interval else ""
        return value + (f"<sup>{escape(c.mark)}</sup>" if c.mark else "") + interval

    # Columns by their places: two measures have a column of one name each.
    columns = [f"column-{place}" for place in range(len(board.header))]
    frame = pl.DataFrame([[cell(c) for c in row] for row in board.rows], schema=columns, orient="row")
    labels: dict[str, Any] = dict(zip(columns, board.header, strict=True))
    table = gt.GT(frame).fmt_passthrough(columns=columns, escape=False).cols_label(labels)
    table = table.cols_align("right", columns=columns[1:])
    for note in board.notes:
        table = table.tab_source_note(gt.html(escape(note)))
    return table.as_raw_html()


def _terminal(board: _Board) -> str:
    from rich import box  # noqa: PLC0415 - a tenth of a second
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    # As Text, since a name may look like markup.
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(board.header):
        grid.add_column(Text(name), justify="right" if place else "left", overflow="fold")
    widest = [max(len(row[place].mark) for row in board.rows) for place in range(len(board.header))]
    for row in board.rows:
        grid.add_row(
            *(
                Text.assemble(
                    (c.text, "bold" if c.bold else ""),
                    f" {c.mark:{width}}" if width else "",
                    f" {c.interval}".rstrip(),
                )
                for c, width in zip(row, widest, strict=True)
            )
        )
    seen = sys.stdout.isatty()
    out = io.StringIO()
    Console(file=out, width=None if seen else 200, force_terminal=seen).print(grid)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join([*filter(None, lines), "", *board.notes])


_FORMATS: dict[Format, Callable[[_Board], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
}
