"""User models: the probability of reading on after each place, given what was read so far (C/W/L).

C is the probability of continuing after a place. The weight W of a place is the product of the C before it,
scaled so that all weights sum to 1. The measure is the mean gain under these weights.
"""

from collections.abc import Callable
from typing import Literal

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import nan_beyond, number, relevant, returned

_MOFFAT = "doi:10.1145/3052768 (Moffat et al. 2017)"
_PLACES = 1000  # as many as cwl_eval walks


@measure(
    source="doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002); ir_measures SDCG",
    names={"ir_measures": {"SDCG": {}}},
    ignores_unjudged=True,
)
def sdcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    max_relevance: float = 1,
) -> pl.Expr:
    r"""Scaled DCG: DCG divided by that of a list of top grades.

    $\sum_{i \le k} W_i g_i$ with $W_i \propto 1 / \log_2(i + 1)$ and $g = relevance / max\_relevance$.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0. Gains at one place add up, to at most 1. A fractional rank counts at the next place.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Places that are read; None for the first 1000.
    max_relevance
        Top of the grade scale. A larger grade anywhere in the group gives NaN.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002); ir_measures SDCG.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [2, 0, 1]})
    >>> round(judged.select(rank.sdcg(k=3, max_relevance=2)).item(), 4)
    0.5866
    """
    name = label("sdcg", k=k, max_relevance=max_relevance)
    return _mean_gain(rank, relevance, k, max_relevance, lambda i, _: (i + 1).log(2) / (i + 2).log(2)).alias(
        name
    )


@measure(
    source="doi:10.1145/3077136.3080841 (Zhang et al. 2017)",
    names={"ir_measures": {"BPM": {}}},
    ignores_unjudged=True,
)
def bpm(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    target: float = 1.0,
    max_relevance: float = 1,
) -> pl.Expr:
    r"""Bejeweled player model: mean gain until the target is reached or k places are read.

    $\sum_i W_i g_i$ with $C_i = 1$ while $i < k$ and $\sum_{j \le i} g_j < T$, else 0, and
    $g = relevance / max\_relevance$.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0. Gains at one place add up, to at most 1. A fractional rank counts at the next place.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Places that are read at most; None for the first 1000.
    target
        T, the total gain that is wanted.
    max_relevance
        Top of the grade scale. A larger grade anywhere in the group gives NaN.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or target or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/3077136.3080841 (Zhang et al. 2017), the static model.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, 4], "relevance": [0, 1, 1, 1]})
    >>> judged.select(rank.bpm(k=10)).item()
    0.5
    """
    name = label("bpm", k=k, target=target, max_relevance=max_relevance)
    return _mean_gain(
        rank,
        relevance,
        k,
        max_relevance,
        # A sum of thirds may fall short of 1 by a rounding.
        lambda _, g: (g.cum_sum() < target - 1e-12).cast(pl.Float64),
    ).alias(name)


@measure(
    source=_MOFFAT,
    names={"ir_measures": {"INSQ": {}}},
    ignores_unjudged=True,
)
def insq(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    target: float = 1.0,
    max_relevance: float = 1,
) -> pl.Expr:
    r"""Inverse squares (INSQ): mean gain of a user who is more likely to continue further down.

    $\sum_i W_i g_i$ with $C_i = ((i + 2T - 1) / (i + 2T))^2$ over the first 1000 places, and
    $g = relevance / max\_relevance$.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0. Gains at one place add up, to at most 1. A fractional rank counts at the next place.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    target
        T, the total gain that is wanted.
    max_relevance
        Top of the grade scale. A larger grade anywhere in the group gives NaN.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If target or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/3052768 (Moffat et al. 2017), as cwl_eval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [1, 0, 1]})
    >>> round(judged.select(rank.insq()).item(), 4)
    0.4853
    """
    name = label("insq", target=target, max_relevance=max_relevance)
    return _mean_gain(rank, relevance, None, max_relevance, lambda i, _: _square(i + 2 * target)).alias(name)


