"""``polars-rank trec-eval``: the output of trec_eval 9.0.8 or 10.0, byte for byte.

Measures, their order, the order of queries, number formats and exit codes are trec_eval's: 0; 1 for a wrong
option or measure; 2 for a file that can't be read, or wrong parameters of a measure; 4 for a repeated item;
7 where no query is in both files.

Bugs of trec_eval that are not reproduced:

* ``-m ndcg.1=0.2,2=0.9``: gains that differ by less than 1 compare as equal there, and the ideal comes out
  wrong, 0 even for a perfect ranking.
* Parameters of one of ``dcg``, ``ideal_dcg``, ``ndcg`` are taken by the other two there.
* ``rbp`` compares gains with a range that was never set; here the range is that of the query's grades.
* 10.0 stops at a judged query that the run lacks, unless ``-c`` is given; here it is passed over, as 9 does.
* ``-J`` where nothing judged was returned: precision at recall is 0 here, not a NaN that spoils the mean.
* A query whose grades are all negative: nothing is relevant there, which is no reason to stop or crash.
* Two comment lines or a blank line in the judgements are passed over.
* ``-m 11pt_avg.0.8,0.2``: the order of the points doesn't matter.

* A z-score that the file lacks is -1000000; trec_eval may take that of the next query, or crash.
* Preferences that contradict each other end with exit code 4; trec_eval aborts.

What is refused here, and not there: scores, grades and z-scores that are no numbers (trec_eval takes them
for 0); grades of 2^53 or more; parameters that are infinite or not decimal; cutoffs that would print as one
name; a z-score given twice; ``-l``, ``-M`` and ``-N`` that are no whole number from 0 to 2^63 - 1; comments
in files for version 9; an item twice below the depth of ``-M``. Left out: traces (``-D``).
"""

import re
import sys
from collections.abc import Iterator, Sequence
from getopt import GetoptError, gnu_getopt
from math import exp, inf, log
from typing import NamedTuple

import polars as pl

from polars_rank.command.trec_eval.files import message_of, read_files, read_zscores, standardized
from polars_rank.command.trec_eval.judges import averaged_over_judges, for_one_judge, rankings_of_judges
from polars_rank.command.trec_eval.measures import (
    MOST,
    StopError,
    Wanted,
    refuse_other_files,
    wanted_measures,
)
from polars_rank.command.trec_eval.preferences import preference_values
from polars_rank.command.trec_eval.values import LEAST, Options, ranking_values
from polars_rank.core.errors import DataError
from polars_rank.judging.judged_table import judge
from polars_rank.measures.trec_eval_names import ENTRIES, FORMATS, Format, Kind

USAGE = """\
Usage: polars-rank trec-eval [OPTIONS] QRELS RUN

  -q          print values of each query, too
  -c          average over all judged queries, not over the run's
  -n          no averages
  -l LEVEL    least grade that is relevant (1)
  -J          rank judged items alone
  -M DEPTH    keep the top of each ranking
  -N ITEMS    size of the collection, for utility
  -m MEASURE  a measure, parameters behind a dot: P.5,10;
              or official, all_trec, set, prefs, all_prefs,
              qrels_jg; may be repeated
  -R FORMAT   of QRELS: qrels; qrels_jg (the second field is the
              judge); prefs (query, judge, subgroup, item, level);
              qrels_prefs (qrels read as preferences)
  -Z FILE     print z-scores; lines: query, measure, mean, deviation
  --version   9 for trec_eval 9.0.8, 10 for 10.0 (10)

RUN may be -, for standard input. Exit codes: 0; 1 for a wrong
option; 2 for a bad file; 4 for an item twice or a measure that
FORMAT lacks; 7 for no queries; 255 for a bad file of -Z.
"""

MISSING = "ceci_nest_pas_un_docno"
"""The item that 10.0 adds for a missing query under ``-c``."""


class Request(NamedTuple):
    """The parsed command line."""

    qrels: str
    run: str
    measures: Sequence[str] = ()
    queries: bool = False
    complete: bool = False
    summary: bool = True
    judged_only: bool = False
    depth: int | None = None
    format: Format = "qrels"
    zscores: str | None = None
    options: Options = Options()


