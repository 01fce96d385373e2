"""Score drawn runs over judged subtopics by pyndeval (TREC's ndeval), in an environment of its own.

``pip install pyndeval && python tests/make_reference/pyndeval.py``

Scores are distinct, so that the order of equal ones does not matter.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path

# This folder has a file of the program's name.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).parent]

import pyndeval  # noqa: E402

FOLDER = Path(__file__).parent.parent / "conventions"


def main() -> None:
    draw = random.Random(3)
    qrels, run = [], []
    for number in range(12):
        query = f"q{number:02}"
        subtopics = range(1, draw.randint(1, 4) + 1)
        items = [f"d{i:02}" for i in range(draw.randint(3, 14))]
        qrels += [
            (query, str(subtopic), item, draw.choices([0, 1, 2], weights=[5, 3, 1])[0])
            for item in items
            for subtopic in subtopics
            if draw.random() < 0.7
        ]
        returned = draw.sample([*items, "u1", "u2", "u3"], draw.randint(1, len(items) + 3))
        run += [(query, item, float(len(returned) - place)) for place, item in enumerate(returned)]
    values = pyndeval.ndeval(
        [pyndeval.SubtopicQrel(*row) for row in qrels], [pyndeval.ScoredDoc(*row) for row in run]
    )
    told = {
        "program": f"pyndeval {version('pyndeval')}",
        "qrels": qrels,
        "run": run,
        "values": [
            {"query": query, "measure": measure, "value": value}
            for query, found in values.items()
            for measure, value in found.items()
        ],
    }
    (FOLDER / "pyndeval.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
