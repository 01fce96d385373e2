"""Fusion by duels: every item of a query against every other, each list a voter."""

from math import inf

import polars as pl

# Sums of weights that are equal in exact arithmetic must not decide a duel by their last bit.
EPSILON = 1e-12

DUEL = ["query", "seat", "rival"]


def contested(rows: pl.LazyFrame, method: str, *, shares: bool) -> pl.LazyFrame:
    """Add `decided`, the points that an item won, and `term`, each list's share in them (or null).

    Takes a row for each item of a query and each list that answered the query. A list prefers the
    item with the lower rank, and any item that it returned to one that it did not. The cost grows
    with the square of the items of a query.
    """
    seated = rows.with_columns(seat=pl.col("item").rank("dense").over("query"))
    voters = seated.filter(pl.col("weight") > 0).select(
        "query", "list", "weight", "seat", rank=pl.col("rank").fill_null(inf)
    )
    rivals = voters.select("query", "list", rival="seat", other="rank")
    votes = voters.join(rivals, on=["query", "list"]).filter(pl.col("seat") != pl.col("rival"))
    won = pl.when(pl.col("rank") < pl.col("other")).then("weight").otherwise(0.0)
    lost = pl.when(pl.col("rank") > pl.col("other")).then("weight").otherwise(0.0)
    votes = votes.select(
        *DUEL, "list", won=won, against=lost if method == "copeland" else pl.lit(0.0), weight="weight"
    )

    vote = pl.col("won") - pl.col("against")
    balance, electorate = vote.sum(), pl.col("weight").sum()
    # Condorcet wants more than half of all lists, Copeland more lists for than against.
    threshold = electorate / 2 if method == "condorcet" else 0.0
    duels = votes.group_by(DUEL).agg(
        balance=balance,
        points=(balance - threshold > EPSILON * electorate).cast(pl.Float64)
        - (balance + threshold < -EPSILON * electorate).cast(pl.Float64),
    )
    decided = duels.group_by("query", "seat").agg(decided=pl.col("points").sum())
    result = seated.join(decided, on=["query", "seat"], how="left")
    if not shares:
        return result.with_columns(term=pl.lit(None, pl.Float64))
    share = pl.when(pl.col("points") != 0).then(vote / pl.col("balance").abs()).otherwise(0.0)
    shared = votes.join(duels, on=DUEL).group_by("query", "list", "seat").agg(term=share.sum())
    return result.join(shared, on=["query", "list", "seat"], how="left")
