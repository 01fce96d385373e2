"""Corrections of p values for multiple tests."""

from typing import Literal, get_args, overload

import polars as pl

from polars_rank.core.errors import require_choice

Correction = Literal["bonferroni", "holm", "benjamini-hochberg", "benjamini-yekutieli"]


@overload
def adjust(p_values: str | pl.Expr, method: Correction = "holm") -> pl.Expr: ...
@overload
def adjust(p_values: pl.Series, method: Correction = "holm") -> pl.Series: ...
def adjust(p_values: str | pl.Expr | pl.Series, method: Correction = "holm") -> pl.Expr | pl.Series:
    r"""Correct p values for multiple tests; a column (or each window of `.over`) is one family.

    With $m$ p values, of which $p_{(i)}$ is the i-th smallest: Bonferroni $m\,p$; Holm
    $\max_{j \le i} (m - j + 1)\,p_{(j)}$; Benjamini-Hochberg $\min_{j \ge i} m\,p_{(j)} / j$;
    Benjamini-Yekutieli that times $\sum_{j=1}^{m} 1/j$; none above 1.

    Parameters
    ----------
    p_values
        A column name or expression, or a Series. Null and NaN (no test was possible) give null and are not
        counted in $m$.
    method
        ``"bonferroni"`` and ``"holm"`` control the family-wise error rate (Holm is never less powerful).
        ``"benjamini-hochberg"`` controls the false discovery rate of independent or positively dependent
        tests, ``"benjamini-yekutieli"`` that of any tests.

    Returns
    -------
    Expr or Series
        A Series for a Series, otherwise an expression; Float64, in [0, 1].

    Raises
    ------
    ValueError
        If the method is unknown, or a Series holds a value outside [0, 1].

    References
    ----------
    Holm 1979; Benjamini & Hochberg 1995 (doi:10.1111/j.2517-6161.1995.tb02031.x); Benjamini &
    Yekutieli 2001 (doi:10.1214/aos/1013699998).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> rank.adjust(pl.Series("p", [0.01, 0.011, 0.6, None]), "holm").round(3).to_list()
    [0.03, 0.03, 0.6, None]
    """
    require_choice("method", method, get_args(Correction))
    if isinstance(p_values, pl.Series):
        real = p_values.cast(pl.Float64).fill_nan(None)
        if not real.drop_nulls().is_between(0, 1).all():
            raise ValueError(f"p_values must be in [0, 1], got {real.min()!r} to {real.max()!r}")
        return real.to_frame("p").select(adjust("p", method).alias(p_values.name)).to_series()
    if not isinstance(p_values, str | pl.Expr):
        kind = type(p_values).__name__
        raise TypeError(f"p_values must be a column, an expression or a Series, got {kind}; use pl.Series")
    p = pl.col(p_values) if isinstance(p_values, str) else p_values
    p = p.cast(pl.Float64).fill_nan(None)
    # Written out, because an expression works in lazy plans and `.over`. SciPy's false_discovery_control
    # takes arrays without nulls, and SciPy has neither Holm nor Bonferroni.
    number, place = p.count(), pl.int_range(pl.len()) + 1
    # Equal p values get equal results, so their order does not matter.
    ordered = p.sort(nulls_last=True)
    if method == "bonferroni":
        return (p * number).clip(upper_bound=1.0)
    if method == "holm":
        stepped = ((number + 1 - place) * ordered).cum_max()
    else:
        harmonic = (1 / place).filter(place <= number).sum() if method == "benjamini-yekutieli" else 1.0
        stepped = (ordered * number * harmonic / place).cum_min(reverse=True)
    return stepped.clip(upper_bound=1.0).gather(p.rank("ordinal") - 1)
