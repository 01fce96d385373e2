"""The SQL side: the macros' text, and how they get into a DuckDB connection."""

import re
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from polars_rank.fusion.method_macros import create_method_macros
from polars_rank.measures.catalogue import MEASURES

if TYPE_CHECKING:
    import duckdb

_INSTALLING = Lock()
_SHARED = ("options", "rows")
_RESERVED = ["", "information_schema", "pg_catalog", "system", "temp"]

# DuckDB compares names without regard to case.
_OCCUPIED = """
SELECT
    (SELECT path FROM duckdb_databases() WHERE lower(database_name) = lower($1) AND path IS NOT NULL) AS file,
    (SELECT count(*) > 0 FROM duckdb_databases() WHERE lower(database_name) = lower($1)) AS attached,
    (
        SELECT count(*) > 0 FROM duckdb_schemas()
        WHERE lower(schema_name) = lower($1) AND database_name = current_database()
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


def macros(name: str = "rank", *, persist: bool = False) -> str:
    """Text of every macro, for the catalogue or the schema `name`.

    Parameters
    ----------
    name
        In front of every macro.
    persist
        True if `name` is a schema of the current database, False if it is a catalogue of its own.

    Returns
    -------
    str
        ``CREATE OR REPLACE MACRO`` statements, file by file.

    Raises
    ------
    ValueError
        If the name is empty or one of DuckDB's own.

    Examples
    --------
    >>> import polars_rank as rank
    >>> rank.macros().count("CREATE OR REPLACE MACRO rank.ndcg(")
    1
    """
    # A macro can only be created after those that it calls.
    files = [
        file
        for folder in ("measures", "judging", "evaluation", "comparison", "fusion")
        for file in sorted(
            (_folder() / folder).glob("*.sql"), key=lambda file: (file.stem not in _SHARED, file.stem)
        )
    ]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    text = f"{text}\n{create_method_macros(text)}\n"
    # Helpers are called as rank.main._name(: the catalogue and its schema. A schema that persists is called
    # without its database, since files are renamed, and attached under other names.
    called = f"{_quoted(name)}."
    helpers = called if persist else f"{called}main."
    return re.sub(r"\brank\.(main\.)?(?=\w+\()", lambda call: helpers if call[1] else called, text)


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
    TypeError
        If `connection` is no DuckDB connection.
    ValueError
        If the name is empty, one of DuckDB's own, or taken by a database file or by a schema of the
        current database: calls would be ambiguous, or the macros would be written into the user's file.

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
    _require_connection(connection)
    # A cursor, since a failed ATTACH would abort the user's own open transaction. One thread at a time,
    # since two that replace one macro would conflict.
    with _INSTALLING, connection.cursor() as cursor:
        _refuse_occupied(cursor, name, persist=persist)
        cursor.execute(
            f"CREATE SCHEMA IF NOT EXISTS {_quoted(name)}"
            if persist
            else f"ATTACH IF NOT EXISTS ':memory:' AS {_quoted(name)} (READ_WRITE)"
        )
        cursor.execute(macros(name, persist=persist))
        for measure in MEASURES.values():
            summary = (measure.function.__doc__ or "").partition("\n")[0].replace("'", "''")
            cursor.execute(f"COMMENT ON MACRO {_quoted(name)}.{measure.name} IS '{summary}'")


def _require_connection(connection: object) -> None:
    import duckdb  # noqa: PLC0415

    if not isinstance(connection, duckdb.DuckDBPyConnection) and connection is not duckdb:
        opened = (
            f"; open one with duckdb.connect({str(connection)!r})"
            if isinstance(connection, str | Path)
            else ""
        )
        raise TypeError(f"connection must be an open DuckDB connection, got {connection!r}{opened}")


def _refuse_occupied(cursor: "duckdb.DuckDBPyConnection", name: str, *, persist: bool) -> None:
    [(file, attached, schema)] = cursor.execute(_OCCUPIED, [name]).fetchall()
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


def _quoted(name: str) -> str:
    if not name.isprintable() or name.lower() in _RESERVED:
        raise ValueError(f"name must be printable text and none of DuckDB's own {_RESERVED}, got {name!r}")
    # Any other name may be a word of SQL.
    return name if name == "rank" else '"' + name.replace('"', '""') + '"'


def _folder() -> Path:
    # In the wheel the folder is called macros; an editable install has only the source tree.
    packaged = Path(__file__).parent / "macros"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "sql"
