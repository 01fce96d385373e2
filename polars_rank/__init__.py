"""Evaluate rankings where the data lives: measures as Polars expressions and DuckDB SQL macros."""

from polars_rank.catalogue import MEASURES
from polars_rank.errors import DataError
from polars_rank.measures.binary import (
    average_precision,
    f_measure,
    precision,
    r_precision,
    recall,
    success,
)
from polars_rank.measures.cascade import err, rbp, reciprocal_rank
from polars_rank.measures.gain import dcg, ideal_dcg, ndcg
from polars_rank.measures.link import hits_at_k, mean_rank, mean_reciprocal_rank
from polars_rank.measures.pool import (
    bpref,
    judged_share,
    num_relevant,
    num_relevant_returned,
    num_returned,
)
from polars_rank.measures.rating import mae, mse, rmse

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "DataError",
    "average_precision",
    "bpref",
    "dcg",
    "err",
    "f_measure",
    "hits_at_k",
    "ideal_dcg",
    "judged_share",
    "mae",
    "mean_rank",
    "mean_reciprocal_rank",
    "mse",
    "ndcg",
    "num_relevant",
    "num_relevant_returned",
    "num_returned",
    "precision",
    "r_precision",
    "rbp",
    "recall",
    "reciprocal_rank",
    "rmse",
    "success",
]
