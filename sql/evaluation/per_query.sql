-- The per-query table; rules are in polars_rank/evaluation/per_query.py, formulas beside each measure.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AL05,AL10,AM04,AM09,LT01,LT09,LT14,RF01,RF03,RF04,ST03,ST05,ST06

-- A judged table comes by name. One GROUP BY of the measures' own macros is several times faster than windows.
CREATE OR REPLACE MACRO rank.evaluate(judged, keys := NULL, k := 10) AS TABLE
WITH
    _rank_rows AS (
        SELECT
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF lower(c) = 'query' OR list_contains([lower(x) FOR x IN coalesce(keys, ['system'])], lower(c))
            ])) AS ranking,
            rank,
            relevance
        FROM query_table(judged)
    )

SELECT
    ranking.query,
    ranking.* EXCLUDE (query),
    rank.ndcg(rank, relevance, k := k) AS ndcg,
    rank.average_precision(rank, relevance, k := k) AS average_precision,
    rank.reciprocal_rank(rank, relevance, k := k) AS reciprocal_rank,
    rank.precision(rank, relevance, k := k) AS precision,
    rank.recall(rank, relevance, k := k) AS recall,
    rank.f_measure(rank, relevance, k := k) AS f_measure,
    rank.success(rank, relevance, k := k) AS success,
    rank.judged_share(rank, relevance, k := k) AS judged_share,
    rank.r_precision(rank, relevance) AS r_precision,
    rank.bpref(rank, relevance) AS bpref
FROM _rank_rows
-- A refusal is an error within WHERE: in a column that nobody reads it would be optimised away.
WHERE
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT list_has_all([lower(c) FOR c IN struct_keys(ranking)], [lower(x) FOR x IN coalesce(keys, [])])
            THEN error('the judged table has not all of the columns ' || keys::varchar || ' (keys)')
        ELSE TRUE
    END
GROUP BY ranking;

