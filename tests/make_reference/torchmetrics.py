"""Score the drawn lists by torchmetrics, in an environment of its own.

``pip install torch torchmetrics && python tests/make_reference/torchmetrics.py``
"""

import json
import sys
from pathlib import Path

# This folder has a file of the program's name.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]

import torch  # noqa: E402
import torchmetrics  # noqa: E402
from torchmetrics.functional import retrieval  # noqa: E402

FOLDER = Path(__file__).parent.parent / "conventions"
MEASURES = {
    "AP": retrieval.retrieval_average_precision,
    "RR": retrieval.retrieval_reciprocal_rank,
    "P": retrieval.retrieval_precision,
    "R": retrieval.retrieval_recall,
    "Success": retrieval.retrieval_hit_rate,
    "nDCG": retrieval.retrieval_normalized_dcg,
}


def main() -> None:
    values = []
    for each in json.loads((FOLDER / "lists.json").read_text(encoding="utf-8")):
        scores, grades = torch.tensor(each["scores"]), torch.tensor(each["grades"])
        found = {}
        for name, measure in MEASURES.items():
            target = grades if name == "nDCG" else grades > 0
            for k in (None, 1, 5):
                found[name if k is None else f"{name}@{k}"] = measure(scores, target, top_k=k)
        found["Rprec"] = retrieval.retrieval_r_precision(scores, grades > 0)
        values += [
            {"query": each["query"], "measure": name, "value": float(value)} for name, value in found.items()
        ]
    told = {"program": f"torchmetrics {torchmetrics.__version__}", "values": values}
    (FOLDER / "torchmetrics.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
