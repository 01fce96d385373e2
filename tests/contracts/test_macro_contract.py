"""The macros work wherever DuckDB takes an aggregate or a table, with the values of a plain GROUP BY."""

import json
import math
import re
import subprocess
from functools import cache

import duckdb
import polars as pl
import pytest
from engines import Call, as_macro, same
from test_every_measure import domain
from test_sql_tables import duckdb_program

import polars_rank as rank
from polars_rank.fusion.trained import TRAINED
from polars_rank.measures.catalogue import MEASURES
from polars_rank.sql import init_text, install

JUDGED = pl.DataFrame(
    {
        "query": [*"aaaaaaaa", *"bb", *"cccc"],
        "rank": [3, 1, None, 2, 5, 7, None, 0, 2, 1, 1, 2, 3, 4],
        "relevance": [2, 0, 3, None, 1, 4, None, 0, -1, 0, 1, 0, 2, None],
        "total": [5] * 8 + [0] * 2 + [2] * 4,
        "instead": [9, None, 4, 3, 2, 1, 0, 6, 9, 1, 2, 3, 4, 5],
        "prediction": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0, None, 2.0, 1.5, 2.5, 3.5, 4.5],
        "actual": [1.5, None, 3.0, 2.0, 5.0, 9.0, 7.0, 8.0, 1.5, None, 1.0, 2.0, 3.0, 4.0],
        "subtopic": [*"baa", None, *"bbca", *"ba", *"xyxz"],
        "ideal_rank": [2, None, 1, 4, 2, 5, 3, 6, 1, 2, 1, 2, 3, 4],
        "score": [2.0, 3.0, None, 2.0, 2.0, 0.0, math.nan, -1.0, 0.0, 0.0, 1.0, 1.0, 0.5, 0.0],
    }
)
WITH_ROWS = ["a", "b", "c"]
# A query without a row is one that only a subquery sees.
QUERIES = [*WITH_ROWS, "nothing"]


def chosen(name):
    """Give the defaults of a measure, then each option away from its default, with all its words."""
    options = MEASURES[name].options
    yield {}
    for option, default in options.items():
        values = [value for value in domain(name, option) if value != default]
        yield from (
            {option: value}
            for value in (values if option in ("gain", "ideal", "denominator") else values[-1:])
        )
        if option == "empty":
            yield from ({option: value} for value in (0.0, 1.0, None))


MACROS = {
    f"{call}": as_macro(call)
    for name in MEASURES
    for call in (Call(name, options) for options in chosen(name))
} | {"rrf()": "rank.rrf(rank)"}
BY_NAME = {name: [call for call in MACROS if call.startswith(f"{name}(")] for name in [*MEASURES, "rrf"]}


@cache
def database():
    connection = duckdb.connect()
    install(connection)
    connection.register("frame", JUDGED.to_arrow())
    connection.execute("CREATE TABLE judged AS FROM frame")
    connection.execute(f"CREATE TABLE queries AS SELECT unnest({QUERIES}) AS query")
    return connection


def ask(query, parameters=None):
    # A cursor each: after an error DuckDB 2 holds a connection's unfinished result against it.
    with database().cursor() as cursor:
        return cursor.execute(query, parameters).fetchall()


@cache
def plain():
    """Give the values of each call by query, from a plain GROUP BY."""
    values = {}
    for calls in BY_NAME.values():
        macros = listed(MACROS[call] for call in calls)
        rows = ask(
            f"SELECT query, {macros} FROM judged GROUP BY query UNION ALL "
            f"SELECT 'whole', {macros} FROM judged UNION ALL "
            f"SELECT 'nothing', {macros} FROM judged WHERE false"
        )
        values |= {call: {row[0]: row[place] for row in rows} for place, call in enumerate(calls, start=1)}
    return values


def listed(macros):
    return ", ".join(f"{macro} AS v{place}" for place, macro in enumerate(macros))


def refuse(faults):
    """Fail with a line for each macro that is at fault."""
    found = [f"{call}: {fault}" for call, fault in faults if fault]
    assert not found, "\n".join(found)


def tried(question):
    try:
        return question()
    except duckdb.Error as error:
        return str(error).partition("\n")[0]


# Places of values: all calls of a measure in one statement, which gives (query, value, value, …)

GROUPED = "FROM judged GROUP BY query"
VALUES = {
    "alias in another expression": (
        WITH_ROWS,
        lambda macros: (
            f"SELECT query, {', '.join(f'1 - loss{i}' for i in range(len(macros)))} FROM (SELECT query, "
            + ", ".join(f"{macro} AS v{i}, 1 - v{i} AS loss{i}" for i, macro in enumerate(macros))
            + f" {GROUPED})"
        ),
    ),
    "view": (
        WITH_ROWS,
        lambda macros: f"CREATE OR REPLACE VIEW seen AS SELECT query, {listed(macros)} {GROUPED}; FROM seen",
    ),
    "common table expression": (
        WITH_ROWS,
        lambda macros: f"WITH v AS (SELECT query, {listed(macros)} {GROUPED}) FROM v",
    ),
    "ROLLUP": (
        [*WITH_ROWS, "whole"],
        lambda macros: (
            f"SELECT coalesce(query, 'whole'), {listed(macros)} FROM judged GROUP BY ROLLUP (query)"
        ),
    ),
    "correlated subquery": (
        QUERIES,
        lambda macros: (
            "SELECT query, "
            + ", ".join(f"(SELECT {m} FROM judged WHERE judged.query = queries.query)" for m in macros)
            + " FROM queries"
        ),
    ),
    "lateral subquery": (
        QUERIES,
        lambda macros: (
            f"SELECT query, v.* FROM queries, LATERAL "
            f"(SELECT {listed(macros)} FROM judged WHERE judged.query = queries.query) AS v"
        ),
    ),
}


