"""Score the random collection by BEIR, in an environment of its own: means over queries, of five digits.

``pip install beir pytrec-eval-terrier polars && python tests/make_reference/beir.py``

Queries with nothing relevant are left out, as R_cap stops there, and of the run those without judgements. The
first three queries also return an item of their own id.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

# This folder has a file of the program's name.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]

import polars as pl  # noqa: E402
from beir.retrieval.evaluation import EvaluateRetrieval  # noqa: E402

TESTS = Path(__file__).parent.parent
CUTOFFS = [1, 5, 10]


def main() -> None:
    qrels: dict[str, dict[str, int]] = {}
    for query, item, grade in pl.read_parquet(TESTS / "collections" / "stress-a.qrels.parquet").rows():
        qrels.setdefault(query, {})[item] = grade
    qrels = {query: grades for query, grades in qrels.items() if max(grades.values()) > 0}
    values = []
    runs = pl.read_parquet(TESTS / "collections" / "stress-a.runs.parquet")
    # Two of them: the third ties, and the order of the custom measures is then that of the file.
    for system in ("r2", "r3"):
        results: dict[str, dict[str, float]] = {}
        for query, item, score in runs.filter(system=system).select("query", "item", "score").rows():
            if query in qrels:
                results.setdefault(query, {})[item] = score
        for query in sorted(results)[:3]:
            results[query][query] = 1e6
        found: dict[str, float] = {}
        for table in EvaluateRetrieval.evaluate(qrels, results, CUTOFFS):
            found.update(table)
        for name in ("mrr", "r_cap", "accuracy", "hole"):
            found.update(EvaluateRetrieval.evaluate_custom(qrels, results, CUTOFFS, name))
        values += [{"system": system, "measure": name, "value": value} for name, value in found.items()]
    told = {"program": f"beir {version('beir')}", "values": values}
    (TESTS / "conventions" / "beir.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
