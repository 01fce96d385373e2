"""What each item adds to a measure that is a sum over items: plain loops over the rows of one ranking.

As in reference.py, a row is a pair of rank and grade. Each function gives one number a row.
"""

import math

from reference import _count_relevant, _gain, _grades, _hits, _is_relevant, _known, _returned
from reference import ideal_dcg as _ideal_dcg


def _within(rank, k):
    return _known(rank) and 1 <= rank <= (math.inf if k is None else k)


def _hit(row, k, min_relevance):
    rank, grade = row
    return _within(rank, k) and _known(grade) and _is_relevant(grade, min_relevance)


def _shares(rows, k, min_relevance, size):
    return [1 / size if size and _hit(row, k, min_relevance) else 0.0 for row in rows]


def dcg(rows, *, k=None, gain="linear"):
    return [
        _gain(grade, gain) / math.log2(rank + 1) if _within(rank, k) and _known(grade) else 0.0
        for rank, grade in rows
    ]


def ndcg(rows, *, k=None, gain="linear", ideal="judged"):
    best = _ideal_dcg(rows, k=k, gain=gain, ideal=ideal)
    return [part / best if best else 0.0 for part in dcg(rows, k=k, gain=gain)]


def precision(rows, *, k=None, min_relevance=1, denominator="k"):
    total, returned = _count_relevant(rows, min_relevance), _returned(rows, k)
    size = {
        "k": len(returned) if k is None else k,
        "returned": len(returned),
        "judged": sum(grade is not None and grade >= 0 for _, grade in returned),
        "min": total if k is None else min(k, total),
        "reachable": min(len(returned), total),
    }[denominator]
    return _shares(rows, k, min_relevance, size)


def recall(rows, *, k=None, min_relevance=1, denominator="relevant", num_relevant=None):
    total = _count_relevant(rows, min_relevance, num_relevant)
    return _shares(rows, k, min_relevance, total if denominator == "relevant" or k is None else min(k, total))


def f_measure(rows, *, k=None, min_relevance=1, beta=1.0, num_relevant=None):
    total = _count_relevant(rows, min_relevance, num_relevant)
    size = len(_returned(rows)) if k is None else k
    weight = beta**2
    return [
        part * (1 + weight) for part in _shares(rows, k, min_relevance, weight * total + size if total else 0)
    ]


def average_precision(rows, *, k=None, min_relevance=1, denominator="relevant", num_relevant=None):
    total, returned = _count_relevant(rows, min_relevance, num_relevant), _returned(rows, k)
    hits = _hits(rows, k, min_relevance)
    size = {
        "relevant": total,
        "min": total if k is None else min(k, total),
        "k": len(returned) if k is None else k,
        "returned": len(returned),
        "found": len(hits),
    }[denominator]
    parts = []
    for row in rows:
        part = 0.0
        if _hit(row, k, min_relevance) and size and total:
            above, level = sum(hit < row[0] for hit in hits), hits.count(row[0])
            part = (above + (level + 1) / 2) / row[0] / size
        parts.append(part)
    return parts


def r_precision(rows, *, min_relevance=1, multiple=1.0, num_relevant=None):
    total = _count_relevant(rows, min_relevance, num_relevant)
    places = total if multiple == 1 else math.floor(multiple * total + 0.9)
    return _shares(rows, places, min_relevance, places if total else 0)


def success(rows, *, k=None, min_relevance=1):
    hits = _hits(rows, k, min_relevance)
    return [
        1 / hits.count(hits[0]) if hits and _hit(row, k, min_relevance) and row[0] == hits[0] else 0.0
        for row in rows
    ]


def reciprocal_rank(rows, *, k=None, min_relevance=1):
    parts = success(rows, k=k, min_relevance=min_relevance)
    return [part / row[0] if part else 0.0 for part, row in zip(parts, rows, strict=True)]


def rbp(rows, *, k=None, persistence=0.8, min_relevance=1, max_relevance=None):
    highest = max(_grades(rows), default=0.0)
    if isinstance(max_relevance, int | float) and highest > max_relevance:
        return [math.nan] * len(rows)
    scale = {"highest": max(highest, 1.0), "unscaled": 1.0}.get(max_relevance, max_relevance)
    parts = []
    for rank, grade in rows:
        worth = 0.0
        if _within(rank, k) and _known(grade):
            worth = _is_relevant(grade, min_relevance) if scale is None else max(grade, 0.0) / scale
        parts.append((1 - persistence) * persistence ** (rank - 1) * worth if worth else 0.0)
    return parts


def err(rows, *, k=None, max_relevance=4):
    """Of rows at one rank and of one grade the first in the list comes first."""
    if max(_grades(rows), default=0.0) > max_relevance:
        return [math.nan] * len(rows)
    parts, still_looking = [0.0] * len(rows), 1.0
    reached = [i for i, (rank, grade) in enumerate(rows) if _within(rank, k) and _known(grade)]
    for i in sorted(reached, key=lambda i: (rows[i][0], -rows[i][1])):
        rank, grade = rows[i]
        satisfied = _gain(grade, "exponential") * 0.5**max_relevance
        parts[i] = still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return parts


def judged_share(rows, *, k=None):
    size = len(_returned(rows, k))
    return [1 / size if _within(rank, k) and _known(grade) and grade >= 0 else 0.0 for rank, grade in rows]


def num_returned(rows):
    return [float(_within(rank, None)) for rank, _ in rows]


def num_relevant_returned(rows, *, k=None, min_relevance=1):
    return _shares(rows, k, min_relevance, 1)
