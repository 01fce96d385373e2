"""Evaluate rankings where the data lives: measures as Polars expressions and DuckDB SQL macros."""

import polars_rank.core.interrupts  # noqa: F401 - first: Ctrl-C during the imports below
from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.contributions import diff, gains
from polars_rank.comparison.corrections import adjust
from polars_rank.comparison.correlations import kendall_tau, rbo, spearman, tau_ap
from polars_rank.comparison.sample_size import power
from polars_rank.core.errors import DataError, DataWarning, NoMatchWarning
from polars_rank.evaluation.per_query import evaluate, summarize
from polars_rank.example_data import example
from polars_rank.files.from_python import from_dict, from_lists
from polars_rank.files.reading import read_qrels, read_run
from polars_rank.files.writing import write_run
from polars_rank.fusion.fused_run import fuse, rrf
from polars_rank.fusion.normalization import normalize_scores
from polars_rank.fusion.training import fit_fusion
from polars_rank.fusion.tuning import tune_fusion
from polars_rank.judging.health import check
from polars_rank.judging.judged_table import judge
from polars_rank.judging.subtopics import judge_subtopics
from polars_rank.measures.binary import (
    average_precision,
    f_measure,
    precision,
    r_precision,
    recall,
    set_average_precision,
    success,
)
from polars_rank.measures.cascade import err, rbp, rbp_residual, reciprocal_rank
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.diversity import (
    alpha_dcg,
    alpha_ndcg,
    ap_ia,
    err_ia,
    nerr_ia,
    nnrbp,
    nrbp,
    p_ia,
    subtopic_recall,
)
from polars_rank.measures.gain import dcg, ideal_dcg, ndcg
from polars_rank.measures.interpolated import eleven_point_precision, interpolated_precision
from polars_rank.measures.link import hits_at_k, mean_rank, mean_reciprocal_rank
from polars_rank.measures.names import parse, to_sql
from polars_rank.measures.overview import catalogue
from polars_rank.measures.pool import (
    bpref,
    inferred_ap,
    judged_share,
    num_nonrelevant_returned,
    num_queries,
    num_relevant,
    num_relevant_returned,
    num_returned,
    unjudged_share,
    utility,
)
from polars_rank.measures.preference import compatibility, pairwise_accuracy
from polars_rank.measures.rating import mae, mse, rmse
from polars_rank.measures.tied import expected_dcg, expected_ndcg
from polars_rank.measures.user_models import bpm, insq, inst, nerr, sdcg
from polars_rank.reporting.charts import (
    cutoffs_chart,
    differences_chart,
    precision_recall_chart,
    slices_chart,
    systems_chart,
)
from polars_rank.reporting.curves import by_cutoff, precision_recall
from polars_rank.reporting.leaderboards import leaderboard
from polars_rank.reporting.page import page
from polars_rank.sql import install, macros

__version__ = "0.1.0"

__all__ = [
    "MEASURES",
    "DataError",
    "DataWarning",
    "NoMatchWarning",
    "adjust",
    "alpha_dcg",
    "alpha_ndcg",
    "ap_ia",
    "average_precision",
    "bpm",
    "bpref",
    "by_cutoff",
    "catalogue",
    "check",
    "compare",
    "compatibility",
    "cutoffs_chart",
    "dcg",
    "diff",
    "differences_chart",
    "eleven_point_precision",
    "err",
    "err_ia",
    "evaluate",
    "example",
    "expected_dcg",
    "expected_ndcg",
    "f_measure",
    "fit_fusion",
    "from_dict",
    "from_lists",
    "fuse",
    "gains",
    "hits_at_k",
    "ideal_dcg",
    "inferred_ap",
    "insq",
    "inst",
    "install",
    "interpolated_precision",
    "judge",
    "judge_subtopics",
    "judged_share",
    "kendall_tau",
    "leaderboard",
    "macros",
    "mae",
    "mean_rank",
    "mean_reciprocal_rank",
    "mse",
    "ndcg",
    "nerr",
    "nerr_ia",
    "nnrbp",
    "normalize_scores",
    "nrbp",
    "num_nonrelevant_returned",
    "num_queries",
    "num_relevant",
    "num_relevant_returned",
    "num_returned",
    "p_ia",
    "page",
    "pairwise_accuracy",
    "parse",
    "power",
    "precision",
    "precision_recall",
    "precision_recall_chart",
    "r_precision",
    "rbo",
    "rbp",
    "rbp_residual",
    "read_qrels",
    "read_run",
    "recall",
    "reciprocal_rank",
    "rmse",
    "rrf",
    "sdcg",
    "set_average_precision",
    "slices_chart",
    "spearman",
    "subtopic_recall",
    "success",
    "summarize",
    "systems_chart",
    "tau_ap",
    "to_sql",
    "tune_fusion",
    "unjudged_share",
    "utility",
    "write_run",
]


def __dir__() -> list[str]:
    return __all__