def differences(calls, queries, rows):
    """Compare rows of (query, value, …) with the plain values; further columns are left out."""
    found = {query: values for query, *values in rows}
    if found.keys() != set(queries):
        return [(call, f"rows of {sorted(found)}") for call in calls]
    return [
        (call, f"{found[query][place]}, not {plain()[call][query]} for {query}")
        for place, call in enumerate(calls)
        for query in queries
        if not same(found[query][place], plain()[call][query])
    ]


@pytest.mark.parametrize("place", VALUES)
def test_values(place):
    queries, statement = VALUES[place]
    faults = []
    for name, calls in BY_NAME.items():
        rows = tried(lambda calls=calls: ask(statement([MACROS[call] for call in calls])))
        faults += [(name, rows)] if isinstance(rows, str) else differences(calls, queries, rows)
    refuse(faults)


@pytest.mark.parametrize("k", [1, 3])
def test_a_prepared_statement(k):
    calls = [Call(name, {"k": k}) for name, measure in MEASURES.items() if "k" in measure.options]
    wanted = ask(f"SELECT query, {listed(map(as_macro, calls))} {GROUPED} ORDER BY query")
    faults = []
    for place, call in enumerate(calls, start=1):
        macro = as_macro(call).replace(f"k := {k}", "k := ?")
        rows = tried(lambda m=macro: ask(f"SELECT query, {m} {GROUPED} ORDER BY query", [k]))
        right = [(row[0], row[place]) for row in wanted]
        wrong = isinstance(rows, str) or not all(same(r[1], w[1]) for r, w in zip(rows, right, strict=True))
        faults.append((f"{call}", wrong and f"{rows}, not {right}"))
    refuse(faults)


# Places of conditions and orders: a statement for each call


def by_value(call):
    """Order the queries by value, then by name, as DuckDB does: NaN above all numbers, null last."""

    def key(query):
        value = plain()[call][query]
        return (2, 0, query) if value is None else (1, 0, query) if math.isnan(value) else (0, value, query)

    return sorted(WITH_ROWS, key=key)


def middle(call):
    numbers = [v for v in map(plain()[call].get, WITH_ROWS) if v is not None and not math.isnan(v)]
    return sorted(numbers)[len(numbers) // 2] + 1e-9 if numbers else 0.0


def below(call):
    values = plain()[call]
    return [(q,) for q in WITH_ROWS if values[q] is not None and values[q] <= middle(call)]


ORDERED = "row_number() OVER (ORDER BY {macro} NULLS LAST, query)"
CONDITIONS = {
    "HAVING": (f"SELECT query {GROUPED} HAVING {{macro}} <= {{middle}} ORDER BY query", below),
    "HAVING by alias": (
        f"SELECT query, {{macro}} AS v {GROUPED} HAVING v <= {{middle}} ORDER BY query",
        below,
    ),
    "ORDER BY": (
        f"SELECT query {GROUPED} ORDER BY {{macro}} NULLS LAST, query",
        lambda call: [(query,) for query in by_value(call)],
    ),
    "ORDER BY of a window": (
        f"SELECT query, {ORDERED} AS place {GROUPED} ORDER BY query",
        lambda call: [(query, by_value(call).index(query) + 1) for query in WITH_ROWS],
    ),
    "QUALIFY": (
        f"SELECT query {GROUPED} QUALIFY {ORDERED} = 1",
        lambda call: [(by_value(call)[0],)],
    ),
    "condition of QUALIFY": (
        f"SELECT query {GROUPED} QUALIFY {{macro}} <= {{middle}} AND count(*) OVER () = 3 ORDER BY query",
        below,
    ),
    "correlated subquery of distinct rows": (
        "SELECT DISTINCT query FROM judged AS j "
        "WHERE (SELECT {macro} FROM judged WHERE query = j.query) <= {middle} ORDER BY query",
        below,
    ),
}


@pytest.mark.parametrize("place", CONDITIONS)
def test_conditions_and_orders(place):
    statement, wanted = CONDITIONS[place]
    faults = []
    for call, macro in MACROS.items():
        text = statement.format(macro=macro, middle=middle(call))
        rows, right = tried(lambda text=text: ask(text)), wanted(call)
        rows = [row[: len(right[0])] for row in rows] if right and not isinstance(rows, str) else rows
        faults.append((call, rows != right and f"{rows}, not {right}"))
    refuse(faults)


# What DuckDB takes after an aggregate function, but not after a macro: told in the README


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (f"SELECT {{macro}} FILTER (rank > 1) {GROUPED}", "Macro Function"),
        ("SELECT {macro} OVER () FROM judged", "does not exist"),
        ("PIVOT judged ON subtopic USING {macro} GROUP BY query", "does not exist"),
    ],
    ids=["FILTER", "OVER", "PIVOT"],
)
def test_what_duckdb_does_not_take_after_a_macro(asked, said):
    with pytest.raises(duckdb.Error, match=said):
        ask(asked.format(macro="rank.ndcg(rank, relevance)"))


