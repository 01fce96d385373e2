"""The command ``polars-rank``: files in, tables and runs out."""

import io
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Annotated, Any, Literal, get_args

import polars as pl
from cyclopts import App, CycloptsError, Parameter

import polars_rank as rank
from polars_rank.command.arguments import (
    JUDGING,
    READING,
    Fields,
    Judging,
    Output,
    Reading,
    Switch,
    columns_of,
    in_shell,
    keys_of,
    weights_of,
)
from polars_rank.command.inputs import example_tables, measures_named, read_tables
from polars_rank.command.output import (
    close_streams,
    keep_inputs,
    open_streams,
    output_format,
    print_bytes,
    progress,
    put,
    say,
    warnings_as_notes,
    write,
)
from polars_rank.command.printing import TextFormat
from polars_rank.command.trec_eval.app import USAGE as TREC_EVAL_USAGE
from polars_rank.command.trec_eval.app import main as as_trec_eval
from polars_rank.command.warnings import (
    WATCHED,
    graded,
    number_notes,
    query_notes,
    run_facts,
    strangers,
    unjudged_note,
    valueless_note,
)
from polars_rank.comparison.pairs import Missing
from polars_rank.core.frames import refuse_names
from polars_rank.core.interrupts import interrupts_end_quietly, interrupts_raise
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.files.detection import Format
from polars_rank.files.reading import writable_run, write_rows
from polars_rank.files.run_files import loaded, read_runs
from polars_rank.measures.catalogue import parse, programs
from polars_rank.measures.conventions import convention_of
from polars_rank.sql import init_text

CompareFormat = Literal["terminal", "markdown", "latex", "html", "csv", "json"]
DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")

app = App(
    name="polars-rank",
    help="Score, check and fuse rankings. Results go to standard output, notes and errors to standard error.",
    help_format="markdown",
    help_epilogue="Exit codes: 0; 1 if the data is at fault; 2 if the command is.",
    version=rank.__version__,
    default_parameter=Parameter(negative=()),
)


@app.command(usage="Usage: polars-rank evaluate QRELS RUN... [OPTIONS]")
def evaluate(
    qrels: str | None = None,
    /,
    *runs: str,
    measure: Annotated[list[str] | None, Parameter(name=["--measure", "-m"])] = None,
    per_query: Switch = False,
    by: list[str] | None = None,
    example: Switch = False,
    convention: str | None = None,
    format: TextFormat | None = None,  # noqa: A002 - no other word is as plain
    output: Output = None,
    judging: Judging = JUDGING,
    reading: Reading = READING,
) -> None:
    """Score runs against judgements: a row a system, a column a measure.

    Files may be TREC text, tsv, CSV, JSON lines or Parquet, told by their content, gzipped or not. A system
    is called by its tag, or by its file where it has none or files share one.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        What systems returned.
    measure
        A measure, such as nDCG@10, map or "AP(rel=2)@100"; may be repeated. `polars-rank list` shows all.
        Default: nDCG@10, AP, RR, P@10, R@100.
    per_query
        Give a row a system and query instead of means.
    by
        Column of the run that describes the query, such as locale: a row for each value; may be repeated.
    example
        Take the bundled collection; no files are needed. --by kind and --by length slice it.
    convention
        A program, such as trec_eval-9, ir_measures, ranx or beir, whose ways are the defaults; it also
        decides what an ambiguous name means.
    format
        How to print: table (default) and markdown are rounded, csv and json hold every digit.
    output
        File to write, instead of printing; .csv, .json, .md and .txt tell the format.
    """
    keep_inputs([output], [qrels, *runs])
    shown = output_format(format, output, get_args(TextFormat))
    names = measures_named(measure or DEFAULT_MEASURES, convention)
    grades, files = example_tables(qrels) if example else read_tables(qrels, runs, reading)
    slices = list(dict.fromkeys(by or []))
    for name in {"item", "score", "rank", "relevance"}.intersection(slices):
        raise ValueError(f"by={name!r} describes no query, and can't slice the means")
    refuse_names("by", slices, ["queries"])
    options = {**judging.options(), "by": slices, "convention": convention}
    options["attributes"] = [name for name in slices if name not in ("query", *options["keys"])]
    wanted = list(dict.fromkeys([*names, *WATCHED]))
    said, facts, parts = [], [], []
    for file in files:
        with _naming(file.path, among=len(files)), progress(file.path):
            run: Any = loaded(file.rows)
            facts.append(run_facts(run, grades, options))
            said += strangers(facts[-1], run, grades, allow_no_match=judging.allow_no_match)
            parts.append(rank.evaluate(run, wanted, qrels=grades, **options).lazy().collect())
    groups = list(dict.fromkeys(["system", *slices]))
    ranking = list(dict.fromkeys(["query", *options["keys"], *slices]))
    scores = pl.concat(parts, how="vertical_relaxed").sort("query", *options["keys"])
    known, judged = pl.concat(facts).sort("system"), graded(grades).collect()["query"].n_unique()
    queries = judging.queries or convention_of(convention, programs()).judging.get("queries", "qrels")
    said += query_notes(known, judged, queries) + number_notes(known) + unjudged_note(scores)
    scores = scores.select(*ranking, *names)
    summary = rank.summarize(scores, by=groups, measures=names, convention=convention)
    say(said + valueless_note(summary))
    table = scores if per_query else _wide(summary, groups, names)
    put(_whole_counts(table, names, convention), shown, output)


