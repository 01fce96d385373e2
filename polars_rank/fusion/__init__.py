"""Several runs to one: methods, normalization, training and tuning.

May import core, measures, judging and evaluation.
"""
