"""Per-query values to decisions: paired tests, corrections, power, contributions, correlations.

May import core, measures, judging and evaluation.
"""