class Result(NamedTuple):
    """The values to print: one row per query, and the totals."""

    wanted: Sequence[Wanted]
    per_query: pl.DataFrame
    whole: dict[str, float]
    tag: str


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    try:
        request = read_arguments(arguments)
        if request is None:
            sys.stdout.write(USAGE)
        else:
            sys.stdout.writelines(printed(request, evaluated(request)))
    except StopError as stop:
        print(f"trec-eval: {stop}", file=sys.stderr)
        return stop.code
    return 0


def read_arguments(arguments: Sequence[str]) -> Request | None:
    """Parse the command line as getopt does: ``-qc``, ``-M100`` and options after the files."""
    long = [
        "help", "version=", "query_eval_wanted", "measure=", "complete_rel_info_wanted", "level_for_rel=",
        "nosummary", "Debug_level=", "Judged_docs_only", "Number_docs_in_coll=",
        "Max_retrieved_per_topic=", "Rel_info_format=", "Results_format=", "Zscore=",
    ]  # fmt: skip
    try:
        given, files = gnu_getopt(list(arguments), "hqm:cl:nD:JN:M:R:T:oZ:", long)
    except GetoptError as error:
        raise StopError(1, f"{error}\n{USAGE}") from None
    short = {f"--{name.rstrip('=')}": f"-{name[0]}" for name in long if name != "version="}
    options: dict[str, str] = {}
    measures = []
    for option, value in given:
        name = short.get(option, option)
        if name == "-m":
            measures.append(value)
        else:
            options[name] = value
    if "-h" in options:
        return None
    for option, only in {"-T": "trec_results", "-D": "0", "-o": None}.items():
        if option in options and options[option] != only:
            raise StopError(2, f"{option} {options[option]} is not understood; trec_eval itself has it")
    if len(files) != 2:
        raise StopError(1, f"expected two files, got {len(files)}\n{USAGE}")
    version = options.get("--version", "10")
    if version not in ("9", "10"):
        raise StopError(1, f"--version must be 9 or 10, got {version!r}")
    level = _whole(options, "-l")
    chosen = options.get("-R", "qrels")
    for format_name in FORMATS:
        if format_name == chosen:
            break
    else:
        raise StopError(2, f"-R must be one of {', '.join(FORMATS)}, got {chosen[:100]!r}")
    return Request(
        files[0],
        files[1],
        measures=measures or ["official"],
        queries="-q" in options,
        complete="-c" in options,
        summary="-n" not in options,
        judged_only="-J" in options,
        depth=_whole(options, "-M"),
        format=format_name,
        zscores=options.get("-Z"),
        options=Options(
            9 if version == "9" else 10,
            level=1 if level is None else level,
            collection=_whole(options, "-N") or 0,
        ),
    )


def _whole(options: dict[str, str], option: str) -> int | None:
    given = options.get(option)
    if given is None:
        return None
    if not re.fullmatch(r"[ \t]*\+?0*[0-9]{1,19}[ \t]*", given) or int(given) > MOST:
        raise StopError(1, f"{option} takes a whole number from 0 to {MOST}, got {given[:100]!r}")
    return int(given)


def evaluated(request: Request) -> Result:
    """Read the files and score them."""
    options, complete = request.options, request.complete
    wanted = wanted_measures(request.measures, options.version)
    qrels, run, tag = read_files(request.qrels, request.run, request.format, options.version)
    zscores = None if request.zscores is None else read_zscores(request.zscores)
    refuse_other_files(wanted, request.format)
    judged_queries = qrels["query"].unique()
    run = run.filter(pl.col("query").is_in(judged_queries.implode()))
    missing = judged_queries.filter(~judged_queries.is_in(run["query"].implode()))
    if complete and options.version == 10:
        run = pl.concat([run, pl.DataFrame({"query": missing, "item": MISSING, "score": 1.0})])
    if run.is_empty():
        raise StopError(7, "no query has both results and judgements")
    present = qrels.filter(pl.col("query").is_in(run["query"].unique().implode()))
    try:
        per_query = _scored(run, present, wanted, request)
    except DataError as error:
        raise StopError(4, message_of(DataError(error.problem, remedy="remove all but one"))) from None
    if complete and options.version == 10:
        per_query = _forgiven(per_query, missing)
    if zscores is not None:
        per_query = standardized(per_query, zscores)
    whole = _whole_values(wanted, per_query, judged_queries.len() if complete else per_query.height)
    if complete and "num_rel" in whole:
        whole["num_rel"] = float((qrels["relevance"] > 0).sum())
    return Result(wanted, per_query, whole, tag)


