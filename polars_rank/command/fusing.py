"""The command that fuses runs."""

import io
from typing import Annotated, Literal

import polars as pl
from cyclopts import Parameter

import polars_rank as rank
from polars_rank.command.arguments import Fields, Output, Switch, columns_of, weights_of
from polars_rank.command.inputs import reading_errors, without_keys
from polars_rank.command.output import keep_inputs, print_bytes, warnings_as_notes
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.files.detection import Format
from polars_rank.files.run_files import read_runs
from polars_rank.files.writing import writable_run, write_rows


def fuse(
    *runs: str,
    output: Output = None,
    method: str = "rrf",
    k: Annotated[float, Parameter(name=["--k", "-k"])] = 60,
    weights: Fields = None,
    normalize: str | None = None,
    order_by: OrderBy | None = None,
    distances: Switch = False,
    ties: ItemTies = "item-descending",
    rank_base: Literal[0, 1] = 1,
    duplicates: Literal["first", "error"] = "first",
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    columns: Fields = None,
    comments: Switch = False,
) -> None:
    """Fuse runs into one, query by query.

    Items with equal fused scores are ordered by their first occurrence in the runs. The ranks in the output
    preserve this order: evaluate it with --order-by rank.

    Parameters
    ----------
    runs
        Runs to fuse; a file may contain several systems.
    output
        Output file instead of standard output; .csv, .tsv, .jsonl and .parquet select the format, any other
        name TREC text; .gz compresses it.
    method
        Fusion method: rrf, isr, borda, condorcet, comb_sum, comb_mnz, dbsf and more; see
        help(polars_rank.fuse).
    k
        Constant that rrf adds to each rank.
    weights
        Weight of each system, in order (2,1) or by name (bm25=2,dense=1).
    normalize
        Normalization of the scores before they are added: min_max, max, sum, zscore, rank, borda and more.
    order_by
        Column to rank by: score or rank. Default: score, if the run has one.
    distances
        Rank low scores first.
    ties
        Order of equal scores within a run.
    rank_base
        First rank in the runs: 1, or 0.
    duplicates
        What to do with an item that a system returned twice: first (count its best rank) or error.
    format
        Output format; overrides the file name.
    columns
        Fields of a file without a header (query,item,score), or the header's names for them
        (query=topic,item=url).
    comments
        Skip lines that begin with #.
    """
    keep_inputs([output], runs)
    with reading_errors("fuse takes runs only"):
        files = read_runs(runs, columns=columns_of(columns), comments=comments)
    systems = {
        system: file.rows.filter(pl.col("system").eq_missing(pl.lit(system)))
        for file in files
        for system in file.systems
    }
    if len(systems) < 2:
        raise ValueError(f"fuse takes two runs or more, got {len(systems)}")
    with warnings_as_notes(), without_keys():
        fused = rank.fuse(
            systems,
            method,
            k=k,
            weights=weights_of(weights),
            normalize=normalize,
            order_by=order_by,
            descending=not distances,
            ties=ties,
            rank_base=rank_base,
            duplicates=duplicates,
        )
        # A lazy run is fused, and its warnings are raised, while it is written.
        if output is not None:
            rank.write_run(fused, output, format=format, system=method)
            return
        written, chosen = io.BytesIO(), format or "trec"
        write_rows(writable_run(fused, chosen, method), written, chosen)
        print_bytes(written.getvalue())
