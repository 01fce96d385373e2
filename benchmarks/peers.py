"""What others need for five means from the same Parquet files, and what is written by hand in DuckDB.

polars_ds has an nDCG, but its version 0.13.0 calls what Polars 2 removed, so it can't be timed.
"""

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl

FIVE = ["nDCG@10", "AP", "RR", "P@10", "R@10"]
TREC_NAMES = {"nDCG@10": "ndcg_cut_10", "AP": "map", "RR": "recip_rank", "P@10": "P_10", "R@10": "recall_10"}

Scores = dict[str, dict[str, float]]
Grades = dict[str, dict[str, int]]

# The five of a table judged(query, rank, relevance) of whole numbers, as one would write them.
BY_HAND = """
SELECT
    sum(ndcg) AS "nDCG@10", sum(ap) AS "AP", sum(rr) AS "RR", sum(p) AS "P@10", sum(r) AS "R@10"
FROM (
    SELECT
        coalesce(
            sum(CASE WHEN relevance >= 1 AND rank BETWEEN 1 AND 10 THEN relevance / log2(rank + 1) END)
            / list_sum([
                g / log2(i + 1) FOR g, i IN max(relevance, 10) FILTER (relevance >= 1)
            ]), 0
        ) AS ndcg,
        coalesce(
            list_sum([i / r FOR r, i IN list_sort(list(rank) FILTER (relevance >= 1 AND rank >= 1))])
            / count(CASE WHEN relevance >= 1 THEN 1 END), 0
        ) AS ap,
        coalesce(1 / min(CASE WHEN relevance >= 1 AND rank >= 1 THEN rank END), 0) AS rr,
        count(CASE WHEN relevance >= 1 AND rank BETWEEN 1 AND 10 THEN 1 END) / 10 AS p,
        coalesce(
            count(CASE WHEN relevance >= 1 AND rank BETWEEN 1 AND 10 THEN 1 END)
            / nullif(count(CASE WHEN relevance >= 1 THEN 1 END), 0), 0
        ) AS r
    FROM judged
    GROUP BY query
)
"""


def python_peers(run: Path, qrels: Path) -> dict[str, Callable[[], pl.DataFrame]]:
    """Give the peers that are installed: each reads with Polars, builds its dicts, evaluates, averages."""
    known = {"pytrec_eval": _pytrec_eval, "ir_measures": _ir_measures}
    return {
        name: lambda work=work: work(*_dicts(run, qrels))  # type: ignore[misc]
        for name, work in known.items()
        if importlib.util.find_spec(name)
    }


def ranx(python: str, run: Path, qrels: Path) -> dict[str, float]:
    """Time ranx in an environment of its own: seconds of a first call, and of its evaluation alone."""
    script = Path(__file__).with_name("peer_ranx.py")
    told = subprocess.run([python, script, run, qrels], check=True, capture_output=True, text=True).stdout
    cold, warm = json.loads(told)
    return {"ranx, cold": cold, "ranx, its warm evaluation alone": warm}


def _dicts(run: Path, qrels: Path) -> tuple[Scores, Grades]:
    scores: Scores = {}
    for query, item, score in pl.read_parquet(run).iter_rows():
        scores.setdefault(query, {})[item] = score
    grades: Grades = {}
    for query, item, grade in pl.read_parquet(qrels).iter_rows():
        grades.setdefault(query, {})[item] = grade
    return scores, grades


def _pytrec_eval(scores: Scores, grades: Grades) -> pl.DataFrame:
    import pytrec_eval

    names = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10"}
    values = pytrec_eval.RelevanceEvaluator(grades, names).evaluate(scores).values()
    return pl.DataFrame(
        {ours: [sum(v[name] for v in values) / len(values)] for ours, name in TREC_NAMES.items()}
    )


def _ir_measures(scores: Scores, grades: Grades) -> pl.DataFrame:
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in FIVE]
    values = ir_measures.calc_aggregate(measures, grades, scores)
    return pl.DataFrame({str(measure): [values[measure]] for measure in measures}).select(FIVE)
