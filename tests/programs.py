"""What other programs call a measure, and how far their values are ours.

`comparison` reads a program's name for a measure: how its ranking is made, which call of ours it is, and
what a difference of conventions does to the number. What can't be compared is told why.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import duckdb
import polars as pl
from engines import Call, as_expression, as_literal, as_macro

from polars_rank.judging.judged_table import judge
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.names import parse
from polars_rank.sql import install

# How a program makes its ranking: the arguments of judge.
RANKINGS: dict[str, Mapping[str, Any]] = {
    "float32": {"score_dtype": "float32"},
    "float32, judged only": {"score_dtype": "float32", "judged_only": True},
    "float32, top 100": {"score_dtype": "float32", "depth": 100},
    "float64": {},
    "float64, judged only": {"judged_only": True},
    "ascending": {"ties": "item-ascending"},
}
# How a program sees a grade: in Polars and in SQL.
GRADES = {
    "as given": (pl.col("relevance"), "relevance"),
    "negative is 0": (pl.col("relevance").clip(0), "CASE WHEN relevance < 0 THEN 0 ELSE relevance END"),
    "below 2 is 0": (
        pl.when(pl.col("relevance") >= 2).then("relevance").otherwise(0),
        "CASE WHEN relevance >= 2 THEN relevance ELSE 0 END",
    ),
}
GROUP = ["system", "query"]

IN_THE_DROP_IN_ALONE = re.compile(r"G|binG|R?ndcg_rel|Rndcg|yaap|relstring_\d+|runid|gm_\w+|num_q")


class Comparison(NamedTuple):
    call: Call
    ranking: str = "float32"
    grades: str = "as given"
    tolerance: float = 1e-12


def comparison(program: str, measure: str, options: str = "") -> Comparison | str:
    """Give the call that a program's measure is, or the reason why it can't be compared."""
    reading = {
        "pytrec_eval": _pytrec_eval,
        "trec_eval-9": lambda text: _trec_eval(text, options, "float32"),
        "trec_eval-10": lambda text: _trec_eval(text, options, "float64"),
        "judged": lambda text: Comparison(_call(text), "ascending", "negative is 0"),
        "compat": lambda text: Comparison(_call(text), "ascending"),
        "accuracy": lambda text: Comparison(_call(text), "float64"),
        "msmarco": lambda text: Comparison(_call(text), "ascending"),
        "gdeval": lambda text: Comparison(_call(text), "float64", tolerance=5.1e-6),
        "formula": _formula,
        "ranx_native": _ranx,
        "cwl_eval": _cwl_eval,
        "trectools": _trectools,
    }
    if program.startswith("trec_eval") and IN_THE_DROP_IN_ALONE.fullmatch(measure):
        return "the drop-in alone has it"
    return reading[program](measure)


def _call(text: str, program: str = "ir_measures") -> Call:
    measure, options, *_ = parse(text, convention=program)
    return Call(measure.name, options)


def _pytrec_eval(text: str) -> Comparison:
    if counted := re.fullmatch(r"NumRet\(rel=(\d)\)", text):
        return Comparison(Call("num_relevant_returned", {"min_relevance": int(counted[1])}))
    judged_only = parse(text, convention="ir_measures").judged_only
    return Comparison(_call(text), "float32, judged only" if judged_only else "float32")


def _trec_eval(text: str, options: str, scores: str) -> Comparison:
    name, given, *_ = parse(text, convention="trec_eval")
    if scores == "float64" and "rounding" in name.options:
        given["rounding"] = "nearest"
    if options == "-l 2" and "min_relevance" in name.options:
        given["min_relevance"] = 2
    rows = {"-J": ", judged only", "-M 100": ", top 100"}.get(options, "")
    return Comparison(Call(name.name, given), scores + rows)


def _formula(text: str) -> Comparison:
    k, highest = re.fullmatch(r"ERR@(\d+)\[max=(\d+)\]", text).groups()
    return Comparison(Call("err", {"k": int(k), "max_relevance": int(highest)}), "float64")


def _ranx(text: str) -> Comparison | str:
    grades = "below 2 is 0" if text.endswith("-l2") and re.match("n?dcg|rbp", text) else "as given"
    if persistence := re.match(r"rbp\.(\d+)", text):
        options = {"persistence": float(f"0.{persistence[1]}"), "max_relevance": "unscaled"}
        return Comparison(Call("rbp", options), "float64", grades)
    plain = text.removesuffix("-l2") if grades != "as given" else text
    return Comparison(_call(plain, "ranx"), "float64", grades)


def _cwl_eval(text: str) -> Comparison:
    if text == "AP":
        return Comparison(Call("average_precision", {"denominator": "found"}), "float64")
    return Comparison(_call(text), "float64")


def _trectools(text: str) -> Comparison | str:
    if text.startswith("RBP"):
        call = _call(text)
        return Comparison(Call("rbp", {**call.options, "max_relevance": "unscaled"}), "float64")
    if text.startswith(("Rprec", "Bpref")):
        return "trectools differs from trec_eval for some queries, whose values are the reference"
    return Comparison(_call(text), "float64")


# Rows of a comparison that are left out, each with its reason: program, measure, condition.
ROWS_LEFT_OUT = [
    ("ranx_native", "", pl.col("ties_matter"), "ranx leaves open the order of tied items"),
    (
        "ranx_native",
        "bpref",
        pl.col("value").is_nan(),
        "ranx divides by 0 where nothing is judged non-relevant",
    ),
    (
        "ranx_native",
        "bpref",
        pl.col("lowest_grade") < 0,
        "ranx takes negative grades for judged non-relevant",
    ),
    ("ranx_native", "bpref", pl.col("value") == 0, "ranx has 0 for some queries with relevant items on top"),
    (
        "trec_eval-10",
        "rbp",
        pl.col("measure") == "rbp",
        "trec_eval scales by the least and greatest grade, starting from numbers it never sets",
    ),
    *(
        (program, "", pl.col("value").is_nan(), "trec_eval divides 0 by 0 where nothing judged was returned")
        for program in ("trec_eval-9", "trec_eval-10")
    ),
    ("trectools", "RBP", pl.col("ties_matter"), "trectools leaves tied items in an order of its own"),
    ("trectools", "RBP", pl.col("lowest_grade") < 0, "trectools sums negative grades too"),
    (
        "pytrec_eval",
        "NumRel",
        ~pl.col("in_run"),
        "ir_measures counts 0 where a query is missing from the run",
    ),
    (
        "pytrec_eval",
        "NumQ",
        ~pl.col("in_run"),
        "ir_measures counts 0 where a query is missing from the run",
    ),
    ("compat", "", pl.col("tied"), "the ideal of ir_measures has tied items in the order of the qrels"),
    ("compat", "", pl.col("lowest") < 0, "a score below 0 stands behind missed items in ir_measures' ideal"),
    ("accuracy", "", pl.col("ties_matter"), "ir_measures leaves tied items in the order of the run"),
    (
        "trec_eval-10",
        "rbp_resid",
        pl.col("value") == 0,
        "trec_eval has 0 where all that was returned is judged",
    ),
    ("trectools", "", pl.col("value").is_nan(), "trectools has NaN where nothing is relevant or returned"),
    ("formula", "", pl.col("highest") > pl.col("scale"), "a grade beyond the scale is NaN for us"),
]


def left_out() -> pl.Expr:
    """Give the reason why a row is left out, or null."""
    reason = pl.lit(None, pl.String)
    for program, measure, condition, text in ROWS_LEFT_OUT:
        here = (pl.col("program") == program) & condition
        if measure:
            here &= pl.col("measure").str.starts_with(measure)
        reason = pl.when(here).then(pl.lit(text)).otherwise(reason)
    return reason


def compare(
    run: pl.DataFrame, qrels: pl.DataFrame, values: pl.DataFrame, database: duckdb.DuckDBPyConnection
) -> pl.DataFrame:
    """Set the values of both engines beside those of the programs, one row a value.

    `values` has the columns program, options, measure, system, query, value. Added are the values by
    `polars` and by `sql`, the `tolerance`, and the `reason` why a row is left out.
    """
    names = values.select("program", "options", "measure").unique()
    read = [(*name, comparison(name[0], name[2], name[1])) for name in names.sort(pl.all()).rows()]
    ours = [
        pl.DataFrame(
            schema={
                "system": pl.String,
                "query": pl.String,
                "call": pl.String,
                "polars": pl.Float64,
                "sql": pl.Float64,
            }
        )
    ]
    for ranking, options in RANKINGS.items():
        here = [c for *_, c in read if isinstance(c, Comparison) and c.ranking == ranking]
        asked = {_key(c): c for c in here}
        if asked:
            mine = _by_polars(judge(run, qrels, **options), asked)
            theirs = _by_sql(database, ranking, asked)
            ours.append(mine.join(theirs, on=[*GROUP, "call"], how="full", coalesce=True, validate="1:1"))
    asked = {_key(c): c for *_, c in read if isinstance(c, Comparison) and c.ranking == "float64"}
    told = pl.DataFrame(
        [
            (*name, None, None, c) if isinstance(c, str) else (*name, _key(c), c.tolerance, None)
            for *name, c in read
        ],
        schema={
            "program": pl.String,
            "options": pl.String,
            "measure": pl.String,
            "call": pl.String,
            "tolerance": pl.Float64,
            "no_measure": pl.String,
        },
        orient="row",
    )
    facts = run.group_by(GROUP).agg(
        pl.col("score").is_duplicated().any().alias("tied"), pl.col("score").min().alias("lowest")
    )
    return (
        values.join(told, on=["program", "options", "measure"], validate="m:1")
        .join(pl.concat(ours), on=[*GROUP, "call"], how="left", validate="m:1")
        .join(_where_ties_matter(run, qrels, asked), on=[*GROUP, "call"], how="left", validate="m:1")
        .join(facts, on=GROUP, how="left", validate="m:1")
        .join(
            qrels.group_by("query").agg(
                pl.col("relevance").max().cast(pl.Float64).alias("highest"),
                pl.col("relevance").min().cast(pl.Float64).alias("lowest_grade"),
            ),
            on="query",
            how="left",
        )
        .with_columns(
            pl.col("tied").is_not_null().alias("in_run"),
            pl.col("tied", "ties_matter").fill_null(value=False),
            pl.col("measure").str.extract(r"\[max=(\d+)\]").cast(pl.Int64).alias("scale"),
        )
        .with_columns(pl.coalesce("no_measure", left_out()).alias("reason"))
    )


def _key(c: Comparison) -> str:
    return f"{c.call} of {c.grades} by {c.ranking}"


def _grades_of(c: Comparison, engine: int) -> dict[str, Any]:
    return {"relevance": GRADES[c.grades][engine]} if "relevance" in MEASURES[c.call.name].columns else {}


def _where_ties_matter(
    run: pl.DataFrame, qrels: pl.DataFrame, asked: Mapping[str, Comparison]
) -> pl.DataFrame:
    """Find the values that depend on the order of tied items: the best and the worst order differ."""
    tied = run.filter(pl.col("score").is_duplicated().any().over(GROUP))
    best, worst = (
        _by_polars(judge(tied, qrels, ties=ties, queries="both"), asked) for ties in ("best", "worst")
    )
    both = best.join(worst, on=[*GROUP, "call"], validate="1:1")
    differ = (pl.col("polars") - pl.col("polars_right")).abs() > 1e-12
    return both.filter(differ.fill_null(value=True)).select(*GROUP, "call", ties_matter=pl.lit(value=True))


def _by_polars(judged: pl.DataFrame, asked: Mapping[str, Comparison]) -> pl.DataFrame:
    values = [as_expression(c.call, **_grades_of(c, 0)).alias(key) for key, c in asked.items()]
    wide = judged.group_by(GROUP).agg(values)
    return wide.unpivot(index=GROUP, variable_name="call", value_name="polars")


def _by_sql(
    database: duckdb.DuckDBPyConnection, ranking: str, asked: Mapping[str, Comparison]
) -> pl.DataFrame:
    options = "".join(f", {name} := {as_literal(value)}" for name, value in RANKINGS[ranking].items())
    database.execute(
        f"CREATE OR REPLACE TEMP TABLE judged AS FROM rank.judge('run', 'qrels'{options})"
    ).fetchall()
    values = ", ".join(f'{as_macro(c.call, **_grades_of(c, 1))} AS "{key}"' for key, c in asked.items())
    wide = database.sql(f"SELECT system, query, {values} FROM judged GROUP BY ALL").pl()
    return wide.unpivot(index=GROUP, variable_name="call", value_name="sql")


@contextmanager
def tables(run: pl.DataFrame, qrels: pl.DataFrame) -> Iterable[duckdb.DuckDBPyConnection]:
    """Open a database with the macros and the tables run and qrels."""
    with duckdb.connect() as database:
        install(database)
        for name, frame in {"run": run, "qrels": qrels}.items():
            database.register(f"{name}_frame", frame.to_arrow())
            database.execute(f"CREATE TABLE {name} AS FROM {name}_frame").fetchall()
        yield database


def off(engine: str) -> pl.Expr:
    """Give by how much an engine is off: 0 for equal or both NaN, infinite where one has no number."""
    one, other = pl.col(engine), pl.col("value")
    both_nan = one.is_nan() & other.is_nan()
    return (
        pl.when(both_nan)
        .then(0.0)
        .otherwise((one - other).abs().fill_nan(float("inf")).fill_null(float("inf")))
    )


def report(compared: pl.DataFrame) -> pl.DataFrame:
    """Sum up a comparison, one row a program."""
    return (
        compared.filter(pl.col("reason").is_null())
        .group_by("program")
        .agg(
            pl.len().alias("values"),
            off("polars").max().alias("polars is off by"),
            off("sql").max().alias("sql is off by"),
            pl.col("tolerance").max(),
        )
        .sort("program")
    )


def wrong(compared: pl.DataFrame) -> pl.DataFrame:
    """Give the rows where an engine is off by more than the tolerance."""
    too_far = [off(engine) > pl.col("tolerance") for engine in ("polars", "sql")]
    return compared.filter(pl.col("reason").is_null(), pl.any_horizontal(too_far))


def exceptions(compared: pl.DataFrame) -> Sequence[tuple[str, str, int]]:
    """Give what was left out: program, reason, number of values."""
    named = compared.filter(pl.col("reason").is_not_null())
    return named.group_by("program", "reason").len().sort(pl.all()).rows()
