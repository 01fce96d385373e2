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

    Equal fused scores stand in the order in which items first come. The ranks of the run that is written
    keep it: evaluate it with --order-by rank.

    Parameters
    ----------
    runs
        What systems returned; a file may hold several.
    output
        Run to write, instead of printing TREC text. Its name tells the format: .csv, .tsv, .jsonl, .parquet,
        else TREC text; .gz packs it.
    method
        rrf, isr, borda, condorcet, comb_sum, comb_mnz, dbsf and more, as in help(polars_rank.fuse).
    k
        What rrf adds to each rank.
    weights
        A number for each system, in their order (2,1) or by name (bm25=2,dense=1).
    normalize
        One scale for the scores before they are added: min_max, max, sum, zscore, rank, borda and more.
    order_by
        score or rank; default: the score if there is one.
    distances
        A low score is good.
    ties
        Order of equal scores within a run.
    rank_base
        0 for ranks that count from 0.
    duplicates
        An item that a system returned twice: first counts its best rank; or error.
    format
        Overrules the name.
    columns
        The fields of a file without a header (query,item,score), or what its header calls them
        (query=topic,item=url).
    comments
        Pass over lines that begin with #.
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
        # A lazy run is fused, and warned of, as it is written.
        if output is not None:
            rank.write_run(fused, output, format=format, system=method)
            return
        written, chosen = io.BytesIO(), format or "trec"
        write_rows(writable_run(fused, chosen, method), written, chosen)
        print_bytes(written.getvalue())
