"""Installing the macros: from several threads, under any name, and into a file that is renamed later."""

from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

import polars_rank as rank

VALUE = "SELECT {name}.ndcg(rank, relevance, k := 10) FROM (VALUES (1, 0), (2, 1)) AS t (rank, relevance)"
NDCG = [(0.6309297535714575,)]


@pytest.mark.parametrize("persist", [False, True])
@pytest.mark.parametrize("connect", ["cursor", "connection"])
def test_several_threads_install_at_once(tmp_path, connect, persist):
    file = tmp_path / "log.duckdb"
    with duckdb.connect(file) as connection:

        def install(_):
            with connection.cursor() if connect == "cursor" else duckdb.connect(file) as ours:
                rank.install(ours, persist=persist)
                return ours.execute(VALUE.format(name="rank")).fetchall()

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(install, range(16))) == [NDCG] * 16


@pytest.mark.parametrize("persist", [False, True])
@pytest.mark.parametrize("name", ["select", "order", "Rank", 'we"ird', "a.b", "it's", "1st", "ünï"])
def test_any_name_is_quoted(name, persist):
    with duckdb.connect() as connection:
        for _ in range(2):
            rank.install(connection, name=name, persist=persist)
        quoted = '"' + name.replace('"', '""') + '"'
        assert connection.execute(VALUE.format(name=quoted)).fetchall() == NDCG


@pytest.mark.parametrize("persist", [False, True])
@pytest.mark.parametrize("name", ["", "temp", "SYSTEM", "information_schema", "pg_catalog", "two\nlines"])
def test_a_name_that_duckdb_cannot_take_is_refused(name, persist):
    with duckdb.connect() as connection, pytest.raises(ValueError, match="name"):
        rank.install(connection, name=name, persist=persist)


@pytest.mark.parametrize("connection", ["log.duckdb", None, 3])
def test_what_is_no_connection_is_refused(connection):
    with pytest.raises(TypeError, match="must be an open DuckDB connection"):
        rank.install(connection)


@pytest.mark.parametrize("attached", ["log", "another_name"])
def test_views_with_macros_work_from_another_database(tmp_path, attached):
    file = tmp_path / "log.duckdb"
    with duckdb.connect(file) as connection:
        rank.install(connection, persist=True)
        connection.execute("CREATE VIEW ndcg AS " + VALUE.format(name="rank"))
    file = file.rename(tmp_path / "moved.duckdb")
    with duckdb.connect(file) as connection:
        assert connection.execute("FROM ndcg").fetchall() == NDCG
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{file}' AS {attached}")
        assert connection.execute(f"FROM {attached}.ndcg").fetchall() == NDCG
        connection.execute(f"USE {attached}")
        assert connection.execute(VALUE.format(name="rank")).fetchall() == NDCG
