"""Random draws that give the same result on every machine: seeded by size, and summed exactly.

Rows (one a slice, measure or pair of systems) of equal length form a matrix, and share the draws of that
length: each row sees a fair sample, and no row's result depends on which other rows there are.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr, ndtri

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

EXACT_SIZE = 16  # 2**16 sign patterns are quicker to list than to sample well
_BLOCK = 2**16  # numbers in a matrix of draws: half a MB, which stays in the cache and in the process
_RESULTS = 2**23  # numbers in a matrix of results, 64 MB
_ONE_THREAD = 2**18  # multiplications up to which OpenBLAS takes one thread


def matrices(*lists: pl.Series) -> Iterator[tuple[Places, tuple[Array, ...]]]:
    """Group the rows of list columns by length: their places, and one matrix a column."""
    sizes = lists[0].list.len().to_numpy()
    for size in np.unique(sizes[sizes > 0]):
        places = np.flatnonzero(sizes == size)
        yield places, tuple(_matrix(column.gather(places), int(size)) for column in lists)


def _matrix(lists: pl.Series, size: int) -> Array:
    return lists.explode().cast(pl.Float64).to_numpy().reshape(len(lists), size)


def on_grid(values: Array, terms: int) -> tuple[Array, Array]:
    """Round each row to whole multiples of a power of two, so coarse that sums of `terms` values are exact.

    An exact sum is the same in whatever order, and by however many threads, it is added. The grid is 2**-52
    of `terms` times the largest value. Gives the multiples and the unit of each row.
    """
    _, exponent = np.frexp(np.abs(values).max(axis=-1, keepdims=True) * terms)
    unit = np.ldexp(1.0, np.maximum(exponent - 52, -1000))
    return np.rint(values / unit), unit


def sign_patterns(size: int) -> Iterator[Array]:
    """Give all 2**size patterns of signs, a block at a time."""
    numbers = np.arange(2**size)[:, None]
    yield np.where((numbers >> np.arange(size)) & 1, 1.0, -1.0)


def random_signs(size: int, samples: int, seed: int) -> Iterator[Array]:
    """Give random patterns of signs, a block at a time."""
    generator = np.random.default_rng([seed, size])
    for rows in _blocks(samples, size):
        yield np.where(generator.integers(0, 2, (rows, size), dtype=np.int8) == 1, 1.0, -1.0)


def random_counts(size: int, samples: int, seed: int) -> Iterator[Array]:
    """Give how often each of `size` things is drawn in `size` draws with replacement, a block at a time."""
    generator = np.random.default_rng([seed, size])
    for rows in _blocks(samples, size):
        drawn = generator.integers(0, size, (rows, size)) + np.arange(rows)[:, None] * size
        yield np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)


def random_orders(size: int, width: int, samples: int, seed: int) -> Iterator[npt.NDArray[np.intp]]:
    """Give random orders of `width` things, one for each of `size` blocks, a few samples at a time."""
    generator = np.random.default_rng([seed, size, width])
    for rows in _blocks(samples, 4 * size * width):
        yield np.argsort(generator.random((rows, size, width)), axis=-1)


def _blocks(samples: int, size: int) -> Iterator[int]:
    rows = max(1, _BLOCK // size)
    yield from (min(rows, samples - start) for start in range(0, samples, rows))


def row_slices(rows: int, samples: int) -> Iterator[slice]:
    """Cut the rows of a matrix so that each part times `samples` stays small."""
    step = max(1, _RESULTS // samples)
    yield from (slice(start, start + step) for start in range(0, rows, step))


def product(rows: Array, draws: Array) -> Array:
    """Multiply each row by each draw and add up.

    A small product is taken in pieces so small that one thread does them: where a machine is busy, two
    that wait for each other take several times as long.
    """
    step = _ONE_THREAD // rows.size
    if step < 16:
        return rows @ draws.T
    pieces = [rows @ draws[start : start + step].T for start in range(0, len(draws), step)]
    return np.concatenate(pieces, axis=1)


def bootstrap_interval(
    values: Array, weights: Array | None = None, *, method: str, tail: float, samples: int, seed: int
) -> tuple[Array, Array]:
    """Give both ends of a bootstrap interval for each row's (weighted) mean, `tail` beyond either.

    `method` is "bootstrap", "basic" or "bca" (Efron 1987). Every row must vary.
    """
    low, high = np.empty(len(values)), np.empty(len(values))
    weight = np.ones_like(values) if weights is None else weights
    for rows in row_slices(len(values), samples):
        x, w = values[rows], weight[rows]
        means = (x * w).sum(axis=1) / w.sum(axis=1)
        drawn = np.sort(_resampled_means(x, w, samples, seed), axis=1)
        lower, upper = np.full(len(x), tail), np.full(len(x), 1 - tail)
        if method == "bca":
            lower, upper = _bca_levels(x, w, means, drawn, tail)
        ends = _quantile(drawn, lower), _quantile(drawn, upper)
        low[rows], high[rows] = (2 * means - ends[1], 2 * means - ends[0]) if method == "basic" else ends
    return low, high


def _resampled_means(values: Array, weights: Array, samples: int, seed: int) -> Array:
    size = values.shape[1]
    sums, unit = on_grid(values * weights, size)
    totals, total_unit = on_grid(weights, size)
    alike = bool((weights == 1).all())
    means = []
    for counts in random_counts(size, samples, seed):
        total = float(size) if alike else product(totals, counts) * total_unit
        with np.errstate(invalid="ignore"):
            means.append(product(sums, counts) * unit / total)
    return np.concatenate(means, axis=1)


def _quantile(drawn: Array, levels: Array) -> Array:
    """Interpolate linearly in sorted rows, each at its own level; NaN, sorted last, is left out."""
    places = levels * ((~np.isnan(drawn)).sum(axis=1) - 1)
    below = np.floor(places).astype(np.intp)
    pair = np.take_along_axis(drawn, np.stack([below, np.ceil(places).astype(np.intp)], axis=1), axis=1)
    ends: Array = pair[:, 0] + (places - below) * (pair[:, 1] - pair[:, 0])
    return ends


def _bca_levels(
    values: Array, weights: Array, means: Array, drawn: Array, tail: float
) -> tuple[Array, Array]:
    samples = drawn.shape[1]
    centre = means[:, None]
    rounding = 1e-12 * np.abs(values).max(axis=1, keepdims=True)
    below, above = drawn < centre - rounding, drawn > centre + rounding
    share = (samples + below.sum(axis=1) - above.sum(axis=1)) / (2 * samples)
    bias = ndtri(np.clip(share, 0.5 / samples, 1 - 0.5 / samples))
    # The mean without one value is the mean, less that value's part.
    parts = weights * (values - centre) / np.maximum(weights.sum(axis=1, keepdims=True) - weights, 1e-300)
    parts -= parts.mean(axis=1, keepdims=True)
    skew = (parts**3).sum(axis=1) / (6 * (parts**2).sum(axis=1) ** 1.5)
    shifted = [bias + z for z in (ndtri(tail), ndtri(1 - tail))]
    lower, upper = (ndtr(bias + z / (1 - skew * z)) for z in shifted)
    return lower, upper
