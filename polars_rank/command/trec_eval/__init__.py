"""``polars-rank trec-eval``: the output of trec_eval, byte for byte.

May import core, measures, judging and files.
"""
