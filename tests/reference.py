"""Every core measure again, as a slow loop in plain Python over the rows of one ranking.

Written from the papers and from trec_eval's definitions, not from the two engines: a fault would have to
be made three times to pass. A row is a pair ``(rank, relevance)``; a rank that is None, NaN or below 1
was not returned; a relevance that is None or NaN is unjudged; a negative one is judged but not counted.
"""

import math
from collections.abc import Callable, Sequence

Number = float | None
Row = tuple[Number, Number]
Rows = Sequence[Row]


def _known(value: Number) -> bool:
    return value is not None and not math.isnan(value)


def _returned(rows: Rows, k: float | None = None) -> list[tuple[float, float | None]]:
    """Give the returned rows down to rank k, best first; an unjudged grade is None."""
    limit = math.inf if k is None else k
    kept = [
        (float(rank), float(grade) if _known(grade) else None)
        for rank, grade in rows
        if _known(rank) and 1 <= rank <= limit
    ]
    return sorted(kept, key=lambda row: (row[0], -math.inf if row[1] is None else -row[1]))


def _grades(rows: Rows) -> list[float]:
    """Give the grades that count, of every judged row, returned or not."""
    return [float(grade) for _, grade in rows if _known(grade) and grade >= 0]


def _is_relevant(grade: float | None, min_relevance: float) -> bool:
    return grade is not None and grade >= max(min_relevance, 0)


def _hits(rows: Rows, k: float | None, min_relevance: float) -> list[float]:
    """Give the ranks of the relevant rows, best first."""
    return [rank for rank, grade in _returned(rows, k) if _is_relevant(grade, min_relevance)]


def _count_relevant(rows: Rows, min_relevance: float, given: float | None = None) -> float:
    # As a column it has no value where there is no row.
    if given is not None and rows:
        return given
    return sum(_is_relevant(grade, min_relevance) for grade in _grades(rows))


# Gain: Järvelin & Kekäläinen 2002; exponential gains from Burges et al. 2005.


def _gain(grade: float | None, gain: str) -> float:
    if grade is None or grade <= 0:
        return 0.0
    return {"linear": lambda g: g, "exponential": lambda g: 2.0**g - 1}[gain](grade)


def dcg(rows: Rows, *, k=None, gain="linear") -> float:
    total = 0.0
    for rank, grade in _returned(rows, k):
        total += _gain(grade, gain) / math.log2(rank + 1)
    return total


def ideal_dcg(rows: Rows, *, k=None, gain="linear", ideal="judged") -> float:
    returned = _returned(rows)
    if ideal == "judged":
        grades = _grades(rows)
    elif ideal == "list":
        grades = [grade for _, grade in returned if grade is not None]
    else:
        places = len(returned) if k is None else k
        grades = [max(_grades(rows), default=0.0)] * places
    best_first = sorted(grades, reverse=True)[:k]
    return dcg(list(enumerate(best_first, start=1)), gain=gain)


def ndcg(rows: Rows, *, k=None, gain="linear", ideal="judged", empty=0.0) -> Number:
    if not any(grade > 0 for grade in _grades(rows)):
        return empty
    best = ideal_dcg(rows, k=k, gain=gain, ideal=ideal)
    return dcg(rows, k=k, gain=gain) / best if best else 0.0


# Binary: relevant or not. Average precision and R-precision as in trec_eval's m_map.c and m_Rprec.c.


def precision(rows: Rows, *, k=None, min_relevance=1, denominator="k") -> float:
    returned = _returned(rows, k)
    relevant = _count_relevant(rows, min_relevance)
    below = {
        "k": len(returned) if k is None else k,
        "returned": len(returned),
        "min": relevant if k is None else min(k, relevant),
        "judged": sum(grade is not None and grade >= 0 for _, grade in returned),
    }[denominator]
    return len(_hits(rows, k, min_relevance)) / below if below else 0.0


def recall(
    rows: Rows, *, k=None, min_relevance=1, denominator="relevant", empty=0.0, num_relevant=None
) -> Number:
    relevant = _count_relevant(rows, min_relevance, num_relevant)
    if relevant == 0:
        return empty
    below = relevant if denominator == "relevant" or k is None else min(k, relevant)
    return len(_hits(rows, k, min_relevance)) / below


def f_measure(rows: Rows, *, k=None, min_relevance=1, beta=1.0, empty=0.0, num_relevant=None) -> Number:
    if _count_relevant(rows, min_relevance, num_relevant) == 0:
        return empty
    p = precision(rows, k=k, min_relevance=min_relevance)
    r = recall(rows, k=k, min_relevance=min_relevance, num_relevant=num_relevant)
    return (1 + beta**2) * p * r / (beta**2 * p + r) if r > 0 else 0.0


def average_precision(
    rows: Rows, *, k=None, min_relevance=1, denominator="relevant", empty=0.0, num_relevant=None
) -> Number:
    relevant = _count_relevant(rows, min_relevance, num_relevant)
    if relevant == 0:
        return empty
    hits = _hits(rows, k, min_relevance)
    total = 0.0
    for place, rank in enumerate(hits, start=1):
        total += place / rank
    returned = len(_returned(rows, k))
    below = {
        "relevant": relevant,
        "min": relevant if k is None else min(k, relevant),
        "k": returned if k is None else k,
        "returned": returned,
        "found": len(hits),
    }[denominator]
    return total / below if below else 0.0