@app.command(usage="Usage: polars-rank fuse RUN RUN... [OPTIONS]")
def fuse(
    *runs: str,
    output: Output = None,
    method: str = "rrf",
    k: Annotated[float, Parameter(name=["--k", "-k"])] = 60,
    weights: Fields = None,
    normalize: str | None = None,
    order_by: OrderBy | None = None,
    distances: Switch = False,
    ties: ItemTies = "item-descending",
    rank_base: Literal[0, 1] = 1,
    duplicates: Literal["first", "error"] = "first",
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    columns: Fields = None,
    comments: Switch = False,
) -> None:
    """Fuse runs into one, query by query.

    Equal fused scores stand in the order in which items first come. The ranks of the run that is written
    keep it: evaluate it with --order-by rank.

    Parameters
    ----------
    runs
        What systems returned; a file may hold several.
    output
        Run to write, instead of printing TREC text. Its name tells the format: .csv, .tsv, .jsonl, .parquet,
        else TREC text; .gz packs it.
    method
        rrf, isr, borda, condorcet, comb_sum, comb_mnz, dbsf and more, as in help(polars_rank.fuse).
    k
        What rrf adds to each rank.
    weights
        A number for each system, in their order (2,1) or by name (bm25=2,dense=1).
    normalize
        One scale for the scores before they are added: min_max, max, sum, zscore, rank, borda and more.
    order_by
        score or rank; default: the score if there is one.
    distances
        A low score is good.
    ties
        Order of equal scores within a run.
    rank_base
        0 for ranks that count from 0.
    duplicates
        An item that a system returned twice: first counts its best rank; or error.
    format
        Overrules the name.
    columns
        The fields of a file without a header (query,item,score), or what its header calls them
        (query=topic,item=url).
    comments
        Pass over lines that begin with #.
    """
    keep_inputs([output], runs)
    systems = {
        system: file.rows.filter(pl.col("system").eq_missing(pl.lit(system)))
        for file in read_runs(runs, columns=columns_of(columns), comments=comments)
        for system in file.systems
    }
    if len(systems) < 2:
        raise ValueError(f"fuse takes two runs or more, got {len(systems)}")
    with warnings_as_notes():
        fused = rank.fuse(
            systems,
            method,
            k=k,
            weights=weights_of(weights),
            normalize=normalize,
            order_by=order_by,
            descending=not distances,
            ties=ties,
            rank_base=rank_base,
            duplicates=duplicates,
        )
        # A lazy run is fused, and warned of, as it is written.
        if output is not None:
            rank.write_run(fused, output, format=format, system=method)
            return
        written, chosen = io.BytesIO(), format or "trec"
        write_rows(writable_run(fused, chosen, method), written, chosen)
        print_bytes(written.getvalue())