def _scored(
    run: pl.DataFrame, judgements: pl.DataFrame, wanted: Sequence[Wanted], request: Request
) -> pl.DataFrame:
    options = request.options
    if request.format in ("prefs", "qrels_prefs"):
        return preference_values(run, judgements, wanted, request.depth, options.version)
    if request.format == "qrels_jg":
        run, judgements, judges = rankings_of_judges(run, judgements)
        per_judge = _ranked_values(run, judgements, for_one_judge(wanted), request)
        return averaged_over_judges(per_judge, judges)
    return _ranked_values(run, judgements, wanted, request)


def _ranked_values(
    run: pl.DataFrame, judgements: pl.DataFrame, wanted: Sequence[Wanted], request: Request
) -> pl.DataFrame:
    judged = judge(
        run.clear() if request.depth == 0 else run,
        judgements,
        queries="qrels",
        score_dtype="float32" if request.options.version == 9 else "float64",
        depth=request.depth or None,
        judged_only=request.judged_only,
    )
    return ranking_values(judged, wanted, request.options)


def _forgiven(per_query: pl.DataFrame, missing: pl.Series) -> pl.DataFrame:
    """Reset the values of missing queries that their added item changed, as 10.0 does: plain names only."""
    lost = pl.col("query").is_in(missing.implode())
    plain = [
        pl.when(lost).then(pl.lit("" if name == "relstring" else 0)).otherwise(name).cast(dtype).alias(name)
        for name, dtype in per_query.schema.items()
        if name in ("num_ret", "utility", "relstring", "rbp_resid") or name.startswith("unj")
    ]
    return per_query.with_columns(plain)


def _whole_values(wanted: Sequence[Wanted], per_query: pl.DataFrame, queries: int) -> dict[str, float]:
    """Sum or average over queries in the order of trec_eval."""
    whole = {}
    for each in wanted:
        kind = ENTRIES[each.measure].kind
        for name in each.names:
            if each.measure == "num_q":
                whole[name] = float(queries)
            elif kind != "text":
                total = float(per_query[name].cast(pl.Float64).cum_sum()[-1])
                if kind == "geometric":
                    lacking = queries - per_query.height
                    total = _exp((total + lacking * log(LEAST)) / queries)
                elif kind == "mean":
                    total /= queries
                whole[name] = total
    return whole


def _exp(power: float) -> float:
    try:
        return exp(power)
    except OverflowError:
        return inf


def printed(request: Request, result: Result) -> Iterator[str]:
    """Output lines: each query, measure by measure, then the totals."""
    zscored = request.zscores is not None
    formats = [
        (name, _format(name, ENTRIES[each.measure].kind, zscored))
        for each in result.wanted
        if each.measure not in ("runid", "num_q") and ENTRIES[each.measure].kind != "geometric"
        for name in each.names
    ]
    if request.queries and formats:
        line = "".join(form for _, form in formats)
        rows = result.per_query.select(
            column
            for name, _ in formats
            for column in (pl.col("query").alias(f"query of {name}"), pl.col(name))
        )
        for row in rows.iter_rows():
            yield line % row
    if not request.summary:
        return
    for each in result.wanted:
        kind = ENTRIES[each.measure].kind
        for name in each.names:
            if each.measure == "runid":
                yield f"{name:<22}\tall\t{result.tag}\n"
            elif kind != "text":
                yield _format(name, kind, zscored) % ("all", result.whole[name])


def _format(name: str, kind: Kind, zscored: bool) -> str:
    label = f"{name:<22}".replace("%", "%%")
    if kind == "text":
        return f"{label}\t%s\t'%s'\n"
    return f"{'Z' if zscored else ''}{label}\t%s\t{'%.0f' if kind == 'count' and not zscored else '%6.4f'}\n"
