"""Measures as Polars expressions, one module per family, with their catalogue, names, options and conventions.

May import core.
"""