@app.command(usage="Usage: polars-rank check QRELS RUN... [OPTIONS]")
def check(
    qrels: str,
    /,
    *runs: str,
    k: Annotated[int, Parameter(name=["--k", "-k"])] = 10,
    min_relevance: float = 1,
    max_relevance: float = 4,
    distances: Switch = False,
    keys: list[str] | None = None,
    format: TextFormat | None = None,  # noqa: A002 - no other word is as plain
    output: Output = None,
    reading: Reading = READING,
) -> None:
    """Look for what is legal in runs and qrels but seldom meant: a row a run and finding.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        Runs to hold against them.
    k
        Cutoff that ties and unjudged items are looked for at.
    min_relevance
        The least grade that is relevant.
    max_relevance
        The highest grade that is expected.
    distances
        A low score is good.
    keys
        Column, such as day, that tells rankings of a query apart, beside the system; may be repeated.
    format
        How to print: table (default), csv, json or markdown.
    output
        File to write, instead of printing; .csv, .json, .md and .txt tell the format.
    """
    keep_inputs([output], [qrels, *runs])
    shown = output_format(format, output, get_args(TextFormat))
    grades, files = read_tables(qrels, runs, reading, same_ids=False)
    found = pl.concat(
        rank.check(
            file.rows,
            grades,
            keys=keys_of(keys),
            k=k,
            min_relevance=min_relevance,
            max_relevance=max_relevance,
            descending=not distances,
        )
        .select(pl.lit(file.path).alias("run"), pl.all())
        .collect()
        for file in files
    )
    if found.is_empty():
        say(["nothing was found"])
    put(found, shown, output)


@app.command(name="compare", usage="Usage: polars-rank compare QRELS RUN RUN... [OPTIONS]")
def compare_runs(
    qrels: str | None = None,
    /,
    *runs: str,
    baseline: str | None = None,
    measure: Annotated[list[str] | None, Parameter(name=["--measure", "-m"])] = None,
    by: list[str] | None = None,
    html: str | None = None,
    query_texts: str | None = None,
    item_texts: str | None = None,
    example: Switch = False,
    format: CompareFormat | None = None,  # noqa: A002 - as in the other commands
    output: Output = None,
    judging: Judging = JUDGING,
    reading: Reading = READING,
) -> None:
    """Compare systems query by query: means, intervals, what is significant, wins; a page to look into.

    Files and names are as for `polars-rank evaluate`. The test is the paired t test, corrected by Holm, and
    needs SciPy. With --queries both or run, two systems are compared by the queries that both have.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        What systems returned.
    baseline
        System that the others are compared with. Default: in the table all pairs, on the page the best one.
    measure
        A measure, such as nDCG@10; may be repeated, the first orders the systems. Default: nDCG@10, AP, RR.
    by
        Column of the query texts, or of the runs, that describes the query: a second table has its slices,
        and the page picks them; may be repeated.
    html
        File to write a page to: one file that opens without network.
    query_texts
        File of one row a query, with its id, text and other columns, for --by and the page: CSV, tsv, JSON
        lines or Parquet, told by its name.
    item_texts
        The same of items.
    example
        Take the bundled collection; no files are needed. --by kind and --by length slice it.
    format
        How to print: terminal (default), markdown, latex and html are rounded; csv and json hold every digit,
        a row a measure and system, with --by for each slice alone.
    output
        File to write the table, instead of printing; .csv, .json, .md, .tex and .html tell the format.
    """
    from polars_rank.command.compared_files import judged_files, read_descriptions  # noqa: PLC0415 - for this one alone
    from polars_rank.reporting.leaderboards import leaderboard, standings  # noqa: PLC0415
    from polars_rank.reporting.page import page  # noqa: PLC0415

    keep_inputs([output, html], [qrels, *runs, query_texts, item_texts])
    shown = output_format(format, output, get_args(CompareFormat))
    names = measures_named(measure or ("nDCG@10", "AP", "RR"), None)
    grades, files = example_tables(qrels) if example else read_tables(qrels, runs, reading)
    if judging.keys:
        raise ValueError(
            "compare pairs systems query by query and takes no --keys; compare one day (or the like) at a "
            "time, or slice by what describes queries: --by"
        )
    texts, items = (
        read_descriptions(path, key, grades) if path else None
        for key, path in (("query", query_texts), ("item", item_texts))
    )
    if example:
        texts, items = rank.example().queries, rank.example().items
    slices = list(dict.fromkeys(by or []))
    judged, said = judged_files(
        files, grades, slices, texts, judging.options(), allow_no_match=judging.allow_no_match
    )
    say(said)
    per_query = rank.evaluate(judged, names, by=slices)
    missing: Missing = "drop" if judging.queries in ("both", "run") else "error"
    if html is not None:
        write(page(judged, names, baseline, by=slices, queries=texts, items=items, missing=missing), html)
    if shown in ("csv", "json"):
        put(standings(per_query, baseline, by=slices, measures=names, missing=missing), shown, output)
        return
    # A file is plain, whatever standard output is.
    with nullcontext() if output is None else redirect_stdout(io.StringIO()):
        tables = [
            leaderboard(per_query, baseline, by=part, measures=names, format=shown, missing=missing)
            for part in ([[], slices] if slices else [[]])
        ]
    write("\n\n".join(tables) + "\n", output)


