"""Weights of the fused systems."""

from collections.abc import Iterable, Mapping, Sequence
from math import frexp, isfinite
from numbers import Real

Weights = Mapping[str, float] | Sequence[float]

# Exact sums keep the digits of a term only if its weight, and 1 / k, is at least this share of the largest.
_LEAST_SHARE = 2.0**-30


def resolve_weights(weights: Weights | None, systems: Sequence[str]) -> list[float]:
    """Return one weight per system, in the order of `systems`; all 1 if none are given."""
    if weights is not None and (isinstance(weights, str) or not hasattr(weights, "__len__")):
        raise TypeError(f"weights must be a dict of system to number, or a list of numbers, got {weights!r}")
    if weights is None or len(weights) == 0:
        return [1.0] * len(systems)
    if isinstance(weights, Mapping):
        require_every_system("weights", weights, systems)
        ordered = [weights[name] for name in systems]
    else:
        ordered = list(weights)
        if len(ordered) != len(systems):
            raise ValueError(
                f"weights holds {len(ordered)} numbers, but there are {len(systems)} lists: {list(systems)}"
            )
    for name, weight in zip(systems, ordered, strict=True):
        if not isinstance(weight, Real) or isinstance(weight, bool) or not isfinite(weight) or weight < 0:
            raise ValueError(
                f"weights must be finite numbers of at least 0, got {weight!r} for {name!r}; "
                "0 takes a list out of the scores"
            )
    if not isfinite(sum(ordered)):
        raise ValueError(f"weights must have a finite sum, got {ordered}")
    return [float(weight) for weight in ordered]


def require_every_system(
    argument: str, named: Sequence[str] | Mapping[str, float], systems: Iterable[str]
) -> None:
    """Refuse `named` unless it names each of the systems exactly once."""
    systems = list(systems)
    missing = [name for name in systems if name not in named]
    unknown = [name for name in named if name not in systems]
    if missing or unknown or len(set(named)) != len(named):
        raise ValueError(
            f"{argument} must name every system once or none; missing {missing}, unknown {unknown}; "
            f"the systems are {systems}"
        )


def weight_values(weights: Weights | None) -> list[float]:
    """Return the weights without their names."""
    return [] if weights is None else list(weights.values() if isinstance(weights, Mapping) else weights)


def exact_unit(k: Sequence[float], *weights: Weights | None) -> float | None:
    """Power of two above the sum of the weights, for exact sums; None if some terms are too small."""
    listed = [weight_values(each) for each in weights]
    total = max((sum(each) for each in listed), default=0) or 0.5
    least = min((weight for each in listed for weight in each if weight > 0), default=total)
    large = least >= _LEAST_SHARE * total and max(k, default=0) <= 1 / _LEAST_SHARE
    return 2.0 ** frexp(total)[1] if large and 1e-200 < total < 1e200 else None
