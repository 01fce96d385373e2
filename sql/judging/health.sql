-- The health of run and qrels, or of a judged table; each finding is told in polars_rank/judging/health.py.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AL10,LT01,LT09,LT14,RF03,RF04,RF05,ST06
CREATE OR REPLACE MACRO rank.check(
    run, qrels := NULL, keys := NULL, k := 10, min_relevance := 1, max_relevance := 4, descending := TRUE
) AS TABLE
WITH
    _rank_run AS (
        SELECT
            *,
            NULL::double AS _rank_none,
            NULL::varchar AS _rank_item,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) IN ('query', 'item')
                OR list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
            ]) IS NULL AS '_rank_null_\0'
        FROM query_table(run)
    ),

    _rank_rows AS (
        SELECT
            query::varchar AS query,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE WHEN list_contains([lower(x) FOR x IN (*)], 'item') THEN 'item' ELSE '_rank_item' END
            ]) AS id,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF lower(c) = 'query' OR list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
            ])) AS ranking,
            greatest(*COLUMNS([c FOR c IN (*) IF c LIKE '_rank_null_%'])) AS incomplete,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE WHEN list_contains([lower(x) FOR x IN (*)], 'score') THEN 'score' ELSE '_rank_none' END
            ]) AS score,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE WHEN list_contains([lower(x) FOR x IN (*)], 'rank') THEN 'rank' ELSE '_rank_none' END
            ]) AS rank,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'relevance') THEN 'relevance' ELSE '_rank_none'
                END
            ]) AS relevance
        FROM _rank_run
    ),

    _rank_judgements AS (
        SELECT
            query,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE WHEN list_contains([lower(x) FOR x IN (*)], 'item') THEN 'item' ELSE '_rank_item' END
            ]) AS id,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'relevance') THEN 'relevance' ELSE '_rank_one'
                END
            ]) AS relevance
        FROM (SELECT *, 1 AS _rank_one, NULL::varchar AS _rank_item FROM query_table(coalesce(qrels, run)))
    ),

    _rank_grades AS (
        SELECT
            query::varchar AS query,
            id::varchar AS item,
            query IS NULL OR (qrels IS NOT NULL AND id IS NULL) AS incomplete,
            CASE WHEN NOT isnan(relevance::double) THEN relevance::double END AS relevance
        FROM _rank_judgements
    ),

    _rank_names AS (
        SELECT
            [lower(c) FOR c IN struct_keys(_rank_row)] AS names,
            [
                {'place': 'run.query is ' || typeof(_rank_row.query), 'type': typeof(_rank_row.query)},
                {'place': 'qrels.query is ' || typeof(q.query), 'type': typeof(q.query)},
                {'place': 'run.item is ' || typeof(r.id), 'type': typeof(r.id)},
                {'place': 'qrels.item is ' || typeof(q.id), 'type': typeof(q.id)}
            ] AS ids
        FROM (SELECT 1)
        LEFT JOIN query_table(run) AS _rank_row ON FALSE
        LEFT JOIN _rank_rows AS r ON FALSE
        LEFT JOIN _rank_judgements AS q ON FALSE
    ),

    -- A number is far cheaper to group, partition and join by than a struct.
    _rank_numbered AS MATERIALIZED (
        SELECT
            ranking,
            row_number() OVER () AS number
        FROM (SELECT DISTINCT ranking FROM _rank_rows WHERE NOT incomplete)
    ),

    _rank_known AS MATERIALIZED (
        SELECT
            r.query,
            r.id::varchar AS item,
            CASE WHEN typeof(r.id) LIKE 'ENUM%' THEN r.id::varchar END AS item_text,
            r.id,
            g.number AS ranking,
            CASE WHEN NOT isnan(r.relevance::double) THEN r.relevance::double END AS relevance,
            CASE WHEN NOT isnan(r.rank::double) THEN r.rank::double END AS rank,
            CASE
                WHEN NOT isnan(r.score::double)
                    THEN r.score::double * CASE WHEN try_cast(descending AS boolean) THEN 1 ELSE -1 END + 0.0
            END AS score,
            list_contains(n.names, 'score') AS has_score,
            list_contains(n.names, 'rank') AS has_rank
        FROM _rank_rows AS r
        INNER JOIN _rank_numbered AS g ON r.ranking = g.ranking
        CROSS JOIN _rank_names AS n
        WHERE NOT r.incomplete
    ),

    _rank_placed AS MATERIALIZED (
        SELECT
            *,
            row_number() OVER in_order AS position,
            lead(key) OVER in_order AS next_key
        FROM (
            SELECT
                *,
                CASE WHEN qrels IS NOT NULL AND has_score THEN score IS NOT NULL ELSE TRUE END AS known,
                coalesce(CASE WHEN qrels IS NOT NULL AND has_score THEN score ELSE -rank END, '-inf'::double) AS key
            FROM _rank_known
            WHERE CASE WHEN qrels IS NULL THEN rank >= 1 WHEN has_score THEN TRUE ELSE rank IS NOT NULL END
        )
        WINDOW in_order AS (PARTITION BY ranking ORDER BY known DESC, key DESC, item_text DESC, id DESC)
    ),

    _rank_both_orders AS (
        SELECT
            *,
            count(*) OVER (PARTITION BY ranking, score) AS equal_score,
            count(*) OVER (PARTITION BY ranking, rank) AS equal_rank,
            rank() OVER (PARTITION BY ranking ORDER BY score DESC) AS by_score,
            rank() OVER (PARTITION BY ranking ORDER BY rank ASC) AS by_rank
        FROM _rank_known
        WHERE score IS NOT NULL AND rank IS NOT NULL AND (qrels IS NOT NULL OR rank >= 1)
    ),

    _rank_whole AS (
        SELECT * FROM _rank_known WHERE rank >= 1 AND isfinite(rank)
    ),

    _rank_levels AS MATERIALIZED (
        SELECT
            ranking,
            rank,
            any_value(query) AS query,
            count(*) AS equals
        FROM _rank_whole
        GROUP BY ranking, rank
    ),

    _rank_in_order AS (
        SELECT
            *,
            row_number() OVER (PARTITION BY ranking ORDER BY rank ASC, item_text DESC, id DESC) AS position
        FROM _rank_whole
        WHERE qrels IS NOT NULL AND NOT has_score
    ),

    _rank_moved AS (
        SELECT
            *,
            position + max(floor(rank) - position) OVER (PARTITION BY ranking ORDER BY position) AS place
        FROM _rank_in_order
    ),

    _rank_asked AS MATERIALIZED (SELECT DISTINCT query FROM _rank_known),

    _rank_graded AS MATERIALIZED (SELECT * FROM _rank_grades WHERE NOT incomplete),

    _rank_answered AS (
        SELECT DISTINCT query FROM _rank_graded WHERE query IN (SELECT query FROM _rank_asked)
    ),

    _rank_found AS (
        SELECT 1 AS place, 'id of no id type' AS finding, NULL AS query, NULL AS item, i.id.place AS other
        FROM (SELECT unnest(ids) AS id FROM _rank_names) AS i
        WHERE
            qrels IS NOT NULL
            AND NOT regexp_matches(i.id.type, '^(VARCHAR|UUID|ENUM.*|.*INT|U?INTEGER|BLOB|"NULL")$')
        UNION ALL
        SELECT 2, 'ids of different types', NULL, NULL, a.place || ', ' || b.place
        FROM (
            SELECT
                unnest([ids[1], ids[3]]) AS a,
                unnest([ids[2], ids[4]]) AS b
            FROM _rank_names
        )
        WHERE
            qrels IS NOT NULL
            AND regexp_matches(a.type, '^(VARCHAR|UUID|ENUM.*|.*INT|U?INTEGER|BLOB)$')
            AND regexp_matches(b.type, '^(VARCHAR|UUID|ENUM.*|.*INT|U?INTEGER|BLOB)$')
            AND (
                regexp_matches(a.type, 'INT') != regexp_matches(b.type, 'INT')
                OR (a.type = 'BLOB') != (b.type = 'BLOB')
            )
        UNION ALL
        SELECT
            3,
            CASE WHEN qrels IS NULL THEN 'null query, item or key' ELSE 'null query, item or key in run' END,
            coalesce(query, 'null'),
            CASE WHEN list_contains((SELECT names FROM _rank_names), 'item') THEN coalesce(id::varchar, 'null') END,
            NULL
        FROM _rank_rows
        WHERE incomplete
        UNION ALL
        SELECT 4, 'null query or item in qrels', coalesce(query, 'null'), coalesce(item, 'null'), NULL
        FROM _rank_grades
        WHERE qrels IS NOT NULL AND incomplete
        UNION ALL
        SELECT 5, 'query in run only', query, NULL, NULL
        FROM _rank_asked
        WHERE qrels IS NOT NULL AND query NOT IN (SELECT query FROM _rank_graded)
        UNION ALL
        SELECT DISTINCT 6, 'query in qrels only', query, NULL, NULL
        FROM _rank_graded
        WHERE qrels IS NOT NULL AND query NOT IN (SELECT query FROM _rank_asked)
        UNION ALL
        SELECT DISTINCT 7, 'no query in common', query, NULL, NULL
        FROM _rank_graded
        WHERE qrels IS NOT NULL AND NOT EXISTS (SELECT 1 FROM _rank_answered)
        UNION ALL
        SELECT 8, 'queries in common, but no item', query, NULL, NULL
        FROM _rank_answered
        WHERE
            qrels IS NOT NULL
            AND NOT EXISTS (
                SELECT 1 FROM _rank_known AS r INNER JOIN _rank_graded AS q ON r.query = q.query AND r.item = q.item
            )
        UNION ALL
        SELECT 9, 'item twice in a ranking', any_value(query), item, NULL
        FROM _rank_known
        WHERE item IS NOT NULL
        GROUP BY ranking, item
        HAVING count(*) > 1
        UNION ALL
        SELECT 10, 'item judged twice', query, item, NULL
        FROM _rank_graded
        WHERE qrels IS NOT NULL
        GROUP BY query, item
        HAVING count(*) > 1
        UNION ALL
        SELECT 11, 'score null or NaN', query, item, NULL
        FROM _rank_known
        WHERE has_score AND score IS NULL AND (qrels IS NOT NULL OR rank >= 1)
        UNION ALL
        SELECT 11.5, 'score infinite', query, item, NULL
        FROM _rank_known
        WHERE isinf(score) AND (qrels IS NOT NULL OR rank >= 1)
        UNION ALL
        SELECT 12, 'rank null or NaN', query, item, NULL
        FROM _rank_known
        WHERE qrels IS NOT NULL AND has_rank AND rank IS NULL
        UNION ALL
        SELECT 13, 'rank below 1', query, item, NULL FROM _rank_known WHERE rank < 1
        UNION ALL
        SELECT 14, 'rank not whole', query, item, NULL FROM _rank_whole WHERE rank % 1 != 0
        UNION ALL
        SELECT 15, 'rank tied', w.query, w.item, NULL
        FROM _rank_whole AS w
        INNER JOIN _rank_levels AS l ON w.ranking = l.ranking AND w.rank = l.rank
        WHERE l.equals > 1
        UNION ALL
        SELECT 16, 'ranks with a gap', any_value(query), NULL, NULL
        FROM _rank_levels
        GROUP BY ranking
        HAVING max(rank) > count(*)
        UNION ALL
        SELECT 17, 'rank against score', query, item, NULL
        FROM _rank_both_orders
        WHERE by_score > by_rank + equal_rank - 1 OR by_rank > by_score + equal_score - 1
        UNION ALL
        SELECT 18, 'tie across k', query, NULL, NULL FROM _rank_placed WHERE position = try_cast(k AS double) AND key = next_key
        UNION ALL
        SELECT 19, 'unjudged within k', query, item, NULL
        FROM _rank_placed
        WHERE
            CASE
                WHEN qrels IS NULL THEN rank <= try_cast(k AS double) AND relevance IS NULL
                ELSE
                    position <= try_cast(k AS double)
                    AND query IN (SELECT query FROM _rank_graded)
                    AND (query, item) NOT IN (SELECT (query, item) FROM _rank_graded WHERE relevance IS NOT NULL)
            END
        UNION ALL
        SELECT 20, 'grade null or NaN', query, item, NULL
        FROM _rank_graded
        WHERE qrels IS NOT NULL AND relevance IS NULL
        UNION ALL
        SELECT 20.2, 'query without a grade', query, NULL, NULL
        FROM _rank_graded
        WHERE qrels IS NOT NULL
        GROUP BY query
        HAVING count(relevance) = 0
        UNION ALL
        SELECT 20.4, 'ranking without a grade', query, NULL, NULL
        FROM _rank_known
        WHERE qrels IS NULL
        GROUP BY ranking, query
        HAVING count(relevance) = 0
        UNION ALL
        SELECT 21, 'no grade reaches min_relevance', query, NULL, NULL
        FROM _rank_graded
        GROUP BY query
        HAVING coalesce(max(relevance) < try_cast(min_relevance AS double), TRUE)
        UNION ALL
        SELECT 21.5, 'grade infinite', query, item, NULL FROM _rank_graded WHERE isinf(relevance)
        UNION ALL
        SELECT 22, 'grade above max_relevance', query, item, NULL FROM _rank_graded WHERE relevance > try_cast(max_relevance AS double)
        UNION ALL
        SELECT DISTINCT ON (ranking)
            23, 'no judged item is missing anywhere: recall and ideals come from the returned rows only', query, NULL, NULL
        FROM _rank_known
        WHERE
            qrels IS NULL
            AND relevance IS NOT NULL
            AND NOT EXISTS (
                SELECT 1 FROM _rank_known AS missed
                WHERE missed.relevance IS NOT NULL AND NOT coalesce(missed.rank >= 1, FALSE)
            )
        UNION ALL
        SELECT 24, 'rank moved to a place of its own', query, item, NULL FROM _rank_moved WHERE place != rank
    ),

    _rank_checked AS (
        SELECT 1 AS passed
        FROM (
            SELECT
                names,
                coalesce(
                    rank.main._fault(
                        try_cast(k AS double) >= 1 AND try_cast(k AS double) % 1 = 0, 'k must be a whole number of at least 1', k
                    ),
                    rank.main._switch_fault('descending', descending),
                    rank.main._min_relevance_fault(min_relevance),
                    rank.main._positive_fault('max_relevance', max_relevance),
                    CASE WHEN qrels IS NULL THEN 'the table' ELSE 'run' END || ' has no column '
                    || rank.main._missing(keys, names) || ' (keys); its columns are ' || names::varchar
                ) AS fault
            FROM _rank_names
        )
        WHERE
            CASE
                WHEN fault IS NOT NULL THEN error(fault)
                WHEN qrels IS NULL AND NOT list_has_all(names, ['rank', 'relevance'])
                    THEN
                        error(
                            'a judged table has rank and relevance, a run needs its qrels; the columns are '
                            || names::varchar
                        )
                WHEN NOT list_has_any(names, ['score', 'rank'])
                    THEN error('run has neither score nor rank; its columns are ' || names::varchar)
                ELSE TRUE
            END
    )

SELECT
    finding,
    count(*) AS count, -- noqa: RF04
    list(DISTINCT example ORDER BY example)[:3] AS examples
FROM (
    SELECT place, finding, coalesce(other, concat_ws(', ', 'query ' || query, 'item ' || item)) AS example FROM _rank_found
)
WHERE (SELECT passed FROM _rank_checked) = 1
GROUP BY place, finding
ORDER BY place;
