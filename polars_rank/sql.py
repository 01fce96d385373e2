"""The SQL side: the macros' text, and how they get into a DuckDB connection."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from polars_rank.catalogue import MEASURES

if TYPE_CHECKING:
    import duckdb

_OCCUPIED = """
SELECT
    (SELECT path FROM duckdb_databases() WHERE database_name = {name} AND path IS NOT NULL) AS file,
    (SELECT count(*) > 0 FROM duckdb_databases() WHERE database_name = {name}) AS attached,
    (
        SELECT count(*) > 0 FROM duckdb_schemas()
        WHERE schema_name = {name} AND database_name = current_database()
    ) AS schema
"""

# Read by `duckdb -init`. The checks are those of `install`; .bail keeps a failed one from going on.
_INIT = """\
.bail on
SET VARIABLE _rank_free = (
    SELECT count(*) FROM (
        SELECT 'a database rank with the file ' || path AS occupied
        FROM duckdb_databases() WHERE database_name = 'rank' AND path IS NOT NULL
        UNION ALL
        SELECT 'a schema rank in ' || database_name
        FROM duckdb_schemas() WHERE schema_name = 'rank' AND database_name = current_database()
    ) WHERE error('the macros need the name rank, but there is ' || occupied)
);
ATTACH IF NOT EXISTS ':memory:' AS rank (READ_WRITE);
"""


def macros(name: str = "rank", database: str | None = None) -> str:
    """Text of every macro, for the catalogue `name` or for a schema of a database.

    Parameters
    ----------
    name
        In front of every macro.
    database
        The database in which `name` is a schema; None if `name` is a catalogue of its own.

    Returns
    -------
    str
        ``CREATE OR REPLACE MACRO`` statements, file by file.

    Examples
    --------
    >>> import polars_rank as rank
    >>> rank.macros().count("CREATE OR REPLACE MACRO rank.ndcg(")
    1
    """
    # A macro can only be made when those that it calls are there.
    files = sorted(
        _folder().glob("*.sql"),
        key=lambda file: (file.stem != "helpers", file.stem == "evaluation", file.stem),
    )
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    # Helpers are called as rank.main._name(: the catalogue and its schema.
    catalogue = f"{_quoted(name)}." if database is None else f"{_quoted(database)}.{_quoted(name)}."
    schema = "main." if database is None else ""
    return re.sub(r"\brank\.(main\.)?(?=\w+\()", lambda call: catalogue + (schema if call[1] else ""), text)


def init_text() -> str:
    """Text for ``duckdb -init``: checks that the name is free, attaches the catalogue, makes the macros."""
    return f"{_INIT}\n{macros()}\n.bail off\n"


def install(connection: "duckdb.DuckDBPyConnection", name: str = "rank", *, persist: bool = False) -> None:
    """Make the macros of a DuckDB connection: ``rank.ndcg(rank, relevance, k := 10)``.

    They live in an attached in-memory catalogue: found under any ``USE``, from cursors, on a
    read-only connection, and nothing is written to the user's file.

    Parameters
    ----------
    connection
        An open DuckDB connection.
    name
        Name of the catalogue, in front of every macro.
    persist
        Make a schema in the current database instead, for views that live there.

    Raises
    ------
    ValueError
        If the name is taken by a database file or by a schema of the current database: calls would be
        ambiguous, or the macros would be written into the user's file.

    Examples
    --------
    >>> import duckdb
    >>> import polars_rank as rank
    >>> connection = duckdb.connect()
    >>> rank.install(connection)
    >>> connection.sql(
    ...     "SELECT rank.ndcg(rank, relevance) FROM (VALUES (1, 0), (2, 1)) AS judged (rank, relevance)"
    ... ).fetchall()
    [(0.6309297535714575,)]
    """
    # A cursor, since a failed ATTACH would abort the user's own open transaction.
    cursor = connection.cursor()
    literal, quoted = "'" + name.replace("'", "''") + "'", _quoted(name)
    [(file, attached, schema)] = cursor.execute(_OCCUPIED.format(name=literal)).fetchall()
    way_out = "choose another with install(connection, name=...)"
    if file is not None:
        raise ValueError(f"name {name!r} is taken by the attached database {file!r}; {way_out}")
    if persist and attached:
        raise ValueError(
            f"name {name!r} is an attached catalogue already: with a schema of that name every call would be "
            f"ambiguous; DETACH it first, or {way_out}"
        )
    if schema and not persist:
        raise ValueError(
            f"the current database has a schema {name!r}: with a catalogue of that name every call would be "
            f"ambiguous; {way_out}, or persist=True to renew the macros in that schema"
        )
    cursor.execute(
        f"CREATE SCHEMA IF NOT EXISTS {quoted}"
        if persist
        else f"ATTACH IF NOT EXISTS ':memory:' AS {quoted} (READ_WRITE)"
    )
    cursor.execute(macros(name, _current_database(cursor) if persist else None))
    for measure in MEASURES.values():
        summary = (measure.function.__doc__ or "").partition("\n")[0].replace("'", "''")
        cursor.execute(f"COMMENT ON MACRO {quoted}.{measure.name} IS '{summary}'")
    cursor.close()


def _current_database(cursor: "duckdb.DuckDBPyConnection") -> str:
    [(database,)] = cursor.execute("SELECT current_database()").fetchall()
    return str(database)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _folder() -> Path:
    # In the wheel the folder is called macros; an editable install has only the source tree.
    packaged = Path(__file__).parent / "macros"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "sql"
