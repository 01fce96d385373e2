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
    MEASURES_OF_NOTES,
    counts_by_system,
    missing_number_notes,
    missing_value_notes,
    no_match_notes,
    rows_with_grade,
    unjudged_notes,
    unmatched_query_notes,
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
    """Score runs against judgements: one row per system, one column per measure.

    Files may be TREC text, TSV, CSV, JSON lines or Parquet, and text may be gzipped; the content determines
    the format. Systems are named by their tags, or by their files if tags are missing or repeated.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        Runs: the ranked items of one or more systems.
    measure
        Measure such as nDCG@10, map or "AP(rel=2)@100"; may be repeated. `polars-rank list` shows all.
        Default: nDCG@10, AP, RR, P@10, R@100.
    per_query
        Print one row per system and query instead of means.
    by
        Column of the run that describes the query, such as locale: print one row per value; may be repeated.
    example
        Use the bundled collection instead of files. Slice it with --by kind or --by length.
    convention
        Tool whose defaults and measure names to use, such as trec_eval-9, ir_measures, ranx or beir.
    format
        Output format: table (default) and markdown are rounded; csv and json have full precision.
    output
        Output file instead of standard output; .csv, .json, .md and .txt select the format.
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
    wanted = list(dict.fromkeys([*names, *MEASURES_OF_NOTES]))
    said, facts, parts = [], [], []
    for file in files:
        with _naming(file.path, among=len(files)), progress(file.path):
            run: Any = loaded(file)
            facts.append(counts_by_system(run, grades, options))
            said += no_match_notes(facts[-1], run, grades, allow_no_match=judging.allow_no_match)
            parts.append(rank.evaluate(run, wanted, qrels=grades, **options).lazy().collect())
    groups = list(dict.fromkeys(["system", *slices]))
    ranking = list(dict.fromkeys(["query", *options["keys"], *slices]))
    scores = pl.concat(parts, how="vertical_relaxed").sort("query", *options["keys"])
    known, judged = pl.concat(facts).sort("system"), rows_with_grade(grades).collect()["query"].n_unique()
    queries = judging.queries or convention_of(convention, programs()).judging.get("queries", "qrels")
    said += (
        unmatched_query_notes(known, judged, queries) + missing_number_notes(known) + unjudged_notes(scores)
    )
    scores = scores.select(*ranking, *names)
    summary = rank.summarize(scores, by=groups, measures=names, convention=convention)
    say(said + missing_value_notes(summary))
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
    """Report input that is valid, but probably a mistake: one row per run and finding.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        Runs to check.
    k
        Cutoff for the checks of ties and unjudged items.
    min_relevance
        Lowest relevant grade.
    max_relevance
        Highest expected grade.
    distances
        Rank low scores first.
    keys
        Column that separates several rankings of one query and system, such as day; may be repeated.
    format
        Output format: table (default), csv, json or markdown.
    output
        Output file instead of standard output; .csv, .json, .md and .txt select the format.
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
        say(["no problem was found"])
    put(found, shown, output)


def _wide(summary: pl.DataFrame, groups: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Pivot to one row per group, with its number of rankings and one column per measure."""
    queries = summary.group_by(groups).agg(queries=(pl.col("n") + pl.col("missing")).max())
    values = summary.pivot(on="measure", on_columns=list(names), index=list(groups), values="value")
    return queries.join(values, on=groups, nulls_equal=True).select(*groups, "queries", *names).sort(groups)


def _whole_counts(table: pl.DataFrame, names: Sequence[str], convention: str | None) -> pl.DataFrame:
    counts = [name for name in names if parse(name, convention=convention).measure.aggregate == "sum"]
    whole = [name for name in counts if (table[name] % 1 == 0).all()]
    return table.with_columns(pl.col(whole).cast(pl.Int64))


@contextmanager
def _naming(path: str, *, among: int) -> Iterator[None]:
    """Name the run in an error, if there are several."""
    try:
        yield
    except rank.DataError as error:
        raise (error.within(path) if among > 1 else error) from error
