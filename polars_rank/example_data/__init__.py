"""The bundled collection: Python's own docstrings, searched by three systems."""

from importlib.resources import files
from typing import NamedTuple

import polars as pl


class Example(NamedTuple):
    """Four tables that belong together; `example` tells what their rows are."""

    run: pl.DataFrame
    qrels: pl.DataFrame
    queries: pl.DataFrame
    items: pl.DataFrame


def example() -> Example:
    """Load a small real collection: a run of three systems, judgements, queries and items.

    The items are the docstrings of public classes, functions and methods of Python's standard
    library. Three systems, with their packages' defaults, gave their top 50 for each query: `bm25`
    (bm25s), `word-tfidf` and `char-tfidf` (scikit-learn; words, and character n-grams of 3 to 5).
    Judgements come from rules, so they are right about most rows rather than every one;
    `benchmarks/make_example.py` states the rules and makes the files.

    Returns
    -------
    Example
        A named tuple of four DataFrames. All ids and texts are String; nothing is null.

        - `run`: one row an item that a system returned: `query`, `item`, `score` (Float64 above 0,
          rounded to 4 decimals, so that ties occur), `system`.
        - `qrels`: one row a judgement: `query`, `item`, `relevance` (Int64). For a known-item query
          2 is the object itself, 1 another of its module that shares a word of its name, 0 the rest
          of the module and objects of the same name elsewhere; for a topical query 2 answers it,
          1 helps, 0 is near and doesn't. Every query has an item of grade 2.
        - `queries`: one row a query: `query`, `text`, `kind` (`"known-item"`: the first sentence
          of a docstring without the words of the object's name; `"topical"`: a task in other words),
          `length` (`"short"`: up to 4 words; else `"long"`). `kind` and `length` serve as attributes.
        - `items`: one row an object: `item` (its qualified name, such as `json.dumps`), `text` (the
          first 300 characters of its docstring at most), `module`.

    Notes
    -----
    The texts are excerpts of CPython's docstrings, copyright of the Python Software Foundation, under
    PSF-2.0: see `LICENSE-PSF.txt` beside the files. `meta.json` names the versions of Python and of
    the packages that made them.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.example_data import example
    >>> run, qrels, queries, items = example()
    >>> run.group_by("system").agg(pl.col("query").n_unique()).sort("system").rows()
    [('bm25', 261), ('char-tfidf', 261), ('word-tfidf', 261)]
    >>> queries.filter(kind="topical").sort("query")["text"].head(2).to_list()
    ['compress bytes', 'read a file that was packed with gzip']
    """
    return Example(*(_read(table) for table in Example._fields))


def _read(table: str) -> pl.DataFrame:
    # Bytes rather than a path: the package may be imported from a zip file.
    return pl.read_parquet(files(__name__).joinpath(f"{table}.parquet").read_bytes())
