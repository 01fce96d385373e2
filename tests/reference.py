"""Every core measure again, as a slow loop in plain Python over the rows of one ranking.

Written from the papers and from trec_eval's definitions, not from the two engines: a fault would have to
be made three times to pass. A row is a pair ``(rank, relevance)``; a rank that is None, NaN or below 1
was not returned; a relevance that is None or NaN is unjudged; a negative one is judged but not counted.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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


def _gain(grade: float | None, gain: str | Mapping[float, float]) -> float:
    if isinstance(gain, Mapping):
        return max(gain.get(grade, grade or 0.0), 0.0)
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
    grades = [grade for _, grade in returned] if ideal == "list" else [g for _, g in rows if _known(g)]
    gains = sorted((_gain(grade, gain) for grade in grades), reverse=True)
    if ideal == "k":
        gains = [max(gains, default=0.0)] * (len(returned) if k is None else k)
    total = 0.0
    for place, worth in enumerate(gains[:k], start=1):
        total += worth / math.log2(place + 1)
    return total


def ndcg(rows: Rows, *, k=None, gain="linear", ideal="judged", empty=0.0) -> Number:
    if not any(_gain(grade, gain) > 0 for _, grade in rows if _known(grade)):
        return empty
    best = ideal_dcg(rows, k=k, gain=gain, ideal=ideal)
    return dcg(rows, k=k, gain=gain) / best if best else 0.0


# Tied: an item is equally often at each rank of its tie. A row is (rank, relevance, score).


def expected_dcg(rows, *, k=None, gain="linear") -> float:
    ties: dict[float | None, list[tuple[float, float]]] = {}
    for rank, grade, score in rows:
        if rank is not None and rank >= 1:
            key = score if _known(score) else None
            ties.setdefault(key, []).append((rank, _gain(grade, gain) if _known(grade) else 0.0))
    total = 0.0
    for tie in ties.values():
        for _, worth in tie:
            total += sum(worth / math.log2(rank + 1) for rank, _ in tie if k is None or rank <= k) / len(tie)
    return total


def expected_ndcg(rows, *, k=None, gain="linear", ideal="judged", empty=0.0) -> Number:
    pairs = [(rank, grade) for rank, grade, _ in rows]
    if not any(_gain(grade, gain) > 0 for _, grade in pairs if _known(grade)):
        return empty
    best = ideal_dcg(pairs, k=k, gain=gain, ideal=ideal)
    return expected_dcg(rows, k=k, gain=gain) / best if best else 0.0


# Binary: relevant or not. Average precision and R-precision as in trec_eval's m_map.c and m_Rprec.c.


def precision(rows: Rows, *, k=None, min_relevance=1, denominator="k") -> float:
    returned = _returned(rows, k)
    relevant = _count_relevant(rows, min_relevance)
    below = {
        "k": len(returned) if k is None else k,
        "returned": len(returned),
        "min": relevant if k is None else min(k, relevant),
        "judged": sum(grade is not None and grade >= 0 for _, grade in returned),
        "reachable": min(len(returned), relevant),
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


def r_precision(rows: Rows, *, min_relevance=1, multiple=1.0, empty=0.0, num_relevant=None) -> Number:
    relevant = _count_relevant(rows, min_relevance, num_relevant)
    if relevant == 0:
        return empty
    places = relevant if multiple == 1 else math.floor(multiple * relevant + 0.9)
    return len(_hits(rows, places, min_relevance)) / places if places else 0.0


def set_average_precision(rows: Rows, *, k=None, min_relevance=1, empty=0.0) -> Number:
    if _count_relevant(rows, min_relevance) == 0:
        return empty
    p = precision(rows, k=k, min_relevance=min_relevance, denominator="returned")
    return p * recall(rows, k=k, min_relevance=min_relevance)


# Interpolated precision, as in trec_eval's m_iprec_at_recall.c: from the end of the list upwards.


def interpolated_precision(rows: Rows, *, recall=0.0, min_relevance=1, rounding="up", empty=0.0) -> Number:
    relevant = _count_relevant(rows, min_relevance)
    if relevant == 0:
        return empty
    needed = math.floor(recall * relevant + {"up": 0.9, "nearest": 0.5}[rounding])
    best = 0.0
    for found, rank in reversed(list(enumerate(_hits(rows, None, min_relevance), start=1))):
        if found >= needed:
            best = max(best, found / rank)
    return best


def eleven_point_precision(rows: Rows, *, min_relevance=1, rounding="up", empty=0.0) -> Number:
    levels = [
        interpolated_precision(
            rows, recall=tenth / 10, min_relevance=min_relevance, rounding=rounding, empty=empty
        )
        for tenth in range(11)
    ]
    return None if None in levels else sum(levels) / 11


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
    highest = max(_grades(rows), default=0.0)
    scale = {"highest": max(highest, 1.0), "unscaled": 1.0}.get(max_relevance, max_relevance)
    if isinstance(max_relevance, int | float) and highest > max_relevance:
        return math.nan
    total = 0.0
    for rank, grade in _returned(rows, k):
        if max_relevance is None:
            worth = float(_is_relevant(grade, min_relevance))
        else:
            worth = max(grade or 0.0, 0.0) / scale
        total += worth * persistence ** (rank - 1)
    return (1 - persistence) * total


def rbp_residual(rows: Rows, *, persistence=0.8) -> float:
    """What is known for sure, taken off the most that RBP can be."""
    known = 0.0
    for rank, grade in _returned(rows):
        if grade is not None and grade >= 0:
            known += (1 - persistence) * persistence ** (rank - 1)
    return 1 - known


def err(rows: Rows, *, k=None, max_relevance=4) -> float:
    if max(_grades(rows), default=0.0) > max_relevance:
        return math.nan
    total, still_looking = 0.0, 1.0
    for rank, grade in _returned(rows, k):
        satisfied = _gain(grade, "exponential") * 0.5**max_relevance
        total += still_looking * satisfied / rank
        still_looking *= 1 - satisfied
    return total


# User models, as in cwl_eval: a walk down places 1 to k, seen with weights that sum to 1.


def _walk(rows: Rows, k, max_relevance, go_on: Callable[[int, float, float], float]) -> float:
    if max(_grades(rows), default=0.0) > max_relevance:
        return math.nan
    chance, seen, gained, so_far = 1.0, 0.0, 0.0, 0.0
    for i in range(1, (1000 if k is None else k) + 1):
        here = [grade for rank, grade in _returned(rows) if i - 1 < rank <= i and grade is not None]
        gain = min(sum(max(grade, 0.0) / max_relevance for grade in here), 1.0)
        seen += chance
        gained += chance * gain
        so_far += gain
        chance *= go_on(i, gain, so_far)
    return gained / seen


def _inverse_square(a: float) -> float:
    return ((a - 1) / a) ** 2


def sdcg(rows: Rows, *, k=None, max_relevance=1) -> float:
    return _walk(rows, k, max_relevance, lambda i, *_: math.log2(i + 1) / math.log2(i + 2))


def bpm(rows: Rows, *, k=None, target=1.0, max_relevance=1) -> float:
    return _walk(rows, k, max_relevance, lambda _, __, so_far: float(so_far < target - 1e-12))


def insq(rows: Rows, *, target=1.0, max_relevance=1) -> float:
    return _walk(rows, None, max_relevance, lambda i, *_: _inverse_square(i + 2 * target))


def inst(rows: Rows, *, target=1.0, max_relevance=1) -> float:
    return _walk(
        rows, None, max_relevance, lambda i, _, so_far: _inverse_square(i + target + (target - so_far))
    )


def nerr(rows: Rows, *, k=None, equation=8, persistence=0.9, target=1.0, max_relevance=1) -> float:
    def go_on(i: int, gain: float, _: float) -> float:
        by_place = {8: 1, 9: i / (i + 1), 10: persistence, 11: _inverse_square(i + 2 * target)}
        return (1 - gain) * by_place[equation]

    return _walk(rows, k, max_relevance, go_on)


# Diversity, as in ndeval.c: a walk down the list that counts how often each subtopic was met. A row is
# (rank, relevance, subtopic), with a fourth place for the rank in the ideal list.

TopicRow = tuple[Any, ...]


def _by_subtopic(rows: Sequence[TopicRow], min_relevance: float, column: int = 0):
    """Give the relevant rows: subtopic to sorted ranks, infinite where not returned."""
    found: dict[Any, list[float]] = {}
    for row in rows:
        if row[2] is not None and _is_relevant(row[1] if _known(row[1]) else None, min_relevance):
            place = row[column]
            found.setdefault(row[2], []).append(place if _known(place) and place >= 1 else math.inf)
    return {topic: sorted(places) for topic, places in found.items()}


def _novel(rows, k, alpha, min_relevance, discount, *, column=0) -> float:
    total = 0.0
    for places in _by_subtopic(rows, min_relevance, column).values():
        for seen, place in enumerate(places):
            if place <= (k or sys.float_info.max):
                total += (1 - alpha) ** seen * discount(place)
    return total


def _places(rows, k) -> int:
    return len({row[0] for row in rows if _known(row[0]) and row[0] >= 1}) if k is None else k


def _novel_share(rows, k, alpha, min_relevance, discount) -> float:
    most = len(_by_subtopic(rows, min_relevance))
    best = sum(most * (1 - alpha) ** (i - 1) * discount(i) for i in range(1, _places(rows, k) + 1))
    return _novel(rows, k, alpha, min_relevance, discount) / best if best else 0.0


def _novel_ratio(rows, k, alpha, min_relevance, discount) -> float:
    ideal = _novel(rows, k, alpha, min_relevance, discount, column=3)
    return _novel(rows, k, alpha, min_relevance, discount) / ideal if ideal else 0.0


def _by_log(i: float) -> float:
    return 1 / math.log2(i + 1)


def alpha_dcg(rows, *, k=None, alpha=0.5, min_relevance=1) -> float:
    return _novel_share(rows, k, alpha, min_relevance, _by_log)


def alpha_ndcg(rows, *, k=None, alpha=0.5, min_relevance=1) -> float:
    return _novel_ratio(rows, k, alpha, min_relevance, _by_log)


def err_ia(rows, *, k=None, alpha=0.5, min_relevance=1) -> float:
    return _novel_share(rows, k, alpha, min_relevance, lambda i: 1 / i)


def nerr_ia(rows, *, k=None, alpha=0.5, min_relevance=1) -> float:
    return _novel_ratio(rows, k, alpha, min_relevance, lambda i: 1 / i)


def nrbp(rows, *, persistence=0.5, alpha=0.5, min_relevance=1) -> float:
    gained = _novel(rows, None, alpha, min_relevance, lambda i: persistence ** (i - 1))
    subtopics = len(_by_subtopic(rows, min_relevance))
    return (1 - (1 - alpha) * persistence) * gained / subtopics if subtopics else 0.0


def nnrbp(rows, *, persistence=0.5, alpha=0.5, min_relevance=1) -> float:
    return _novel_ratio(rows, None, alpha, min_relevance, lambda i: persistence ** (i - 1))


def ap_ia(rows, *, min_relevance=1) -> float:
    each = [
        sum(i / place for i, place in enumerate(places, start=1)) / len(places)
        for places in _by_subtopic(rows, min_relevance).values()
    ]
    return sum(each) / len(each) if each else 0.0


def p_ia(rows, *, k=None, min_relevance=1) -> float:
    found = _by_subtopic(rows, min_relevance)
    hits = sum(place <= (k or sys.float_info.max) for places in found.values() for place in places)
    below = len(found) * _places(rows, k)
    return hits / below if below else 0.0


def subtopic_recall(rows, *, k=None, min_relevance=1) -> float:
    found = _by_subtopic(rows, min_relevance)
    covered = [places for places in found.values() if places[0] <= (k or sys.float_info.max)]
    return len(covered) / len(found) if found else 0.0


# Preference: the order itself. Clarke et al. 2021 and ir_measures' compat_provider and accuracy_provider.


def compatibility(rows: Rows, *, persistence=0.95, normalized=True) -> float:
    numbered = [
        (number, rank if _known(rank) and rank >= 1 else math.inf, grade)
        for number, (rank, grade) in enumerate(rows)
    ]
    wanted = [row for row in numbered if _known(row[2]) and row[2] > 0]
    ideal = sorted(wanted, key=lambda row: (-row[2], row[1]))
    lowest = max((math.ceil(rank) for _, rank, _ in numbered if rank < math.inf), default=0)
    overlap, best, weights = 0.0, 0.0, 0.0
    for d in range(1, max(lowest, len(ideal)) + 1):
        top = {number for number, rank, _ in numbered if rank <= d}
        ideal_top = {number for number, *_ in ideal[:d]}
        overlap += persistence ** (d - 1) * len(top & ideal_top) / d
        best += persistence ** (d - 1) * len(ideal_top) / d
        weights += persistence ** (d - 1)
    below = best if normalized else weights
    return overlap / below if ideal else 0.0


def pairwise_accuracy(rows: Rows, *, k=None, min_relevance=1) -> Number:
    hits = _hits(rows, k, min_relevance)
    others = [rank for rank, grade in _returned(rows, k) if not _is_relevant(grade, min_relevance)]
    pairs = [(hit, other) for hit in hits for other in others]
    wrong = [1 if other < hit else 0.5 if other == hit else 0 for hit, other in pairs]
    return 1 - sum(wrong) / len(pairs) if pairs else None


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


def unjudged_share(rows: Rows, *, k=None) -> float:
    returned = _returned(rows, k)
    holes = [grade for _, grade in returned if grade is None or grade < 0]
    below = len(returned) if k is None else k
    return len(holes) / below if below else 0.0


def inferred_ap(rows: Rows, *, min_relevance=1, empty=0.0) -> Number:
    """Sum up the expected precision at each relevant row, as in trec_eval's m_infap.c."""
    relevant = int(_count_relevant(rows, min_relevance))
    if relevant == 0:
        return empty
    total = 0.0
    for hits, hit in enumerate(_hits(rows, None, min_relevance)):
        above = [
            grade
            for rank, grade in _returned(rows)
            if rank < hit and grade is not None and not _is_relevant(grade, min_relevance)
        ]
        other = sum(grade >= 0 for grade in above)
        expected = (hits + 1e-5) / (hits + other + 2e-5)
        total += (1 + (hits + len(above)) * expected) / hit
    return total / relevant


def num_nonrelevant_returned(rows: Rows, *, k=None, min_relevance=1) -> int:
    return sum(grade is not None and 0 <= grade < min_relevance for _, grade in _returned(rows, k))


def num_queries(rows: Rows) -> int:
    return int(len(rows) > 0)


def utility(
    rows: Rows,
    *,
    k=None,
    min_relevance=1,
    relevant_returned=1.0,
    others_returned=-1.0,
    relevant_missed=0.0,
) -> float:
    hits = len(_hits(rows, k, min_relevance))
    others = len(_returned(rows, k)) - hits
    missed = _count_relevant(rows, min_relevance) - hits
    return relevant_returned * hits + others_returned * others + relevant_missed * missed


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
