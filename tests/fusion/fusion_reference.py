"""Fusion as slow plain loops, written from the formulas: what the engines are held to."""

import math
import statistics
from collections.abc import Mapping, Sequence

Row = tuple[str, str, float | None]


def ranked(rows: Sequence[Row], *, descending: bool = True) -> dict[str, dict[str, tuple[int, float | None]]]:
    """Query to item to (place, score), best copy only; equal scores by item, descending."""
    queries: dict[str, list[Row]] = {}
    for row in rows:
        queries.setdefault(row[0], []).append(row)
    lists = {}
    for query, members in queries.items():
        by_item = sorted(members, key=lambda row: row[1], reverse=True)
        ordered = sorted(by_item, key=lambda row: _key(row[2], descending), reverse=True)
        best: dict[str, tuple[int, float | None]] = {}
        for place, (_, item, score) in enumerate(ordered, 1):
            real = None if score is None or math.isnan(score) else score
            best.setdefault(item, (place, real))
        lists[query] = best
    return lists


def _key(score: float | None, descending: bool) -> tuple[bool, float]:
    if score is None or math.isnan(score):
        return False, 0.0
    return True, score if descending else -score


def normalize(  # noqa: PLR0911 - one a formula
    entries: Mapping[str, tuple[int, float | None]],
    method: str | None,
    length: int,
    candidates: Sequence[str],
    *,
    on_constant: float = 0.0,
    ddof: int = 0,
) -> dict[str, float | None]:
    if method is None:
        return {item: score for item, (_, score) in entries.items()}
    if method == "rank":
        return {item: 1 - (place - 1) / length for item, (place, _) in entries.items()}
    if method == "borda":
        count = len(candidates)
        return {
            item: 1 - (entries[item][0] - 1) / count if item in entries else 0.5 - (length - 1) / (2 * count)
            for item in candidates
        }
    scores = {item: score for item, (_, score) in entries.items() if score is not None}
    missing = dict.fromkeys([item for item in entries if item not in scores])
    if method == "sigmoid":
        return missing | {item: 1 / (1 + math.exp(-score)) for item, score in scores.items()}
    if not scores:
        return missing
    values = list(scores.values())
    low, high = min(values), max(values)
    if method == "max":
        return missing | {item: score / max(high, 1e-9) for item, score in scores.items()}
    if low == high:
        return missing | dict.fromkeys(scores, on_constant)
    mean = statistics.fmean(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - ddof))
    formula = {
        "min_max": lambda s: (s - low) / (high - low),
        "min_max_inverted": lambda s: (high - s) / (high - low),
        "sum": lambda s: (s - low) / math.fsum(value - low for value in values),
        "zscore": lambda s: (s - mean) / deviation,
        "quantile": lambda s: (
            (sum(value < s for value in values) + (sum(value == s for value in values) - 1) / 2)
            / (len(values) - 1)
        ),
    }[method]
    return missing | {item: formula(score) for item, score in scores.items()}


