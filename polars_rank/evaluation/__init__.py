"""Judged table to per-query values and their summary.

May import core, measures and judging.
"""