@app.command(name="list")
def list_measures(
    *,
    format: TextFormat | None = None,  # noqa: A002 - no other word is as plain
    output: Output = None,
) -> None:
    """List the measures, with their options, ranges and names elsewhere.

    Parameters
    ----------
    format
        How to print: table (default), csv, json or markdown.
    output
        File to write, instead of printing; .csv, .json, .md and .txt tell the format.
    """
    rows = [
        {
            "measure": measure.name,
            "summary": (measure.function.__doc__ or "").partition("\n")[0],
            "range": " to ".join(f"{bound:g}" for bound in measure.bounds),
            "over queries": measure.aggregate,
            "options": ", ".join(f"{name}={default}" for name, default in measure.options.items()),
            "elsewhere": "; ".join(
                f"{program}: {', '.join(names)}" for program, names in measure.names.items()
            ),
        }
        for measure in rank.MEASURES.values()
    ]
    put(pl.DataFrame(rows), output_format(format, output, get_args(TextFormat)), output)


@app.command
def sql(*measures: str, convention: str | None = None, output: Output = None) -> None:
    """Print the macros, for duckdb -init; with measures, print their macro calls instead.

    Parameters
    ----------
    measures
        Names such as nDCG@10.
    convention
        A program, such as ranx, that decides what an ambiguous name means.
    output
        File to write, instead of printing.
    """
    calls = [rank.to_sql(name, convention=convention) for name in measures]
    write("".join(f"{call}\n" for call in calls) or init_text(), output)


@app.command(usage=TREC_EVAL_USAGE, version_flags=[])
def trec_eval(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """Print what trec_eval prints, byte for byte.

    Parameters
    ----------
    arguments
        The options above, in any order, and the two files.
    """
    code = as_trec_eval(arguments)
    if code:
        sys.exit(code)


# Results


def _wide(summary: pl.DataFrame, groups: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Lay out one row a group, with its number of rankings and a column a measure."""
    queries = summary.group_by(groups).agg(queries=(pl.col("n") + pl.col("missing")).max())
    values = summary.pivot(on="measure", on_columns=list(names), index=list(groups), values="value")
    return queries.join(values, on=groups, nulls_equal=True).select(*groups, "queries", *names).sort(groups)


def _whole_counts(table: pl.DataFrame, names: Sequence[str], convention: str | None) -> pl.DataFrame:
    counts = [name for name in names if parse(name, convention=convention).measure.aggregate == "sum"]
    whole = [name for name in counts if (table[name] % 1 == 0).all()]
    return table.with_columns(pl.col(whole).cast(pl.Int64))


@contextmanager
def _naming(path: str, *, among: int) -> Iterator[None]:
    """Say which of several runs is at fault."""
    try:
        yield
    except rank.DataError as error:
        raise rank.DataError(f"{path}: {error}" if among > 1 else str(error)) from error


# Errors

# What a user can mend, a package that is not installed among them; anything else is our fault, told in full.
_TOLD = (CycloptsError, pl.exceptions.PolarsError, OSError, ValueError, TypeError, ModuleNotFoundError)


def _fail(error: Exception) -> int:
    """Say what is wrong in one line, and give the exit code."""
    wrong_use = not isinstance(error, rank.DataError | pl.exceptions.PolarsError | OSError)
    message = str(error)
    if isinstance(error, CycloptsError):
        message += " See polars-rank --help"
    elif isinstance(error, OSError):
        wrong_use = isinstance(error, FileNotFoundError | IsADirectoryError)
        if error.filename and error.strerror:
            message = f"{error.filename}: {error.strerror}"
    else:
        message = in_shell(message)
    # What Polars adds below is the plan that the message came from.
    say([message.strip().splitlines()[0]], kind="")
    return 2 if wrong_use else 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, and exit: 0; 2 for wrong use; 1 for bad data."""
    code = 0
    # The commands say so themselves, by the name of the file.
    warnings.simplefilter("ignore", rank.NoMatchWarning)
    try:
        interrupts_raise()
        open_streams()
        given = sys.argv[1:] if arguments is None else arguments
        app(given, exit_on_error=False, print_error=False, result_action="return_none")
        print_bytes(b"")
    except BrokenPipeError:
        # Nobody reads on, as in `| head`.
        pass
    except KeyboardInterrupt:
        code = 130
    except _TOLD as error:
        code = _fail(error)
    interrupts_end_quietly()
    close_streams()
    sys.exit(code)
