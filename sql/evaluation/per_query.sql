-- The per-query table; rules are in polars_rank/evaluation/per_query.py, formulas beside each measure.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AL05,AL10,AM04,AM09,LT01,LT09,LT14,RF01,RF03,RF04,ST03,ST05,ST06

-- A judged table comes by name. One GROUP BY of the measures' own macros is several times faster than windows.
CREATE OR REPLACE MACRO rank.evaluate(judged, keys := NULL, k := 10, rank_base := 1) AS TABLE
WITH
    _rank_rows AS NOT MATERIALIZED (
        SELECT
            struct_pack(*COLUMNS([
                c FOR c IN (*) IF lower(c) = 'query' OR list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
            ])) AS ranking,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE WHEN list_contains([lower(x) FOR x IN (*)], 'item') THEN 'item' ELSE '_rank_no_item' END
            ]) AS item,
            CASE WHEN try_cast(rank_base AS double) = 0 THEN rank::double + 1 ELSE rank END AS rank,
            relevance,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF NOT list_contains(
                    ['query', 'item', 'rank', 'relevance', 'score'] || rank.main._names(keys, otherwise := ['system']), lower(c)
                )
            ])) AS _rank_others
        FROM (SELECT *, NULL::boolean AS _rank_no_item FROM query_table(judged))
    ),

    -- Of the judged rows, as they are few; a hash is much cheaper to group by than ids. Rows are compared only if two
    -- hashes are equal: a join with nothing reads no table.
    _rank_alike AS (
        SELECT hash(ranking, item) AS alike
        FROM _rank_rows
        WHERE item IS NOT NULL AND relevance IS NOT NULL AND rank.main._is_number(relevance)
        GROUP BY alike
        HAVING count(*) > 1
    ),

    _rank_repeated AS (
        SELECT ranking, item
        FROM _rank_rows
        WHERE
            item IS NOT NULL AND relevance IS NOT NULL AND rank.main._is_number(relevance)
            AND hash(ranking, item) IN (SELECT alike FROM _rank_alike)
        GROUP BY ranking, item
        HAVING count(*) > 1
        LIMIT 1
    ),

    -- Columns that differ in each of the repeated rows.
    _rank_telling AS (
        SELECT list(name) AS names
        FROM (
            UNPIVOT (
                SELECT count(*) AS _rank_copies, count(DISTINCT COLUMNS(* EXCLUDE (_rank_row)))
                FROM (
                    SELECT 0 AS _rank_row, _rank_others.*
                    FROM _rank_rows AS r
                    INNER JOIN _rank_repeated AS twice ON r.ranking IS NOT DISTINCT FROM twice.ranking AND r.item = twice.item
                )
            )
            ON COLUMNS(* EXCLUDE (_rank_copies)) INTO NAME name VALUE different
        )
        WHERE different = _rank_copies
    ),

    _rank_names AS (
        SELECT [lower(c) FOR c IN struct_keys(_rank_row)] AS names
        FROM (SELECT 1) LEFT JOIN query_table(judged) AS _rank_row ON FALSE
    ),

    _rank_refused AS (
        SELECT
            coalesce(
                rank.main._k_fault(k),
                rank.main._fault(try_cast(rank_base AS double) IN (0, 1), 'rank_base must be one of 0, 1', rank_base),
                'the judged table has no column ' || rank.main._missing(keys, names) || ' (keys); its columns are '
                || names::varchar,
                (
                    SELECT
                        'the judged table has a row twice: ' || ranking::varchar || ', item ' || item::varchar
                        || '; add the columns that tell rankings apart: keys := ' || coalesce(
                            (SELECT '[''' || array_to_string(names, ''', ''') || ''']' FROM _rank_telling), '[...]'
                        ) || ', or keep one row of each item'
                    FROM _rank_repeated
                )
            ) AS message
        FROM _rank_names
    )

SELECT
    _rank_ranking.query,
    _rank_ranking.* EXCLUDE (query),
    -- Without a judged row there is nothing to measure.
    CASE
        WHEN _rank_grades > 0
            THEN
                COLUMNS([
                    c FOR c IN (*)
                    IF c NOT IN ('_rank_ranking', '_rank_grades', 'judged_share', 'r_precision', 'bpref')
                ])
    END,
    judged_share,
    CASE WHEN _rank_grades > 0 THEN COLUMNS(['r_precision', 'bpref']) END
FROM (
    SELECT
        ranking AS _rank_ranking,
        count(CASE WHEN rank.main._is_number(relevance) THEN relevance END) AS _rank_grades,
        rank.ndcg(rank, relevance, k := try_cast(k AS double)) AS ndcg,
        rank.average_precision(rank, relevance, k := try_cast(k AS double)) AS average_precision,
        rank.reciprocal_rank(rank, relevance, k := try_cast(k AS double)) AS reciprocal_rank,
        rank.precision(rank, relevance, k := try_cast(k AS double)) AS precision,
        rank.recall(rank, relevance, k := try_cast(k AS double)) AS recall,
        rank.f_measure(rank, relevance, k := try_cast(k AS double)) AS f_measure,
        rank.success(rank, relevance, k := try_cast(k AS double)) AS success,
        rank.judged_share(rank, relevance, k := try_cast(k AS double)) AS judged_share,
        rank.r_precision(rank, relevance) AS r_precision,
        rank.bpref(rank, relevance) AS bpref
    FROM _rank_rows
    -- A refusal is an error within WHERE: in a column that nobody reads it would be optimised away.
    WHERE
        CASE
            WHEN rank = 0 AND try_cast(rank_base AS double) = 1
                THEN error(
                    'rank holds 0, and a rank below 1 means not returned; use rank_base := 0 if ranks count from 0, or write '
                    || 'NULL for items that were not returned'
                )
            WHEN typeof(rank) NOT LIKE '%INT%' AND isinf(rank::double)
                THEN error('rank holds an infinite rank; write NULL for an item that was not returned')
            WHEN typeof(relevance) NOT LIKE '%INT%' AND isinf(relevance::double)
                THEN error('relevance holds an infinite grade; grades are finite numbers')
            ELSE TRUE
        END
    GROUP BY ranking
)
WHERE (SELECT CASE WHEN message IS NULL THEN 1 ELSE error(message) END FROM _rank_refused) = 1;

-- From run and qrels in one step. Only judged rows and counts matter to these measures, so the run is never sorted:
-- a judged row's place is one more than the rows of its ranking that stand above it. Its score is looked up in the
-- ranking's sorted scores, items are compared only where a score ties. What that can't do goes the long way through
-- rank.judge: options that need more, and a run ordered by rank. The file is loaded last, since a macro must know those
-- that it calls.
CREATE OR REPLACE MACRO rank.evaluate_run(
    run, qrels, keys := NULL, k := 10, order_by := NULL, descending := TRUE, ties := 'item-descending',
    score_dtype := 'float64', rank_base := 1, queries := 'qrels', duplicates := 'error', judged_only := FALSE,
    drop_identical := FALSE, depth := NULL
) AS TABLE
WITH
    _rank_judged_whole AS (
        SELECT * FROM rank.judge(
            run, qrels, keys := keys, order_by := order_by, descending := descending, ties := ties,
            score_dtype := score_dtype, rank_base := rank_base, queries := queries, duplicates := duplicates,
            judged_only := judged_only, drop_identical := drop_identical, depth := depth
        )
    ),

    -- The empty branch gives the ids of both tables one type.
    _rank_entries AS NOT MATERIALIZED (
        SELECT
            query,
            item,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF c = '_rank_none'
                OR (lower(c) = 'system' AND list_contains(rank.main._names(keys, otherwise := ['system']), 'system'))
            ])) AS key,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'score') AND coalesce(order_by::varchar, '') != 'rank' THEN 'score'
                    ELSE '_rank_no_score'
                END
            ]) AS score
        FROM (
            SELECT *, 0 AS _rank_none, NULL::enum('no score') AS _rank_no_score FROM query_table(run)
            UNION ALL BY NAME
            SELECT query, item FROM query_table(qrels) WHERE FALSE
        )
    ),

    _rank_scored AS NOT MATERIALIZED (
        SELECT
            query,
            item,
            -- Without a system the planner knows this to be NULL, and joins and groups by the query alone.
            CASE WHEN typeof(key) != 'STRUCT(_rank_none INTEGER)' THEN key END AS key,
            CASE
                WHEN typeof(item) LIKE 'ENUM%' OR (ties::varchar = 'item-text-descending' AND typeof(item) != 'BLOB')
                    THEN item::varchar
            END AS item_text,
            CASE WHEN try_cast(descending AS boolean) THEN 1 ELSE -1 END * CASE
                WHEN isnan(try_cast(score AS double)) THEN NULL
                WHEN score_dtype::varchar = 'float32'
                    THEN coalesce(try_cast(try_cast(score AS double) AS float)::double, try_cast(score AS double) * 1e300)
                ELSE try_cast(score AS double)
            END AS points,
            -- Beyond 2^53 whole numbers that differ are one as floats.
            CASE
                WHEN typeof(score) IN ('BIGINT', 'UBIGINT', 'HUGEINT') AND score_dtype::varchar = 'float64'
                    THEN CASE WHEN try_cast(descending AS boolean) THEN 1 ELSE -1 END * try_cast(score AS hugeint)
            END AS whole,
            NOT coalesce(try_cast(drop_identical AS boolean) AND query::varchar = item::varchar, FALSE) AS remains
        FROM _rank_entries
        WHERE typeof(score) != 'ENUM(''no score'')'
    ),

    _rank_grades AS (
        SELECT
            query,
            item,
            CASE WHEN NOT isnan(try_cast(relevance AS double)) THEN try_cast(relevance AS double) END AS grade
        FROM (
            SELECT
                query,
                item,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN list_contains([lower(x) FOR x IN (*)], 'relevance') THEN 'relevance' ELSE '_rank_one'
                    END
                ]) AS relevance
            FROM (
                SELECT *, 1 AS _rank_one FROM query_table(qrels)
                UNION ALL BY NAME
                SELECT query, item FROM query_table(run) WHERE FALSE
            )
        )
    ),

    _rank_judged_queries AS (SELECT DISTINCT query FROM _rank_grades WHERE grade IS NOT NULL),

    _rank_marks AS (
        SELECT * FROM _rank_grades
        WHERE queries::varchar IN ('run', 'all') OR query IN (SELECT query FROM _rank_judged_queries)
    ),

    -- Read again where it is needed: to hold the run in memory is dearer than to read three columns thrice.
    _rank_lists AS (
        SELECT
            query,
            key,
            list_sort(list(CASE WHEN remains THEN points END), 'DESC', 'NULLS LAST') AS points,
            least(count(CASE WHEN remains THEN 1 END), try_cast(k AS double), try_cast(depth AS double)) AS returned,
            bool_or(remains) AS remains
        FROM _rank_scored
        GROUP BY query, key
    ),

    _rank_hits AS (
        SELECT
            r.*,
            q.grade
        FROM _rank_scored AS r
        INNER JOIN _rank_marks AS q ON r.query = q.query AND r.item = q.item
        WHERE r.remains
    ),

    -- How many rows stand above a score, and how many have it. Rows without points stand last, all level.
    _rank_levels AS (
        SELECT
            l.query,
            l.key,
            l.points,
            min(l.place) - 1 AS above,
            count(*) AS level
        FROM (
            SELECT
                query,
                key,
                unnest(points) AS points,
                generate_subscripts(points, 1) AS place
            FROM _rank_lists
        ) AS l
        INNER JOIN (SELECT DISTINCT query, key, points FROM _rank_hits) AS h
            ON
                l.query = h.query
                AND (typeof(h.key) = 'STRUCT(_rank_none INTEGER)' OR l.key = h.key)
                AND l.points IS NOT DISTINCT FROM h.points
        GROUP BY l.query, l.key, l.points
    ),

    _rank_tied AS (
        SELECT
            query,
            key,
            item,
            CASE
                WHEN ties::varchar = 'item-ascending'
                    THEN row_number() OVER (level ORDER BY whole DESC, item_text ASC, item ASC)
                WHEN typeof(item) LIKE 'ENUM%' OR ties::varchar = 'item-text-descending'
                    THEN row_number() OVER (level ORDER BY whole DESC, item_text DESC, item DESC)
                ELSE row_number() OVER (level ORDER BY whole DESC, item DESC)
            END AS nth
        FROM (
            SELECT r.*
            FROM _rank_scored AS r
            SEMI JOIN (FROM _rank_levels WHERE level > 1) AS l
                ON
                    r.query = l.query
                    AND (typeof(l.key) = 'STRUCT(_rank_none INTEGER)' OR r.key = l.key)
                    AND r.points IS NOT DISTINCT FROM l.points
            WHERE r.remains
        )
        WINDOW level AS (PARTITION BY query, key, points)
    ),

    _rank_placed AS (
        SELECT
            h.query,
            h.key,
            h.item,
            h.grade,
            l.above + coalesce(t.nth, 1) AS place
        FROM _rank_hits AS h
        INNER JOIN _rank_levels AS l
            ON
                h.query = l.query
                AND (typeof(l.key) = 'STRUCT(_rank_none INTEGER)' OR h.key = l.key)
                AND h.points IS NOT DISTINCT FROM l.points
        LEFT JOIN _rank_tied AS t
            ON h.query = t.query AND h.item = t.item AND (typeof(t.key) = 'STRUCT(_rank_none INTEGER)' OR h.key = t.key)
    ),

    _rank_found AS (
        SELECT
            query,
            key,
            item,
            CASE
                WHEN NOT try_cast(judged_only AS boolean) THEN place
                WHEN grade >= 0
                    THEN rank() OVER (PARTITION BY query, key ORDER BY CASE WHEN grade >= 0 THEN place END ASC NULLS LAST)
            END AS place
        FROM _rank_placed
        WHERE depth IS NULL OR place <= try_cast(depth AS double)
    ),

    -- Where there is no system, an empty run has one ranking a query too.
    _rank_systems AS (
        SELECT key FROM _rank_lists
        UNION
        SELECT any_value(key) FROM _rank_lists HAVING typeof(any_value(key)) = 'STRUCT(_rank_none INTEGER)'
    ),

    _rank_asked AS (
        SELECT
            query,
            key
        FROM _rank_lists
        WHERE queries::varchar IN ('run', 'all') OR (queries::varchar = 'both' AND query IN (SELECT query FROM _rank_judged_queries))
        UNION
        SELECT
            q.query,
            s.key
        FROM _rank_judged_queries AS q, _rank_systems AS s
        WHERE queries::varchar IN ('qrels', 'all')
    ),

    -- Of the unjudged rows only their number matters; a row without a rank makes a ranking of unjudged rows alone.
    _rank_unjudged AS (
        SELECT
            l.query,
            l.key,
            unnest(list_resize([NULL::int], greatest(1 + l.returned - coalesce(f.found, 0), 1)::bigint, 1)) AS place
        FROM _rank_lists AS l
        LEFT JOIN (
            SELECT
                query,
                key,
                count(*) AS found
            FROM _rank_found
            WHERE place <= coalesce(least(try_cast(k AS double), try_cast(depth AS double)), 'inf'::double)
            GROUP BY query, key
        ) AS f ON l.query = f.query AND (typeof(f.key) = 'STRUCT(_rank_none INTEGER)' OR l.key = f.key)
        WHERE l.remains AND NOT try_cast(judged_only AS boolean)
    ),

    _rank_judged_rows AS (
        SELECT
            a.query,
            a.key,
            f.place AS rank,
            q.grade AS relevance
        FROM _rank_asked AS a
        INNER JOIN _rank_marks AS q ON a.query = q.query
        LEFT JOIN _rank_found AS f
            ON
                q.query = f.query
                AND q.item = f.item
                AND (typeof(f.key) = 'STRUCT(_rank_none INTEGER)' OR a.key = f.key)
        WHERE NOT try_cast(judged_only AS boolean) OR q.grade IS NOT NULL
        UNION ALL
        SELECT
            a.query,
            a.key,
            u.place,
            NULL
        FROM _rank_asked AS a
        INNER JOIN _rank_unjudged AS u ON a.query = u.query AND (typeof(u.key) = 'STRUCT(_rank_none INTEGER)' OR a.key = u.key)
    ),

    -- Refusals are those of rank.judge, over what it could refuse: rows with nulls, the query of an item that comes
    -- twice, infinite grades, and three queries if none is in common. A run ordered by rank goes there as a whole.
    _rank_way AS (
        SELECT typeof(e.score) = 'ENUM(''no score'')' AS by_rank FROM (SELECT 1) LEFT JOIN _rank_entries AS e ON FALSE
    ),

    _rank_examples AS (
        (
            SELECT DISTINCT query FROM _rank_lists
            WHERE NOT EXISTS (SELECT 1 FROM _rank_lists AS l WHERE l.query IN (SELECT query FROM _rank_marks))
            ORDER BY query LIMIT 3
        )
        UNION ALL
        (SELECT query FROM _rank_hits GROUP BY query, key, item HAVING count(*) > 1 LIMIT 1)
    ),

    _rank_suspects AS (
        SELECT * EXCLUDE (_rank_none, _rank_system)
        FROM (
            SELECT
                *,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN
                            list_contains([lower(x) FOR x IN (*)], 'system')
                            AND list_contains(rank.main._names(keys, otherwise := ['system']), 'system')
                            THEN 'system'
                        ELSE '_rank_none'
                    END
                ]) AS _rank_system
            FROM (SELECT *, 1 AS _rank_none FROM query_table(run))
        )
        WHERE
            query IS NULL OR item IS NULL OR _rank_system IS NULL OR (SELECT by_rank FROM _rank_way)
            OR query::varchar IN (SELECT query::varchar FROM _rank_examples)
    ),

    _rank_suspect_marks AS (
        SELECT * FROM query_table(qrels)
        WHERE
            query IS NULL OR item IS NULL OR (SELECT by_rank FROM _rank_way)
            OR query::varchar IN (
                (SELECT query::varchar FROM (SELECT DISTINCT query FROM _rank_marks ORDER BY query LIMIT 3))
                UNION ALL
                (SELECT query::varchar FROM _rank_grades GROUP BY query, item HAVING count(*) > 1 LIMIT 1)
                UNION ALL
                (SELECT query::varchar FROM _rank_grades WHERE isinf(grade) LIMIT 1)
            )
    ),

    _rank_suspects_judged AS MATERIALIZED (
        SELECT * FROM rank.judge(
            '_rank_suspects', '_rank_suspect_marks', keys := keys, order_by := order_by, descending := descending, ties := ties,
            score_dtype := score_dtype, rank_base := rank_base, queries := queries, duplicates := duplicates,
            judged_only := judged_only, drop_identical := drop_identical, depth := depth
        )
    ),

    _rank_short AS (
        SELECT query, key.*, rank, relevance
        FROM _rank_judged_rows
        WHERE (SELECT count(*) FROM _rank_suspects_judged) IS NOT NULL AND NOT (SELECT by_rank FROM _rank_way)
        UNION ALL BY NAME
        SELECT * EXCLUDE (item) FROM _rank_suspects_judged WHERE (SELECT by_rank FROM _rank_way)
    )

SELECT *
FROM rank.evaluate(
    CASE
        WHEN
            duplicates::varchar = 'error' AND coalesce(ties::varchar, '') NOT IN ('best', 'worst')
            AND list_has_all(['system'], rank.main._names(keys))
            THEN '_rank_short'
        ELSE '_rank_judged_whole'
    END,
    keys := keys, k := k
);
