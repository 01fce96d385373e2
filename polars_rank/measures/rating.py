"""Rating measures: errors of predicted ratings."""

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import number

_SOURCE = "doi:10.1145/963770.963772 (Herlocker et al. 2004)"
_UNBOUNDED = (0.0, float("inf"))


@measure(
    source=_SOURCE,
    bounds=_UNBOUNDED,
    higher_is_better=False,
    empty=None,
    names={"sklearn": {"root_mean_squared_error": {}}},
    needs_judgements=False,
)
def rmse(prediction: IntoColumn = "prediction", actual: IntoColumn = "actual") -> pl.Expr:
    r"""Root mean squared error of predicted ratings.

    $\sqrt{\frac{1}{n} \sum (prediction - actual)^2}$

    One row per pair of a predicted and an actual rating. Both are cast to Float64 first. A pair with a null
    is left out, NaN propagates, and no pair gives null.

    Parameters
    ----------
    prediction
        What was predicted.
    actual
        What came.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in units of the rating; lower is better.

    References
    ----------
    doi:10.1145/963770.963772 (Herlocker et al. 2004)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> ratings = pl.DataFrame({"prediction": [3.5, 4.0, 1.0], "actual": [4, 4, 3]})
    >>> round(ratings.select(rank.rmse()).item(), 4)
    1.1902
    """
    return ((number(prediction) - number(actual)) ** 2).mean().sqrt().alias(label("rmse"))


@measure(
    source=_SOURCE,
    bounds=_UNBOUNDED,
    higher_is_better=False,
    empty=None,
    names={"sklearn": {"mean_absolute_error": {}}},
    needs_judgements=False,
)
def mae(prediction: IntoColumn = "prediction", actual: IntoColumn = "actual") -> pl.Expr:
    r"""Mean absolute error of predicted ratings.

    $\frac{1}{n} \sum |prediction - actual|$

    One row per pair of a predicted and an actual rating. Both are cast to Float64 first. A pair with a null
    is left out, NaN propagates, and no pair gives null.

    Parameters
    ----------
    prediction
        What was predicted.
    actual
        What came.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in units of the rating; lower is better.

    References
    ----------
    doi:10.1145/963770.963772 (Herlocker et al. 2004)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> ratings = pl.DataFrame({"prediction": [3.5, 4.0, 1.0], "actual": [4, 4, 3]})
    >>> round(ratings.select(rank.mae()).item(), 4)
    0.8333
    """
    return (number(prediction) - number(actual)).abs().mean().alias(label("mae"))


@measure(
    source=_SOURCE,
    bounds=_UNBOUNDED,
    higher_is_better=False,
    empty=None,
    names={"sklearn": {"mean_squared_error": {}}},
    needs_judgements=False,
)
def mse(prediction: IntoColumn = "prediction", actual: IntoColumn = "actual") -> pl.Expr:
    r"""Mean squared error of predicted ratings.

    $\frac{1}{n} \sum (prediction - actual)^2$

    One row per pair of a predicted and an actual rating. Both are cast to Float64 first. A pair with a null
    is left out, NaN propagates, and no pair gives null.

    Parameters
    ----------
    prediction
        What was predicted.
    actual
        What came.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in units of the rating squared; lower is better.

    References
    ----------
    doi:10.1145/963770.963772 (Herlocker et al. 2004)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> ratings = pl.DataFrame({"prediction": [3.5, 4.0, 1.0], "actual": [4, 4, 3]})
    >>> round(ratings.select(rank.mse()).item(), 4)
    1.4167
    """
    return ((number(prediction) - number(actual)) ** 2).mean().alias(label("mse"))