# Table macros

RUN = pl.DataFrame(
    {
        "system": ["s"] * 3 + ["t"] * 3,
        "query": ["q", "q", "r"] * 2,
        "item": [*"abacaa"],
        "score": [0.3, 0.2, 1.0, 0.9, 0.1, 0.5],
    }
)
QRELS = pl.DataFrame({"query": ["q", "q", "r"], "item": [*"bda"], "relevance": [1, 2, 1]})


@cache
def tables():
    connection = duckdb.connect()
    install(connection)
    judged = rank.judge(RUN, QRELS)
    frames = {
        "run": RUN,
        "runs": RUN,
        "qrels": QRELS,
        "judged": judged,
        "per_query": rank.evaluate(judged, ["nDCG@10"]),
        "topics": QRELS.with_columns(subtopic=pl.col("item")),
        **{f"fitted_{name}": rank.fit_fusion(RUN, QRELS, name) for name in TRAINED},
    }
    for name, frame in frames.items():
        connection.register("frame", frame.to_arrow())
        connection.execute(f"CREATE TABLE {name} AS FROM frame")
    return connection


def table_macros():
    parameters = tables().execute(
        "SELECT function_name, parameters FROM duckdb_functions() "
        "WHERE database_name = 'rank' AND function_type = 'table_macro' AND function_name[1] != '_'"
    )
    given = {"run", "qrels", "runs", "judged", "per_query"}
    for name, names in parameters.fetchall():
        places = [
            f"'{'topics' if (name, n) == ('judge_subtopics', 'qrels') else n}'" for n in names if n in given
        ]
        fitted = [f"fitted := 'fitted_{name}'"] if name in TRAINED else []
        yield f"rank.{name}({', '.join(places + fitted)})"


def test_table_macros_wherever_a_table_may_be(tmp_path):
    faults = []
    for macro in table_macros():
        file = tmp_path / "written.parquet"
        asked = {
            "FROM": f"FROM {macro}",
            "JOIN": f"SELECT t.* FROM (SELECT 1) JOIN {macro} AS t ON true",
            "CTAS": f"CREATE OR REPLACE TABLE made AS FROM {macro}; FROM made",
            "COPY": f"COPY (FROM {macro}) TO '{file}'; FROM '{file}'",
        }
        rows = {
            place: tried(lambda text=text: sorted(map(repr, tables().cursor().execute(text).fetchall())))
            for place, text in asked.items()
        }
        faults += [
            (macro, (isinstance(found, str) or found != rows["FROM"] or not found) and f"{place}: {found}")
            for place, found in rows.items()
        ]
    refuse(faults)


def test_the_shell_program_gives_the_same_values(tmp_path):
    (tmp_path / "init.sql").write_text(init_text())
    JUDGED.write_parquet(tmp_path / "judged.parquet")
    calls = [f"{name}()" for name in BY_NAME]
    statement = (
        "SELECT query, {macro} AS v, 1 - v AS loss, "
        "(SELECT {macro} FROM judged WHERE query = j.query) AS again FROM judged AS j GROUP BY query "
        f"HAVING v IS DISTINCT FROM -9 AND {{macro}} IS DISTINCT FROM -9 QUALIFY {ORDERED} > 0"
    )
    statements = ["CREATE TABLE judged AS FROM 'judged.parquet'"]
    statements += [statement.format(macro=MACROS[call]) for call in calls]
    done = subprocess.run(
        [duckdb_program(), "-init", "init.sql", "-json", "-c", "; ".join(statements)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(text) for text in re.split(r"(?<=\])\n(?=\[)", done.stdout.strip())]
    faults = []
    for call, rows in zip(calls, results, strict=True):
        for value in ("v", "again"):
            faults += differences([call], WITH_ROWS, [(row["query"], row[value]) for row in rows])
    refuse(faults)


# Of a query, only its rows are counted.
@pytest.mark.parametrize("name", sorted(MEASURES.keys() - {"num_queries"}))
def test_a_date_is_no_number(name):
    for column in set(MEASURES[name].columns) - {"subtopic"}:
        macro = as_macro(Call(name, {}), **{column: "date_of"})
        with pytest.raises(duckdb.Error):
            ask(f"SELECT {macro} FROM (SELECT *, DATE '2026-12-01' AS date_of FROM judged)")
