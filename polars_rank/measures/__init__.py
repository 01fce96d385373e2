"""Measures as Polars expressions, one module per family; their catalogue, names, options, conventions.

May import core.
"""
