"""Evaluate rankings where the data lives: measures as Polars expressions and DuckDB SQL macros."""