def fuse(
    runs: Mapping[str, Sequence[Row]],
    method: str,
    *,
    k: float = 60,
    weights: Mapping[str, float] | None = None,
    normalization: str | None = None,
    on_constant: float = 0.0,
    ddof: int = 0,
    gamma: float = 1.0,
    sigma: float = 0.01,
    phi: float = 0.8,
) -> dict[str, list[tuple[str, float]]]:
    """Query to items with their scores, best first; equal scores (to 1e-12) are the caller's to judge."""
    weights = weights or dict.fromkeys(runs, 1.0)
    counted = [name for name in runs if weights[name] > 0]
    lists = {
        name: ranked(rows, descending=normalization != "min_max_inverted") for name, rows in runs.items()
    }
    if method == "dbsf":
        normalization, on_constant, ddof = "zscore", 0.0, 1
    if method == "relative_score":
        normalization, on_constant = "min_max", 1.0
    fused = {}
    for query in {row[0] for rows in runs.values() for row in rows}:
        here = {name: lists[name][query] for name in counted if query in lists[name]}
        lengths = {name: sum(row[0] == query for row in runs[name]) for name in here}
        candidates = sorted({item for entries in here.values() for item in entries})
        scaled = {
            name: normalize(
                entries, normalization, lengths[name], candidates, on_constant=on_constant, ddof=ddof
            )
            for name, entries in here.items()
        }
        if method == "dbsf":
            scaled = {
                name: {item: None if value is None else (value + 3) / 6 for item, value in values.items()}
                for name, values in scaled.items()
            }
        scores = {}
        for item in {item for entries in lists.values() for item in entries.get(query, {})}:
            ranks = {name: entries[item][0] for name, entries in here.items() if item in entries}
            values = {name: values[item] for name, values in scaled.items() if values.get(item) is not None}
            if method in ("condorcet", "copeland"):
                score = _duels(item, candidates, here, weights, method) if item in candidates else 0.0
            elif method in ("borda", "weighted_borda"):
                points = {
                    name: len(candidates) - ranks[name] + 1
                    if name in ranks
                    else (len(candidates) - lengths[name] + 1) / 2
                    for name in here
                }
                score = sum(weights[name] * points[name] for name in points) if item in candidates else 0.0
            elif method in ("rrf", "isr", "log_isr", "logn_isr", "rbc"):
                score = _by_rank(method, ranks, weights, k=k, sigma=sigma, phi=phi)
            else:
                score = _by_score(method, values, weights, len(counted), gamma)
            scores[item] = score
        fused[query] = _in_order(scores, [lists[name].get(query, {}) for name in runs])
    return fused


def _by_rank(method, ranks, weights, *, k, sigma, phi):
    if not ranks:
        return 0.0
    if method == "rrf":
        return math.fsum(weights[name] / (k + rank) for name, rank in ranks.items())
    if method == "rbc":
        return math.fsum(weights[name] * (1 - phi) * phi ** (rank - 1) for name, rank in ranks.items())
    total = math.fsum(weights[name] / rank**2 for name, rank in ranks.items())
    count = len(ranks)
    return total * {"isr": count, "log_isr": math.log(count), "logn_isr": math.log(count + sigma)}[method]


def _by_score(method, values, weights, systems, gamma):
    if not values:
        return 0.0
    weighted = [weights[name] * value for name, value in values.items()]
    total, count = math.fsum(weighted), len(weighted)
    return {
        "comb_sum": lambda: total,
        "weighted_sum": lambda: total,
        "dbsf": lambda: total,
        "relative_score": lambda: total,
        "comb_mean": lambda: total / systems,
        "comb_anz": lambda: total / count,
        "comb_mnz": lambda: total * count,
        "comb_gmnz": lambda: total * count**gamma,
        "comb_min": lambda: min(weighted),
        "comb_max": lambda: max(weighted),
        "comb_med": lambda: statistics.median(weighted),
        "mixed": lambda: total * math.sqrt(count),
        "wmnz": lambda: math.fsum(values.values()) * math.fsum(weights[name] for name in values),
        "convex": lambda: total / math.fsum(weights.values()),
    }[method]()


def _duels(item, candidates, here, weights, method):
    points = 0
    electorate = sum(weights[name] for name in here)
    for rival in candidates:
        ranks = [
            (weights[name], entries.get(item, (math.inf,))[0], entries.get(rival, (math.inf,))[0])
            for name, entries in here.items()
        ]
        won = sum(weight for weight, mine, other in ranks if mine < other)
        lost = sum(weight for weight, mine, other in ranks if mine > other)
        if method == "condorcet":
            points += rival != item and won - electorate / 2 > 1e-9
        else:
            points += (won - lost > 1e-9) - (lost - won > 1e-9)
    return float(points)


def _in_order(scores, lists):
    first = {}
    for entries in lists:
        for item in sorted(entries, key=lambda item: entries[item][0]):
            first.setdefault(item, len(first))
    return sorted(scores.items(), key=lambda pair: (-pair[1], first[pair[0]]))
