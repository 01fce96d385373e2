"""The command ``polars-rank``: evaluate, fuse and check runs in files; list measures; print macros."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from cyclopts import App, CycloptsError, Parameter

import polars_rank as rank
from polars_rank import scanning
from polars_rank.formats import replace_file
from polars_rank.judging import Duplicates, Queries
from polars_rank.printing import TextFormat, as_text
from polars_rank.ranking import OrderBy, ScoreType, Ties
from polars_rank.sql import init_text

Measures = Annotated[list[str] | None, Parameter(name=["--measure", "-m"], negative="")]
Output = Annotated[Path | None, Parameter(name=["--output", "-o"])]
Columns = Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)]

DEFAULT = ["nDCG@10", "AP", "RR", "P@10", "R@100"]
NOTED = (
    "query in run only",
    "query in qrels only",
    "queries in common, but no item",
    "score null or NaN",
    "grade null or NaN",
    "no grade reaches min_relevance",
)
ROWS_LOOKED_AT = 5_000_000

app = App(name="polars-rank", help="Evaluate rankings where the data lives.", version=rank.__version__)


@app.command
def evaluate(
    qrels: Path | None = None,
    *runs: Path,
    measure: Measures = None,
    per_query: bool = False,
    format: TextFormat = "table",  # noqa: A002 - no other word is as plain
    output: Output = None,
    example: bool = False,
    order_by: OrderBy | None = None,
    distances: bool = False,
    ties: Ties = "item-descending",
    score_dtype: ScoreType = "float64",
    rank_base: Literal[0, 1] = 1,
    queries: Queries = "qrels",
    duplicates: Duplicates = "error",
    judged_only: bool = False,
    drop_identical: bool = False,
    depth: int | None = None,
    columns: Columns = None,
    comments: bool = False,
    convention: str | None = None,
) -> None:
    """Score runs against judgements: a row a system, or a row a query.

    Parameters
    ----------
    qrels
        Judgements: TREC, BEIR tsv, CSV, JSON lines or Parquet, told by the content.
    runs
        Runs, in the same formats; each is a system.
    measure
        A measure, such as nDCG@10, map or precision@10-l2; may be repeated.
    per_query
        Give a row a query instead of means.
    format
        How to print.
    output
        File to write, instead of printing.
    example
        Take the bundled collection; no files are needed.
    order_by
        score or rank; default: the score if there is one.
    distances
        A low score is good.
    ties
        Order of equal scores; item-descending is trec_eval's.
    score_dtype
        float32 narrows the scores as trec_eval 9 does.
    rank_base
        0 for ranks that count from 0.
    queries
        Which queries count; qrels: every judged one, a missing one scores 0.
    duplicates
        What an item twice in a ranking, or twice judged, does.
    judged_only
        Rank the judged items alone.
    drop_identical
        Leave out items whose id is the query's.
    depth
        Keep the top of each ranking only.
    columns
        Fields of runs without a header: --columns query item rank.
    comments
        Pass over lines that begin with #.
    convention
        A program, such as ranx, that decides ambiguous names.
    """
    judging = {
        "order_by": order_by,
        "descending": not distances,
        "ties": ties,
        "score_dtype": score_dtype,
        "rank_base": rank_base,
        "queries": queries,
        "duplicates": duplicates,
        "judged_only": judged_only,
        "drop_identical": drop_identical,
        "depth": depth,
    }
    measures = measure or DEFAULT
    for name in measures:
        rank.to_sql(name.replace("judged_only=True", ""), convention=convention)
    judgements, systems = _tables(qrels, runs, example, columns, comments)
    scored = []
    for name, run in systems:
        _note(name, run, judgements)
        with _progress(name):
            plan = rank.evaluate(
                run,
                measures,
                qrels=judgements,
                keys=["system"],
                convention=convention,
                **judging,  # type: ignore[arg-type]
            )
            scored.append(plan.collect())
    values = pl.concat(scored).select("system", "query", *measures)
    if not per_query:
        values = _means(values, measures, convention)
    _write(as_text(values, format), output)


@app.command
def fuse(
    *runs: Path,
    method: str = "rrf",
    k: Annotated[float, Parameter(name=["--k", "-k"])] = 60,
    weights: Annotated[list[float] | None, Parameter(negative="", consume_multiple=True)] = None,
    normalize: str | None = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    columns: Columns = None,
    comments: bool = False,
) -> None:
    """Fuse runs into one, and write it as a run; the format is told by the name.

    Parameters
    ----------
    runs
        Two runs or more.
    method
        rrf, comb_sum, borda, ...
    k
        Constant of rrf.
    weights
        One a run, in their order.
    normalize
        Normalisation of the scores: min_max, zscore, ...
    output
        File to write: .parquet, .csv, .jsonl, .tsv, else TREC; .gz packs it.
    columns
        Fields of runs without a header.
    comments
        Pass over lines that begin with #.
    """
    if len(runs) < 2:
        raise ValueError(f"fuse takes two runs or more, got {len(runs)}")
    tables = {str(path): rank.read_run(path, columns=columns, comments=comments) for path in runs}
    fused = rank.fuse(tables, method=method, k=k, weights=weights, normalize=normalize)
    rank.write_run(fused.collect(), output, system=method)


@app.command
def check(
    qrels: Path,
    *runs: Path,
    k: Annotated[int, Parameter(name=["--k", "-k"])] = 10,
    format: TextFormat = "table",  # noqa: A002 - no other word is as plain
    output: Output = None,
    columns: Columns = None,
    comments: bool = False,
) -> None:
    """Look for what is legal in runs and qrels but seldom meant.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        Runs to hold against them.
    k
        Cutoff that ties and unjudged items are looked for at.
    format
        How to print.
    output
        File to write, instead of printing.
    columns
        Fields of runs without a header.
    comments
        Pass over lines that begin with #.
    """
    judgements, systems = _tables(qrels, runs, False, columns, comments)
    found = [
        rank.check(run, judgements, keys=["system"], k=k).collect().with_columns(system=pl.lit(name))
        for name, run in systems
    ]
    listed = pl.concat(found)
    _write(as_text(listed.select("system", "finding", "count", "examples"), format), output)


@app.command(name="list")
def list_measures(format: TextFormat = "table", output: Output = None) -> None:  # noqa: A002
    """List the measures, with their ranges and their names elsewhere.

    Parameters
    ----------
    format
        How to print.
    output
        File to write, instead of printing.
    """
    rows = [
        {
            "measure": measure.name,
            "summary": (measure.function.__doc__ or "").partition("\n")[0],
            "range": f"{measure.bounds[0]:g} to {measure.bounds[1]:g}",
            "over queries": measure.aggregate,
            "elsewhere": "; ".join(
                f"{program}: {', '.join(names)}" for program, names in measure.names.items()
            ),
        }
        for measure in rank.MEASURES.values()
    ]
    _write(as_text(pl.DataFrame(rows), format), output)


@app.command
def sql(*measures: str, output: Output = None) -> None:
    """Print the macros, for ``duckdb -init``; with measures, print their macro calls instead.

    Parameters
    ----------
    measures
        Names such as nDCG@10.
    output
        File to write, instead of printing.
    """
    text = "\n".join(map(rank.to_sql, measures)) + "\n" if measures else init_text()
    _write(text, output)


def _tables(
    qrels: Path | None, runs: Sequence[Path], example: bool, columns: list[str] | None, comments: bool
) -> tuple[pl.LazyFrame, list[tuple[str, pl.LazyFrame]]]:
    if example:
        if qrels is not None:
            raise ValueError("--example takes the bundled collection; leave the files out")
        bundled = rank.example()
        run = bundled.run.lazy()
        names = bundled.run["system"].unique().sort()
        return bundled.qrels.lazy(), [(name, run.filter(system=name)) for name in names]
    if qrels is None or not runs:
        raise ValueError("name the qrels and at least one run, or use --example")
    judgements = rank.read_qrels(qrels, comments=comments)
    return judgements, _named(
        {path: rank.read_run(path, columns=columns, comments=comments) for path in runs}
    )


def _named(runs: dict[Path, pl.LazyFrame]) -> list[tuple[str, pl.LazyFrame]]:
    """Name each file's systems by their tags where these tell all apart, else by the file's name."""
    tags = {
        path: run.select(pl.col("system").unique()).collect()["system"].to_list()
        if "system" in run.collect_schema()
        else [path.stem]
        for path, run in runs.items()
    }
    every = [tag for found in tags.values() for tag in found]
    named = []
    for path, run in runs.items():
        if len(set(every)) == len(every) and "system" in run.collect_schema():
            named += [(str(tag), run.filter(pl.col("system") == tag)) for tag in sorted(tags[path])]
        else:
            name = path.stem if [p.stem for p in runs].count(path.stem) == 1 else str(path)
            named.append((name, run.with_columns(system=pl.lit(name))))
    return named


def _note(name: str, run: pl.LazyFrame, judgements: pl.LazyFrame) -> None:
    """Say on stderr what is skipped or missing; a run too large to look at twice is let be."""
    if run.select(pl.len()).collect().item() > ROWS_LOOKED_AT:
        return
    findings = rank.check(run, judgements, keys=["system"]).collect()
    shown = dict(findings.select("finding", pl.col("examples").list.join(", ")).iter_rows())
    if "no query in common" in shown:
        raise rank.DataError(
            f"{name} and the qrels have no query in common: the run has {shown['query in run only']}, …; "
            f"the qrels {shown['query in qrels only']}, …"
        )
    for finding, count, examples in findings.iter_rows():
        if finding in NOTED:
            print(f"polars-rank: note: {name}: {finding}: {count} ({'; '.join(examples)})", file=sys.stderr)


@contextmanager
def _progress(name: str) -> Iterator[None]:
    """Show how far a long run is, where somebody looks."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second that most calls don't need
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        token = scanning.PROGRESS.set(lambda done, rows: bar.update(task, completed=done, total=rows))
        try:
            yield
        finally:
            scanning.PROGRESS.reset(token)


def _means(values: pl.DataFrame, measures: Sequence[str], convention: str | None) -> pl.DataFrame:
    summary = rank.summarize(values, by=["system"], measures=measures, convention=convention)
    counts = values.group_by("system").agg(pl.len().alias("queries"))
    wide = summary.pivot(on="measure", on_columns=list(measures), index="system", values="value")
    return wide.join(counts, on="system").select("system", "queries", *measures).sort("system")


def _write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with replace_file(output) as path:
        Path(path).write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command: exit 0; 2 for wrong use; 1 for bad data."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except rank.DataError as error:
        _fail(error, 1)
    except (CycloptsError, ValueError, TypeError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, BrokenPipeError):
            # Nobody reads on, as in `| head`; what Python flushes at its end must find an open file.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        _fail(error, 2)
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(error: Exception, code: int) -> None:
    # What Polars adds to a refusal of ours, about the expression it came from, helps nobody.
    told = str(error).partition("\n\nThis error occurred")[0].strip()
    print(f"polars-rank: {told}", file=sys.stderr)
    sys.exit(code)


# Commands
