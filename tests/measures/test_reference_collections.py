"""Every value of the reference collections that is one of our measures, in both engines."""

import os
from pathlib import Path

import polars as pl
import pytest
from programs import compare, exceptions, report, tables, wrong

from polars_rank.files.reading import read_qrels, read_run

FOLDER = os.environ.get("POLARS_RANK_REFERENCE")
pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="POLARS_RANK_REFERENCE names no folder of reference collections"
)
# The inputs of trec_eval's own tests.
SUITE = {
    "te_test": ("qrels.test", "results.test"),
    "te_trunc": ("qrels.test", "results.trunc"),
    "te_rel_level": ("qrels.rel_level", "results.test"),
}


def collection(name):
    """Give run and qrels of a collection."""
    if name in SUITE:
        qrels, run = (Path(FOLDER) / "trec_eval_suite" / "inputs" / file for file in SUITE[name])
        return (
            read_run(run).select("query", "item", "score", system=pl.lit("STANDARD")).collect(),
            read_qrels(qrels).lazy().collect(),
        )
    folder = Path(FOLDER) / "real" / name
    runs = [
        pl.read_parquet(file).select("query", "item", "score", system=pl.lit(file.stem.removeprefix("run.")))
        for file in sorted(folder.glob("run.*.parquet"))
    ]
    return pl.concat(runs), pl.read_parquet(folder / "qrels.parquet")


def compared(golden):
    parts = []
    for (name,), values in golden.sort("collection").group_by("collection", maintain_order=True):
        run, qrels = collection(name)
        with tables(run, qrels) as database:
            parts.append(compare(run, qrels, values, database))
    return pl.concat(parts)


def tell(everything, capsys):
    """Print what was compared and what was left out, hold the document to it; give the values a program."""
    summary, left = report(everything), exceptions(everything)
    out = sum(count for *_, count in left)
    met = everything.height - out - wrong(everything).height
    with capsys.disabled():
        print(f"\n{met:,} of {everything.height:,} values met")
        for program, count, in_polars, in_sql, _ in summary.rows():
            print(f"{program}: {count:,} values, Polars off by at most {in_polars:.1e}, SQL by {in_sql:.1e}")
        for program, reason, count in left:
            print(f"left out of {program}: {count:,} values, {reason}")
    assert wrong(everything).is_empty(), wrong(everything)
    document = (Path(__file__).parents[1] / "collections" / "README.md").read_text(encoding="utf-8")
    assert f"| {everything.height:,} | {met:,} | {out:,} |" in document
    assert [
        count
        for program, _, count in left
        if not program.startswith("trec_eval") and f"| {count:,} |" not in document
    ] == []
    return dict(summary.select("program", "values").rows())


def test_every_value_of_every_program(capsys):
    golden = pl.read_parquet(Path(FOLDER) / "golden" / "measures.parquet").select(
        "collection",
        pl.lit("").alias("options"),
        "measure",
        "query",
        "value",
        program="provider",
        system="run",
    )
    everything = compared(golden)
    sizes = tell(everything, capsys)
    # Every row is compared, or left out for a reason.
    left = sum(count for *_, count in exceptions(everything))
    assert sum(sizes.values()) + left == everything.height == golden.height == 1_086_027
    assert sum(sizes.values()) >= 1_050_000
    assert sizes["pytrec_eval"] >= 430_000
    assert sizes.keys() == {
        "accuracy",
        "compat",
        "cwl_eval",
        "formula",
        "gdeval",
        "judged",
        "msmarco",
        "pytrec_eval",
        "ranx_native",
        "trectools",
    }


def test_every_value_of_trec_eval_for_a_query(capsys):
    program = pl.col("version").replace_strict({"9.0.8": "trec_eval-9", "10.0": "trec_eval-10"})
    golden = (
        pl.scan_parquet(Path(FOLDER) / "golden" / "trec_eval_values.parquet")
        .filter(pl.col("query") != "all", pl.col("value").is_not_null())
        .select("collection", "options", "measure", "query", "value", program=program, system="run")
        .collect()
    )
    everything = compared(golden)
    sizes = tell(everything, capsys)
    left = sum(count for *_, count in exceptions(everything))
    assert sum(sizes.values()) + left == everything.height == golden.height
    assert sum(sizes.values()) >= 2_390_000
