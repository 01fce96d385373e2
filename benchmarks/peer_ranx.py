"""Time ranx from the same Parquet files, in its own environment: prints [cold, warm] seconds as JSON."""

import json
import sys
import time


def main() -> None:
    start = time.perf_counter()
    import polars as pl
    from ranx import Qrels, Run, evaluate

    # ranx wants the ids as Python objects.
    ids = {"query": object, "item": object}
    run, qrels = (pl.read_parquet(path).to_pandas().astype(ids) for path in sys.argv[1:3])
    theirs = Run.from_df(run, q_id_col="query", doc_id_col="item", score_col="score")
    grades = Qrels.from_df(qrels, q_id_col="query", doc_id_col="item", score_col="relevance")
    measures = ["ndcg@10", "map", "mrr", "precision@10", "recall@10"]
    evaluate(grades, theirs, measures)
    cold = time.perf_counter() - start
    start = time.perf_counter()
    evaluate(grades, theirs, measures)
    print(json.dumps([cold, time.perf_counter() - start]))


if __name__ == "__main__":
    main()
