"""The command line ``polars-rank`` and the drop-in for trec_eval.

May import every other package; no other package imports it.
"""
