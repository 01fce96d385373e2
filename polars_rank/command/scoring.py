"""The commands that score runs and check them against judgements: evaluate, check."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, get_args

import polars as pl
from cyclopts import Parameter

import polars_rank as rank
from polars_rank.command.arguments import JUDGING, READING, Judging, Output, Reading, Switch, keys_of
from polars_rank.command.inputs import example_tables, loaded, measures_named, read_tables
from polars_rank.command.output import TextFormat, keep_inputs, output_format, progress, put, say
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
from polars_rank.core.errors import ArgumentError, Setting
from polars_rank.core.frames import refuse_names
from polars_rank.measures.catalogue import programs
from polars_rank.measures.conventions import convention_of
from polars_rank.measures.names import parse

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100")


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
        raise ArgumentError((Setting("by", [name]), " describes no query, and can't slice the means"))
    refuse_names("by", slices, ["queries"])
    options = {**judging.options(), "by": slices, "convention": convention}
    options["attributes"] = [name for name in slices if name not in ("query", *options["keys"])]
    wanted = list(dict.fromkeys([*names, *WATCHED]))
    said, facts, parts = [], [], []
    for file in files:
        with _naming(file.path, among=len(files)), progress(file.path):
            run: Any = loaded(file)
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
        raise (error.within(path) if among > 1 else error) from error
