"""Condorcet and Copeland fusion: compare every two items of a query, each list voting."""

from math import inf

import polars as pl

# Rounding errors in the sums of weights must not decide a comparison.
EPSILON = 1e-12

PAIR = ["query", "item_number", "opponent"]


def with_pairwise_wins(rows: pl.LazyFrame, method: str, *, shares: bool) -> pl.LazyFrame:
    """Add `points`, the score of an item, and `term`, the contribution of each list to it (or null).

    `rows` has one row per item of a query and list that answered the query. A list votes for the item
    with the lower rank, and for an item that it returned over one that it lacks. The cost is quadratic in
    the number of items of a query.
    """
    numbered = rows.with_columns(item_number=pl.col("item").rank("dense").over("query"))
    voters = numbered.filter(pl.col("weight") > 0).select(
        "query", "list", "weight", "item_number", rank=pl.col("rank").fill_null(inf)
    )
    opponents = voters.select("query", "list", opponent="item_number", other="rank")
    votes = voters.join(opponents, on=["query", "list"]).filter(pl.col("item_number") != pl.col("opponent"))
    won = pl.when(pl.col("rank") < pl.col("other")).then("weight").otherwise(0.0)
    lost = pl.when(pl.col("rank") > pl.col("other")).then("weight").otherwise(0.0)
    votes = votes.select(
        *PAIR, "list", won=won, against=lost if method == "copeland" else pl.lit(0.0), weight="weight"
    )

    vote = pl.col("won") - pl.col("against")
    balance, electorate = vote.sum(), pl.col("weight").sum()
    # Condorcet: more than half of all lists. Copeland: more lists for than against.
    threshold = electorate / 2 if method == "condorcet" else 0.0
    pairs = votes.group_by(PAIR).agg(
        balance=balance,
        won_pair=(balance - threshold > EPSILON * electorate).cast(pl.Float64)
        - (balance + threshold < -EPSILON * electorate).cast(pl.Float64),
    )
    totals = pairs.group_by("query", "item_number").agg(points=pl.col("won_pair").sum())
    result = numbered.join(totals, on=["query", "item_number"], how="left")
    if not shares:
        return result.with_columns(term=pl.lit(None, pl.Float64))
    share = pl.when(pl.col("won_pair") != 0).then(vote / pl.col("balance").abs()).otherwise(0.0)
    shared = votes.join(pairs, on=PAIR).group_by("query", "list", "item_number").agg(term=share.sum())
    return result.join(shared, on=["query", "list", "item_number"], how="left")