def r_precision(rows: Rows, *, min_relevance=1, empty=0.0, num_relevant=None) -> Number:
    relevant = _count_relevant(rows, min_relevance, num_relevant)
    return len(_hits(rows, relevant, min_relevance)) / relevant if relevant else empty


def success(rows: Rows, *, k=None, min_relevance=1, empty=0.0) -> Number:
    if _count_relevant(rows, min_relevance) == 0:
        return empty
    return 1.0 if _hits(rows, k, min_relevance) else 0.0


# Cascade: the user walks down and stops. Moffat & Zobel 2008; Chapelle et al. 2009.


def reciprocal_rank(rows: Rows, *, k=None, min_relevance=1, empty=0.0) -> Number:
    if _count_relevant(rows, min_relevance) == 0:
        return empty
    hits = _hits(rows, k, min_relevance)
    return 1 / hits[0] if hits else 0.0


def rbp(rows: Rows, *, k=None, persistence=0.8, min_relevance=1, max_relevance=None) -> float:
    if max_relevance is not None and max(_grades(rows), default=0.0) > max_relevance:
        return math.nan
    total = 0.0
    for rank, grade in _returned(rows, k):
        if max_relevance is None:
            worth = float(_is_relevant(grade, min_relevance))
        else:
            worth = max(grade or 0.0, 0.0) / max_relevance
        total += worth * persistence ** (rank - 1)
    return (1 - persistence) * total


def err(rows: Rows, *, k=None, max_relevance=4) -> float:
    if max(_grades(rows), default=0.0) > max_relevance:
        return math.nan
    total, still_looking = 0.0, 1.0
    for rank, grade in _returned(rows, k):
        satisfied = _gain(grade, "exponential") / 2.0**max_relevance
        total += still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return total


# Pool: what was judged. Buckley & Voorhees 2004, with the min(N, R) of trec_eval's m_bpref.c.


def judged_share(rows: Rows, *, k=None) -> float:
    returned = _returned(rows, k)
    judged = [grade for _, grade in returned if grade is not None and grade >= 0]
    return len(judged) / len(returned) if returned else 0.0


def bpref(rows: Rows, *, min_relevance=1, empty=0.0) -> Number:
    relevant = int(_count_relevant(rows, min_relevance))
    if relevant == 0:
        return empty
    judged_not_relevant = len(_grades(rows)) - relevant
    total = 0.0
    for hit in _hits(rows, None, min_relevance):
        above = 0
        for rank, grade in _returned(rows):
            if rank < hit and grade is not None and 0 <= grade < min_relevance:
                above += 1
        total += 1 - min(above, relevant) / min(judged_not_relevant, relevant) if above else 1
    return total / relevant


def num_returned(rows: Rows, *, k=None) -> int:
    return len(_returned(rows, k))


def num_relevant(rows: Rows, *, min_relevance=1) -> int:
    return int(_count_relevant(rows, min_relevance))


def num_relevant_returned(rows: Rows, *, k=None, min_relevance=1) -> int:
    return len(_hits(rows, k, min_relevance))


# Link: one row a query, the rank of its true answer. Bordes et al. 2013.

FallBack = str | float | Sequence[Number]


def _answers(ranks: Sequence[Number], not_found: FallBack) -> list[Number]:
    """Give the rank of every row that counts; None adds 0."""
    answers: list[Number] = []
    for place, rank in enumerate(ranks):
        if _known(rank) and rank >= 1:
            answers.append(float(rank))
        elif not_found == "zero":
            answers.append(None)
        elif not_found != "skip":
            instead = not_found if isinstance(not_found, int | float) else not_found[place]
            answers.append(float(instead) if _known(instead) and instead >= 1 else None)
    return answers


def _mean_over(ranks: Sequence[Number], not_found: FallBack, worth: Callable[[float], float]) -> float:
    answers = _answers(ranks, not_found)
    total = 0.0
    for rank in answers:
        total += worth(rank) if rank is not None else 0.0
    return total / len(answers) if answers else 0.0


def mean_reciprocal_rank(ranks: Sequence[Number], *, not_found: FallBack = "zero") -> float:
    return _mean_over(ranks, not_found, lambda rank: 1 / rank)


def hits_at_k(ranks: Sequence[Number], *, k=None, not_found: FallBack = "zero") -> float:
    return _mean_over(ranks, not_found, lambda rank: float(k is None or rank <= k))


def mean_rank(ranks: Sequence[Number], *, not_found: FallBack = "zero") -> float:
    return _mean_over(ranks, not_found, lambda rank: rank)


# Rating: a predicted number against the true one.


def mse(pairs: Sequence[Row]) -> Number:
    known = [(p, a) for p, a in pairs if p is not None and a is not None]
    return sum((p - a) ** 2 for p, a in known) / len(known) if known else None


def rmse(pairs: Sequence[Row]) -> Number:
    error = mse(pairs)
    return None if error is None else math.sqrt(error)


def mae(pairs: Sequence[Row]) -> Number:
    known = [(p, a) for p, a in pairs if p is not None and a is not None]
    return sum(abs(p - a) for p, a in known) / len(known) if known else None
