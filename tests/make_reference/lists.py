"""Draw the lists that scikit-learn and torchmetrics score: ``python tests/make_reference/lists.py``.

Scores are positive and distinct, as both programs do something of their own elsewhere; tied.json has lists of
few different scores, for the measures that average over ties.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "conventions"


def main() -> None:
    draw = random.Random(7)
    lists = [{"query": "nothing relevant", "scores": [0.5, 0.25, 2.0], "grades": [0, 0, 0]}]
    lists += [{"query": "all relevant", "scores": [0.5, 0.25, 2.0], "grades": [1, 3, 2]}]
    for number in range(30):
        size = draw.randint(2, 14)
        scores = [score / 16 for score in draw.sample(range(1, 200), size)]
        grades = draw.choices(range(5), weights=[6, 3, 2, 1, 1], k=size)
        lists.append({"query": f"q{number:02}", "scores": scores, "grades": grades})
    (FOLDER / "lists.json").write_text(json.dumps(lists) + "\n", encoding="utf-8")
    tied = []
    for number in range(30):
        size = draw.randint(2, 14)
        scores = draw.choices([-1.5, 0.0, 0.25, 0.5, 2.0][: draw.randint(1, 5)], k=size)
        grades = draw.choices(range(5), weights=[6, 3, 2, 1, 1], k=size)
        tied.append({"query": f"t{number:02}", "scores": scores, "grades": grades})
    (FOLDER / "tied.json").write_text(json.dumps(tied) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
