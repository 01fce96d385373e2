"""The measures as a table."""

import polars as pl
from polars.datatypes import DataTypeClass

from polars_rank.measures.catalogue import MEASURES


def catalogue() -> pl.DataFrame:
    """Return the measures as a table: family, range, direction, names in other tools.

    Returns
    -------
    DataFrame
        One row per measure, by family and name: `name`; `family`, such as ``"gain"``; `low` and `high`, the
        range of its values (Float64, may be infinite); `higher_is_better`; `aggregate`, how `summarize`
        combines queries (``"mean"``, ``"sum"``, ``"geometric"``); `source`; `other_names`, a list of
        `program` and `name`, where ``_k``, ``_x`` and ``@k`` are followed by a number.

    Examples
    --------
    >>> import polars_rank as rank
    >>> rank.catalogue().filter(name="reciprocal_rank").select("family", "low", "high").row(0)
    ('cascade', 0.0, 1.0)
    >>> elsewhere = rank.catalogue().explode("other_names").unnest("other_names", separator=".")
    >>> elsewhere.filter(name="reciprocal_rank")["other_names.name"].head(3).to_list()
    ['RR', 'MRR', 'recip_rank']
    """
    rows = [
        {
            "name": name,
            "family": measure.function.__module__.rpartition(".")[2],
            "low": measure.bounds[0],
            "high": measure.bounds[1],
            "higher_is_better": measure.higher_is_better,
            "aggregate": measure.aggregate,
            "source": measure.source,
            "other_names": [
                {"program": program, "name": other}
                for program, others in measure.names.items()
                for other in others
            ],
        }
        for name, measure in MEASURES.items()
    ]
    names = pl.List(pl.Struct({"program": pl.String, "name": pl.String}))
    types: dict[str, pl.DataType | DataTypeClass] = {
        "low": pl.Float64,
        "high": pl.Float64,
        "other_names": names,
    }
    return pl.DataFrame(rows, schema_overrides=types).sort("family", "name")