@measure(
    source=_MOFFAT,
    names={"ir_measures": {"INST": {}}},
    ignores_unjudged=True,
)
def inst(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    target: float = 1.0,
    max_relevance: float = 1,
) -> pl.Expr:
    r"""INST: inverse squares of a user who stops as the target is reached.

    $\sum_i W_i g_i$ with $C_i = ((i + T + T_i - 1) / (i + T + T_i))^2$, $T_i = T - \sum_{j \le i} g_j$, over
    the first 1000 places, and $g = relevance / max\_relevance$.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0. Gains at one place add up, to at most 1. A fractional rank counts at the next place.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    target
        T, the total gain that is wanted.
    max_relevance
        Top of the grade scale. A larger grade anywhere in the group gives NaN.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If target or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/3052768 (Moffat et al. 2017), as cwl_eval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [1, 0, 1]})
    >>> round(judged.select(rank.inst()).item(), 4)
    0.7233
    """
    name = label("inst", target=target, max_relevance=max_relevance)
    return _mean_gain(
        rank, relevance, None, max_relevance, lambda i, g: _square(i + 2 * target - g.cum_sum())
    ).alias(name)


@measure(
    source="doi:10.1145/3471158.3472239 (Azzopardi et al. 2021)",
    names={
        "ir_measures": {
            "NERR8": {"equation": 8},
            "NERR9": {"equation": 9},
            "NERR10": {"equation": 10},
            "NERR11": {"equation": 11},
        }
    },
    ignores_unjudged=True,
)
def nerr(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    equation: Literal[8, 9, 10, 11] = 8,
    persistence: float = 0.9,
    target: float = 1.0,
    max_relevance: float = 1,
) -> pl.Expr:
    r"""Nearly expected reciprocal rank: four user models that stop at a satisfying item.

    $\sum_{i \le k} W_i g_i$ with $C_i = (1 - g_i) D_i$ and $D_i$ by equation: $1$ (8), $i / (i + 1)$ (9),
    $p$ (10), $((i + 2T - 1) / (i + 2T))^2$ (11), and $g = relevance / max\_relevance$.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0. Gains at one place add up, to at most 1. A fractional rank counts at the next place.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Places that are read at most; None for the first 1000.
    equation
        8, 9, 10 or 11: the number that the model has in the paper.
    persistence
        p of equation 10, the chance to go on.
    target
        T of equation 11, the total gain that is wanted.
    max_relevance
        Top of the grade scale. A larger grade anywhere in the group gives NaN.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, equation is not one of the four, persistence is not in [0, 1), or target
        or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/3471158.3472239 (Azzopardi et al. 2021).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [0, 1, 1]})
    >>> judged.select(rank.nerr(k=10)).item()
    0.5
    """
    name = label(
        "nerr",
        k=k,
        equation=equation,
        persistence=persistence,
        target=target,
        max_relevance=max_relevance,
    )
    go_on: dict[int, Callable[[pl.Expr], pl.Expr | float]] = {
        8: lambda _: 1.0,
        9: lambda i: i / (i + 1),
        10: lambda _: float(persistence),
        11: lambda i: _square(i + 2 * target),
    }
    return _mean_gain(rank, relevance, k, max_relevance, lambda i, g: (1 - g) * go_on[equation](i)).alias(
        name
    )


def _mean_gain(
    rank: IntoColumn,
    relevance: IntoColumn,
    k: int | None,
    max_relevance: float,
    go_on: Callable[[pl.Expr, pl.Expr], pl.Expr],
) -> pl.Expr:
    """Mean gain per place under a model; `go_on` is the probability of continuing after each place."""
    r, grade = number(rank), number(relevance)
    gaining = relevant(grade, 0) & returned(r, k or _PLACES)
    i = pl.int_range(1, (k or _PLACES) + 1).cast(pl.Float64)
    # Every place is appended to the rows, behind those that stand there: the rows' sum up to each is known.
    place = r.filter(gaining).append(i)
    gains = (grade / max_relevance).filter(gaining)
    is_place = (gains * 0).append(i * 0 + 1)
    so_far = gains.append(i * 0).sort_by(place, is_place).cum_sum()
    so_far = so_far.filter(is_place.sort_by(place, is_place) == 1)
    gain = (so_far - so_far.shift(1, fill_value=0.0)).clip(upper_bound=1)
    weight = go_on(i, gain).cum_prod().shift(1, fill_value=1.0)
    return nan_beyond((weight * gain).sum() / weight.sum(), grade, max_relevance)


def _square(a: pl.Expr) -> pl.Expr:
    return ((a - 1) / a) ** 2
