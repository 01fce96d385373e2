"""Comparisons to what people read: leaderboards, curves, charts, the HTML page.

May import core, measures, judging, evaluation and comparison.
"""
