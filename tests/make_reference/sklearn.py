"""Score the drawn lists by scikit-learn, in an environment of its own.

``pip install scikit-learn && python tests/make_reference/sklearn.py``
"""

import json
import sys
from pathlib import Path

# This folder has a file of the program's name.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]

import sklearn  # noqa: E402
from sklearn.metrics import (  # noqa: E402
    average_precision_score,
    dcg_score,
    label_ranking_average_precision_score,
    ndcg_score,
)

FOLDER = Path(__file__).parent.parent / "conventions"


def main() -> None:
    values, tied = [], []
    for each in json.loads((FOLDER / "tied.json").read_text(encoding="utf-8")):
        scores, grades = [each["scores"]], [each["grades"]]
        found = {name: ndcg_score(grades, scores, k=k) for name, k in (("nDCG", None), ("nDCG@3", 3))}
        found["dcg@3"] = dcg_score(grades, scores, k=3)
        tied += [
            {"query": each["query"], "measure": name, "value": float(value)} for name, value in found.items()
        ]
    for each in json.loads((FOLDER / "lists.json").read_text(encoding="utf-8")):
        scores, grades = [each["scores"]], [each["grades"]]
        relevant = [[int(grade > 0) for grade in each["grades"]]]
        found = {
            "nDCG": ndcg_score(grades, scores),
            "nDCG@1": ndcg_score(grades, scores, k=1),
            "nDCG@5": ndcg_score(grades, scores, k=5),
            "dcg@5": dcg_score(grades, scores, k=5),
            "average_precision(empty=1.0)": label_ranking_average_precision_score(relevant, scores),
        }
        if any(relevant[0]):
            # Where nothing is relevant it warns, and gives 0.
            found["AP"] = average_precision_score(relevant[0], scores[0])
        values += [
            {"query": each["query"], "measure": name, "value": float(value)} for name, value in found.items()
        ]
    told = {"program": f"scikit-learn {sklearn.__version__}", "values": values, "tied": tied}
    (FOLDER / "sklearn.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