-- From run and qrels in one step. Only judged rows and counts matter to these measures, so the run is never sorted:
-- a judged row's place is one more than the rows of its ranking that stand above it. Its score is looked up in the
-- ranking's sorted list of scores, items are compared only where a score ties. What that can't do goes the long way through rank.judge.
-- The file is loaded last, since a macro must know those that it calls.
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
                OR (lower(c) = 'system' AND list_contains([lower(x) FOR x IN coalesce(keys, ['system'])], 'system'))
            ])) AS key,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'score') AND coalesce(order_by, '') != 'rank' THEN 'score'
                    ELSE '_rank_no_score'
                END
            ]) AS score,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN
                        list_contains([lower(x) FOR x IN (*)], 'rank')
                        AND (order_by = 'rank' OR NOT list_contains([lower(x) FOR x IN (*)], 'score'))
                        THEN 'rank'
                    ELSE '_rank_none'
                END
            ]) AS place
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
            typeof(score) != 'ENUM(''no score'')' AS by_score,
            CASE
                WHEN typeof(item) LIKE 'ENUM%' OR (ties = 'item-text-descending' AND typeof(item) != 'BLOB')
                    THEN item::varchar
            END AS item_text,
            CASE WHEN descending THEN 1 ELSE -1 END * CASE
                WHEN isnan(try_cast(score AS double)) THEN NULL
                WHEN score_dtype = 'float32'
                    THEN coalesce(try_cast(try_cast(score AS double) AS float)::double, try_cast(score AS double) * 1e300)
                ELSE try_cast(score AS double)
            END AS points,
            -- Beyond 2^53 whole numbers that differ are one as floats.
            CASE
                WHEN typeof(score) IN ('BIGINT', 'UBIGINT', 'HUGEINT') AND score_dtype = 'float64'
                    THEN CASE WHEN descending THEN 1 ELSE -1 END * try_cast(score AS hugeint)
            END AS whole,
            CASE WHEN NOT isnan(try_cast(place AS double)) THEN try_cast(place AS double) + (1 - rank_base) END AS place
        FROM _rank_entries
        WHERE NOT coalesce(drop_identical AND query::varchar = item::varchar, FALSE)
    ),

    _rank_marks AS (
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
        WHERE NOT coalesce(drop_identical AND query::varchar = item::varchar, FALSE)
    ),

    -- Read again where it is needed: to hold the run in memory is dearer than to read three columns thrice.
    _rank_lists AS (
        SELECT
            query,
            key,
            list_sort(list(points), 'DESC', 'NULLS LAST') AS points,
            CASE
                WHEN by_score THEN least(count(*), k, depth)
                ELSE count(CASE WHEN place <= coalesce(least(k, depth), 'inf'::double) THEN 1 END)
            END AS returned,
            count(CASE WHEN depth IS NULL OR by_score OR place IS NULL OR place <= depth THEN 1 END) > 0 AS within_depth
        FROM _rank_scored
        GROUP BY query, key, by_score
    ),

    _rank_hits AS (
        SELECT
            r.*,
            q.grade
        FROM _rank_scored AS r
        INNER JOIN _rank_marks AS q ON r.query = q.query AND r.item = q.item
    ),

    -- Rows without points stand last, all level.
    _rank_compared AS (
        SELECT
            * EXCLUDE (list),
            CASE WHEN points IS NULL THEN len(list) - above > 1 ELSE coalesce(list[above + 2] = points, FALSE) END AS level
        FROM (
            SELECT
                h.*,
                l.points AS list,
                CASE WHEN h.points IS NULL THEN list_count(l.points) ELSE list_position(l.points, h.points) - 1 END AS above
            FROM _rank_hits AS h
            INNER JOIN _rank_lists AS l ON h.query = l.query AND (typeof(l.key) = 'STRUCT(_rank_none INTEGER)' OR h.key = l.key)
        )
    ),

    _rank_before AS (
        SELECT
            h.query,
            h.key,
            h.item,
            count(*) AS rows_before
        FROM _rank_compared AS h
        INNER JOIN _rank_scored AS r
            ON
                h.query = r.query
                AND (typeof(r.key) = 'STRUCT(_rank_none INTEGER)' OR h.key = r.key)
                AND h.points IS NOT DISTINCT FROM r.points
        WHERE
            h.by_score
            AND h.level
            AND CASE
                WHEN r.whole IS DISTINCT FROM h.whole THEN r.whole > h.whole
                WHEN ties = 'item-ascending' THEN coalesce(r.item_text < h.item_text, r.item < h.item)
                ELSE coalesce(r.item_text > h.item_text, r.item > h.item)
            END
        GROUP BY h.query, h.key, h.item
    ),

    _rank_placed AS (
        SELECT
            h.query,
            h.key,
            h.item,
            h.grade,
            CASE WHEN h.by_score THEN 1 + h.above + coalesce(b.rows_before, 0) ELSE h.place END AS place
        FROM _rank_compared AS h
        LEFT JOIN _rank_before AS b
            ON h.query = b.query AND h.item = b.item AND (typeof(b.key) = 'STRUCT(_rank_none INTEGER)' OR h.key = b.key)
    ),

    _rank_found AS (
        SELECT
            query,
            key,
            item,
            CASE
                WHEN NOT judged_only THEN place
                WHEN grade >= 0 AND place IS NOT NULL
                    THEN
                        rank() OVER (
                            PARTITION BY query, key ORDER BY CASE WHEN grade >= 0 THEN place END ASC NULLS LAST
                        )
            END AS place
        FROM _rank_placed
        WHERE depth IS NULL OR place <= depth
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
        WHERE queries IN ('run', 'all') OR (queries = 'both' AND query IN (SELECT query FROM _rank_marks))
        UNION
        SELECT
            q.query,
            s.key
        FROM (SELECT DISTINCT query FROM _rank_marks) AS q, _rank_systems AS s
        WHERE queries IN ('qrels', 'all')
    ),

    -- Of the unjudged rows only their number matters; a row without a rank makes a ranking of unjudged rows alone.
    _rank_unjudged AS (
        SELECT
            l.query,
            l.key,
            unnest(list_resize([NULL::int], 1 + (l.returned - coalesce(f.found, 0))::bigint, 1)) AS place
        FROM _rank_lists AS l
        LEFT JOIN (
            SELECT
                query,
                key,
                count(*) AS found
            FROM _rank_found
            WHERE place <= coalesce(least(k, depth), 'inf'::double)
            GROUP BY query, key
        ) AS f ON l.query = f.query AND (typeof(f.key) = 'STRUCT(_rank_none INTEGER)' OR l.key = f.key)
        WHERE l.within_depth AND NOT judged_only
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
        WHERE NOT judged_only OR q.grade IS NOT NULL
        UNION ALL
        SELECT
            a.query,
            a.key,
            u.place,
            NULL
        FROM _rank_asked AS a
        INNER JOIN _rank_unjudged AS u ON a.query = u.query AND (typeof(u.key) = 'STRUCT(_rank_none INTEGER)' OR a.key = u.key)
    ),

    -- Refusals are those of rank.judge, over what it could refuse: rows with nulls or ranks below the base, the query of
    -- an item that comes twice, and three queries if none is in common.
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
        SELECT * EXCLUDE (_rank_none, _rank_system, _rank_place)
        FROM (
            SELECT
                *,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN
                            list_contains([lower(x) FOR x IN (*)], 'system')
                            AND list_contains([lower(x) FOR x IN coalesce(keys, ['system'])], 'system')
                            THEN 'system'
                        ELSE '_rank_none'
                    END
                ]) AS _rank_system,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN
                            list_contains([lower(x) FOR x IN (*)], 'rank')
                            AND (order_by = 'rank' OR NOT list_contains([lower(x) FOR x IN (*)], 'score'))
                            THEN 'rank'
                        ELSE '_rank_none'
                    END
                ]) AS _rank_place
            FROM (SELECT *, 1 AS _rank_none FROM query_table(run))
        )
        WHERE
            query IS NULL OR item IS NULL OR _rank_system IS NULL OR try_cast(_rank_place AS double) < rank_base
            OR query::varchar IN (SELECT query::varchar FROM _rank_examples)
    ),

    _rank_suspect_marks AS (
        SELECT * FROM query_table(qrels)
        WHERE
            query IS NULL OR item IS NULL
            OR query::varchar IN (
                (SELECT query::varchar FROM (SELECT DISTINCT query FROM _rank_marks ORDER BY query LIMIT 3))
                UNION ALL
                (SELECT query::varchar FROM _rank_marks GROUP BY query, item HAVING count(*) > 1 LIMIT 1)
            )
    ),

    _rank_short AS (
        SELECT query, key.*, rank, relevance
        FROM _rank_judged_rows
        WHERE (
            SELECT count(*) FROM rank.judge(
                '_rank_suspects', '_rank_suspect_marks', keys := keys, order_by := order_by, descending := descending, ties := ties,
                score_dtype := score_dtype, rank_base := rank_base, queries := queries, duplicates := duplicates,
                judged_only := judged_only, drop_identical := drop_identical, depth := depth
            )
        ) IS NOT NULL
    )

SELECT *
FROM rank.evaluate(
    CASE
        WHEN
            duplicates = 'error' AND coalesce(ties, '') NOT IN ('best', 'worst')
            AND list_has_all(['system'], [lower(x) FOR x IN coalesce(keys, [])])
            THEN '_rank_short'
        ELSE '_rank_judged_whole'
    END,
    keys := keys, k := k
);
