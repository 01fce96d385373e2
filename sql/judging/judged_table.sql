-- Run and qrels become the judged table; rules and sources are told in polars_rank/judging/judged_table.py.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AL05,AL10,AM04,AM09,LT01,LT09,LT14,RF01,RF03,RF04,ST03,ST06
-- Options are looked at by name, so that a column may be missing: COLUMNS([c FOR c IN (*) IF ...]) picks it,
-- or _rank_none in its stead, and keys, attributes and the columns kept travel as one struct each.

CREATE OR REPLACE MACRO rank.judge(
    run, qrels, keys := NULL, attributes := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending',
    score_dtype := 'float64', rank_base := 1, queries := 'qrels', duplicates := 'error', judged_only := FALSE,
    drop_identical := FALSE, depth := NULL
) AS TABLE
WITH
    -- The empty branch gives the ids of both tables one type; the blank row stands for "no key" where there is none.
    _rank_run AS (
        SELECT *, 0 AS _rank_none, NULL::enum('no score') AS _rank_no_score, FALSE AS _rank_blank FROM query_table(run)
        UNION ALL BY NAME
        SELECT query, item FROM query_table(qrels) WHERE FALSE
        UNION ALL BY NAME
        SELECT 0 AS _rank_none, TRUE AS _rank_blank
    ),

    _rank_packed AS (
        SELECT
            query,
            item,
            _rank_blank AS blank,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF c = '_rank_none'
                OR (lower(c) = 'system' AND list_contains(rank.main._names(keys, otherwise := ['system']), 'system'))
            ])) AS system_key,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF c = '_rank_none' OR (
                    lower(c) NOT IN ('system', 'query', 'item')
                    AND list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
                )
            ])) AS other_keys,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF c = '_rank_none' OR (
                    list_contains(rank.main._names(try_cast(attributes AS varchar [])), lower(c))
                    AND NOT list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
                )
            ])) AS about,
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF NOT list_contains(
                    ['query', 'item', 'rank', '_rank_blank', '_rank_no_score']
                    || rank.main._names(keys, otherwise := ['system'])
                    || rank.main._names(try_cast(attributes AS varchar [])),
                    lower(c)
                )
            ])) AS kept,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'score') AND coalesce(order_by::varchar, '') != 'rank' THEN 'score'
                    ELSE '_rank_no_score'
                END
            ]) AS score,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN
                        list_contains([lower(x) FOR x IN (*)], 'rank')
                        AND (order_by::varchar = 'rank' OR NOT list_contains([lower(x) FOR x IN (*)], 'score'))
                        THEN 'rank'
                    ELSE '_rank_none'
                END
            ]) AS place
        FROM _rank_run
    ),

    _rank_rows AS (
        SELECT
            query,
            item,
            system_key,
            other_keys,
            about,
            kept,
            score,
            place,
            CASE
                WHEN typeof(item) LIKE 'ENUM%' OR (ties::varchar = 'item-text-descending' AND typeof(item) != 'BLOB')
                    THEN item::varchar
            END AS item_text,
            CASE
                -- The given rank, from 1; lower is better.
                WHEN typeof(score) = 'ENUM(''no score'')'
                    THEN CASE
                        WHEN NOT isnan(try_cast(place AS double))
                            THEN try_cast(rank_base AS double) - 1 - try_cast(place AS double)
                    END
                WHEN isnan(try_cast(score AS double)) THEN NULL
                WHEN score_dtype::varchar = 'float32'
                    THEN coalesce(try_cast(try_cast(score AS double) AS float)::double, try_cast(score AS double) * 1e300)
                ELSE try_cast(score AS double)
            END * CASE WHEN try_cast(descending AS boolean) OR typeof(score) = 'ENUM(''no score'')' THEN 1 ELSE -1 END AS points,
            -- Beyond 2^53 whole numbers that differ are one as floats.
            CASE
                WHEN typeof(score) IN ('BIGINT', 'UBIGINT', 'HUGEINT') AND score_dtype::varchar = 'float64'
                    THEN CASE WHEN try_cast(descending AS boolean) THEN 1 ELSE -1 END * try_cast(score AS hugeint)
            END AS whole
        FROM _rank_packed
        WHERE NOT blank AND NOT coalesce(try_cast(drop_identical AS boolean) AND query::varchar = item::varchar, FALSE)
    ),

    -- A query that loses all its rows to drop_identical is a ranking still.
    _rank_own AS (SELECT DISTINCT query, system_key, other_keys FROM _rank_packed WHERE NOT blank),

    _rank_grades AS (
        SELECT
            query,
            item,
            relevance,
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

    _rank_judgements AS (
        SELECT
            query,
            item,
            max(grade) AS grade,
            count(*) AS copies,
            list(DISTINCT coalesce(grade::varchar, 'null')) AS grades
        FROM _rank_grades
        GROUP BY query, item
    ),

    _rank_judged_queries AS (SELECT DISTINCT query FROM _rank_judgements WHERE grade IS NOT NULL),

    _rank_qrels AS (
        SELECT query, item, grade FROM _rank_judgements
        WHERE queries::varchar IN ('run', 'all') OR query IN (SELECT query FROM _rank_judged_queries)
    ),

    _rank_ordered AS (
        SELECT
            r.query,
            r.system_key,
            r.other_keys,
            r.item,
            r.kept,
            r.score,
            r.points,
            q.grade,
            CASE
                WHEN ties::varchar = 'best'
                    THEN
                        row_number() OVER (
                            ranking ORDER BY
                                r.points DESC NULLS LAST, r.whole DESC, coalesce(q.grade, 0) DESC, r.item_text DESC, r.item DESC
                        )
                WHEN ties::varchar = 'worst'
                    THEN
                        row_number() OVER (
                            ranking ORDER BY
                                r.points DESC NULLS LAST, r.whole DESC, coalesce(q.grade, 0) ASC, r.item_text DESC, r.item DESC
                        )
                WHEN ties::varchar = 'item-ascending'
                    THEN row_number() OVER (ranking ORDER BY r.points DESC NULLS LAST, r.whole DESC, r.item_text ASC, r.item ASC)
                WHEN typeof(r.item) LIKE 'ENUM%' OR ties::varchar = 'item-text-descending'
                    THEN row_number() OVER (ranking ORDER BY r.points DESC NULLS LAST, r.whole DESC, r.item_text DESC, r.item DESC)
                ELSE row_number() OVER (ranking ORDER BY r.points DESC NULLS LAST, r.whole DESC, r.item DESC)
            END AS position
        FROM _rank_rows AS r
        LEFT JOIN _rank_qrels AS q ON r.query = q.query AND r.item = q.item
        -- Types are known to the planner: without keys it sorts by the query alone, and of the windows it keeps one.
        WINDOW ranking AS (
            PARTITION BY
                r.query,
                CASE WHEN typeof(r.system_key) != 'STRUCT(_rank_none INTEGER)' THEN r.system_key END,
                CASE WHEN typeof(r.other_keys) != 'STRUCT(_rank_none INTEGER)' THEN r.other_keys END
        )
    ),

    -- Given ranks become places that no two rows share: equal ones count on, gaps are kept.
    _rank_ranked AS (
        SELECT
            query,
            system_key,
            other_keys,
            item,
            kept,
            grade,
            CASE
                WHEN typeof(score) != 'ENUM(''no score'')' THEN position
                WHEN points IS NOT NULL
                    THEN
                        position + max(try_cast(floor(-points) AS bigint) - position) OVER (
                            PARTITION BY query, system_key, other_keys ORDER BY position ROWS UNBOUNDED PRECEDING
                        )
            END AS rank
        FROM _rank_ordered
    ),

    _rank_returned AS (
        SELECT * FROM _rank_ranked
        WHERE
            (depth IS NULL OR rank IS NULL OR rank <= try_cast(depth AS double))
            AND (coalesce(queries::varchar, '') IN ('run', 'all') OR query IN (SELECT query FROM _rank_qrels))
        QUALIFY
            CASE
                WHEN duplicates::varchar = 'error' THEN 1
                ELSE row_number() OVER (PARTITION BY query, system_key, other_keys, item ORDER BY rank ASC NULLS LAST)
            END = 1
    ),

    _rank_systems AS (
        SELECT system_key FROM _rank_own
        UNION
        SELECT system_key FROM _rank_packed WHERE blank AND len(struct_keys(system_key)) = 1
    ),

    -- Only systems are crossed with the judged queries: a day on which nobody asked a query makes no ranking.
    _rank_asked AS (
        SELECT query, other_keys FROM _rank_own WHERE len(struct_keys(other_keys)) > 1
        UNION
        SELECT q.query, p.other_keys
        FROM _rank_qrels AS q, _rank_packed AS p
        WHERE p.blank AND len(struct_keys(p.other_keys)) = 1
    ),

    _rank_rankings AS (
        SELECT query, system_key, other_keys
        FROM _rank_own
        WHERE queries::varchar IN ('run', 'all') OR (queries::varchar = 'both' AND query IN (SELECT query FROM _rank_judged_queries))
        UNION
        SELECT a.query, s.system_key, a.other_keys
        FROM _rank_asked AS a, _rank_systems AS s
        WHERE coalesce(queries::varchar, '') NOT IN ('run', 'both') AND a.query IN (SELECT query FROM _rank_judged_queries)
    ),

    -- A negative grade loses only its rank, so that no query vanishes.
    _rank_judged AS (
        SELECT
            query,
            system_key,
            other_keys,
            item,
            kept,
            grade,
            CASE
                WHEN NOT try_cast(judged_only AS boolean) THEN rank
                WHEN grade >= 0 AND rank IS NOT NULL
                    THEN
                        rank() OVER (
                            PARTITION BY query, system_key, other_keys
                            ORDER BY CASE WHEN grade >= 0 THEN rank END ASC NULLS LAST
                        )
            END AS place
        FROM (
            SELECT query, system_key, other_keys, item, rank, grade, kept FROM _rank_returned
            UNION ALL
            SELECT k.query, k.system_key, k.other_keys, q.item, NULL, q.grade, NULL
            FROM _rank_rankings AS k
            INNER JOIN _rank_qrels AS q ON k.query = q.query
            ANTI JOIN _rank_returned AS r
                ON
                    k.query = r.query
                    AND q.item = r.item
                    AND (typeof(r.system_key) = 'STRUCT(_rank_none INTEGER)' OR k.system_key = r.system_key)
                    AND (typeof(r.other_keys) = 'STRUCT(_rank_none INTEGER)' OR k.other_keys = r.other_keys)
        )
        WHERE NOT try_cast(judged_only AS boolean) OR grade IS NOT NULL
    ),

    -- Attributes named as columns of the run: a ranking's own value, else the one that all others of the query have.
    _rank_told AS (
        SELECT query AS _rank_query, system_key AS _rank_system, other_keys AS _rank_other, about.*
        FROM _rank_packed
        WHERE NOT blank AND try_cast(attributes AS varchar []) IS NOT NULL
    ),

    _rank_agreed AS (
        SELECT
            _rank_query,
            CASE
                WHEN count(DISTINCT COLUMNS(* EXCLUDE (_rank_query, _rank_system, _rank_other))) = 1
                    THEN any_value(COLUMNS(* EXCLUDE (_rank_query, _rank_system, _rank_other)))
            END
        FROM _rank_told
        GROUP BY _rank_query
    ),

    _rank_about AS (
        SELECT
            _rank_query,
            _rank_system,
            _rank_other,
            any_value(COLUMNS(* EXCLUDE (_rank_query, _rank_system, _rank_other)))
        FROM (
            SELECT * FROM _rank_told
            UNION ALL BY NAME
            SELECT k.system_key AS _rank_system, k.other_keys AS _rank_other, a.*
            FROM _rank_rankings AS k
            INNER JOIN _rank_agreed AS a ON k.query = a._rank_query
        )
        GROUP BY _rank_query, _rank_system, _rank_other
    ),

    -- Attributes given as a table.
    _rank_no_table AS (SELECT query FROM _rank_packed WHERE FALSE),

    _rank_table AS (
        SELECT query AS _rank_query, * EXCLUDE (query), 0 AS _rank_none
        FROM query_table(CASE WHEN typeof(attributes) = 'VARCHAR' THEN [attributes::varchar] ELSE ['_rank_no_table'] END)
    ),

    -- What is refused. A refusal is an error within WHERE: elsewhere it would be optimised away.
    _rank_names AS (
        SELECT
            (
                SELECT [lower(c) FOR c IN struct_keys(_rank_row)]
                FROM (SELECT 1) LEFT JOIN query_table(run) AS _rank_row ON FALSE
            ) AS run_names,
            (
                SELECT [lower(c) FOR c IN struct_keys(_rank_row)]
                FROM (SELECT 1) LEFT JOIN query_table(qrels) AS _rank_row ON FALSE
            ) AS qrels_names,
            (
                SELECT [lower(c) FOR c IN struct_keys(_rank_row) IF c NOT IN ('_rank_query', '_rank_none')]
                FROM (SELECT 1) LEFT JOIN _rank_table AS _rank_row ON FALSE
            ) AS table_names
    ),

    _rank_ids AS (
        SELECT
            id.name,
            id.types,
            [
                CASE
                    WHEN type IN ('VARCHAR', 'UUID') OR type LIKE 'ENUM%' THEN 'text'
                    WHEN type LIKE '%INT' OR type LIKE '%INTEGER' THEN 'integer'
                    WHEN type IN ('BLOB', '"NULL"') THEN type
                    ELSE 'other'
                END FOR type IN id.types
            ] AS kinds
        FROM (
            SELECT
                unnest([
                    {'name': 'query', 'types': [typeof(r.query), typeof(q.query)]},
                    {'name': 'item', 'types': [typeof(r.item), typeof(q.item)]}
                ]) AS id
            FROM (SELECT 1) LEFT JOIN query_table(run) AS r ON FALSE LEFT JOIN query_table(qrels) AS q ON FALSE
        )
    ),

    _rank_numbers AS (
        SELECT 'run.score' AS name, typeof(score) AS type
        FROM _rank_packed
        WHERE blank AND typeof(score) != 'ENUM(''no score'')'
        UNION ALL
        SELECT 'run.rank', typeof(place) FROM _rank_packed WHERE blank
        UNION ALL
        SELECT 'qrels.relevance', any_value(typeof(relevance)) FROM _rank_grades
    ),

    _rank_refusals AS (
        SELECT
            1 AS place,
            coalesce(
                CASE WHEN order_by IS NOT NULL THEN rank.main._word_fault('order_by', order_by, ['score', 'rank']) END,
                rank.main._switch_fault('descending', descending),
                rank.main._switch_fault('judged_only', judged_only),
                rank.main._switch_fault('drop_identical', drop_identical),
                rank.main._word_fault(
                    'ties', ties, ['item-descending', 'item-ascending', 'item-text-descending', 'best', 'worst']
                ),
                rank.main._word_fault('score_dtype', score_dtype, ['float64', 'float32']),
                rank.main._fault(try_cast(rank_base AS double) IN (0, 1), 'rank_base must be one of 0, 1', rank_base),
                rank.main._word_fault('queries', queries, ['qrels', 'both', 'run', 'all']),
                rank.main._word_fault('duplicates', duplicates, ['error', 'first', 'max']),
                CASE
                    WHEN depth IS NOT NULL
                        THEN rank.main._fault(
                            try_cast(depth AS double) >= 1 AND try_cast(depth AS double) % 1 = 0,
                            'depth must be a whole number of at least 1',
                            depth
                        ) || '; use NULL for whole rankings'
                END
            ) AS message
        UNION ALL
        SELECT
            2,
            CASE
                WHEN list_contains(run_names, 'relevance')
                    THEN
                        'run has a column relevance: are run and qrels swapped, or is it a judged table already? '
                        || 'Give that to rank.evaluate, or leave the column out'
                WHEN NOT list_contains(qrels_names, 'relevance') AND list_has_any(qrels_names, ['score', 'rank'])
                    THEN 'qrels has no column relevance but score or rank: are run and qrels swapped?'
                WHEN NOT list_has_any(run_names, ['score', 'rank'])
                    THEN 'run has neither score nor rank; its columns are ' || run_names::varchar
                WHEN NOT list_contains(run_names, order_by::varchar)
                    THEN 'run has no column ' || order_by::varchar || '; its columns are ' || run_names::varchar
                WHEN rank.main._missing(keys, run_names) IS NOT NULL
                    THEN
                        'run has no column ' || rank.main._missing(keys, run_names) || ' (keys); its columns are '
                        || run_names::varchar
                WHEN typeof(attributes) NOT LIKE '%[]' AND typeof(attributes) NOT IN ('VARCHAR', '"NULL"')
                    THEN
                        'attributes must be the name of a table or a list of columns of the run, got ' || attributes::varchar
                WHEN typeof(attributes) LIKE '%[]' AND rank.main._missing(attributes, run_names) IS NOT NULL
                    THEN
                        'run has no column ' || rank.main._missing(attributes, run_names)
                        || ' (attributes); its columns are ' || run_names::varchar
                WHEN list_has_any(run_names || ['item', 'rank', 'relevance'], table_names)
                    THEN
                        'attributes has a column '
                        || [a FOR a IN table_names IF list_contains(run_names || ['item', 'rank', 'relevance'], a)][1]
                        || ' that the judged table has too: leave one out'
            END
        FROM _rank_names
        UNION ALL
        SELECT
            3,
            CASE
                WHEN list_contains(kinds, 'other')
                    THEN
                        ['run.', 'qrels.'][list_position(kinds, 'other')] || name || ' has type '
                        || types[list_position(kinds, 'other')]
                        || '; ids are text, integers or binary: cast it first'
                WHEN kinds[1] != kinds[2] AND NOT list_contains(kinds, '"NULL"')
                    THEN
                        'id types differ: run.' || name || ' is ' || types[1] || ', qrels.' || name || ' is ' || types[2]
                        || '; cast one of them, so that ids can match'
            END
        FROM _rank_ids
        UNION ALL
        SELECT 4, name || ' has type ' || type || ', which is no number: cast it first'
        FROM _rank_numbers
        WHERE NOT regexp_matches(type, '^(.*INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"NULL")$')
        UNION ALL
        SELECT
            5,
            CASE
                WHEN nulls > 0
                    THEN
                        'run has ' || nulls || ' rows with a null in query, item or a key: '
                        || 'every row needs them; drop or fill such rows'
            END
        FROM (
            SELECT
                (SELECT count(*) FROM _rank_run WHERE NOT _rank_blank) - (
                    SELECT count(*) FROM _rank_run
                    WHERE COLUMNS([
                        c FOR c IN (*)
                        IF lower(c) IN ('query', 'item')
                        OR list_contains(rank.main._names(keys, otherwise := ['system']), lower(c))
                    ]) IS NOT NULL
                ) AS nulls
        )
        UNION ALL
        SELECT
            6,
            CASE
                WHEN count(*) > 0
                    THEN
                        'qrels has ' || count(*) || ' rows with a null in query or item: '
                        || 'every row needs them; drop or fill such rows'
            END
        FROM _rank_grades
        WHERE query IS NULL OR item IS NULL
        UNION ALL
        SELECT 7, (
            SELECT
                'run has a row twice: '
                || concat_ws(
                    ', ',
                    'query ' || query::varchar,
                    nullif(system_key::varchar, '{''_rank_none'': 0}'),
                    nullif(other_keys::varchar, '{''_rank_none'': 0}'),
                    'item ' || item::varchar
                )
                || '; duplicates := ''first'' keeps the best-ranked'
            FROM _rank_rows
            WHERE duplicates::varchar = 'error'
            GROUP BY query, item, system_key, other_keys
            HAVING count(*) > 1
            LIMIT 1
        )
        UNION ALL
        SELECT 8, (
            SELECT
                'qrels has a row twice with grades ' || grades::varchar
                || ': query ' || query::varchar || ', item ' || item::varchar
                || '; duplicates := ''max'' keeps the highest grade'
            FROM _rank_judgements
            WHERE (duplicates::varchar = 'error' AND copies > 1) OR (duplicates::varchar = 'first' AND len(grades) > 1)
            LIMIT 1
        )
        UNION ALL
        SELECT
            10,
            'run and qrels have no query in common: the run has ' || [q::varchar FOR q IN ours]::varchar
            || ', the qrels ' || [q::varchar FOR q IN theirs]::varchar || ' among others'
        FROM (
            SELECT
                (
                    SELECT list(query ORDER BY query)
                    FROM (SELECT DISTINCT query FROM _rank_own ORDER BY query LIMIT 3)
                ) AS ours,
                (
                    SELECT list(query ORDER BY query)
                    FROM (SELECT DISTINCT query FROM _rank_qrels ORDER BY query LIMIT 3)
                ) AS theirs
        )
        WHERE NOT EXISTS (SELECT 1 FROM _rank_own WHERE query IN (SELECT query FROM _rank_qrels))
        UNION ALL
        SELECT
            11,
            CASE
                WHEN max(place::double) = 'inf'::double
                    THEN 'run.rank holds an infinite rank; write null for an item that was not returned'
                ELSE
                    'run.rank holds ' || min(place)::varchar || ', but a run ordered by rank counts from ' || rank_base::varchar
                    || CASE WHEN rank_base = 1 THEN '; use rank_base := 0 if it counts from 0' ELSE '' END
            END
        FROM _rank_rows
        WHERE typeof(score) = 'ENUM(''no score'')' AND (points > -1 OR points = '-inf'::double)
        HAVING count(*) > 0
        UNION ALL
        SELECT
            9,
            'qrels.relevance is ' || grade::varchar || ' for query ' || query::varchar || ', item ' || item::varchar
            || '; grades are finite numbers: write the highest or lowest grade, or null for an item that is not judged'
        FROM _rank_grades
        WHERE isinf(grade)
        UNION ALL
        SELECT 12, (
            SELECT 'attributes has query ' || _rank_query::varchar || ' twice; keep one row a query'
            FROM _rank_table
            GROUP BY _rank_query
            HAVING count(*) > 1
            LIMIT 1
        )
        UNION ALL
        SELECT 13, (
            SELECT
                'attribute ' || name || ' varies within a ranking (query ' || _rank_query::varchar
                || '); make it a key: keys := [...]'
            FROM (
                UNPIVOT (
                    SELECT
                        _rank_query,
                        _rank_system,
                        _rank_other,
                        count(DISTINCT COLUMNS(* EXCLUDE (_rank_query, _rank_system, _rank_other)))
                    FROM _rank_told
                    GROUP BY _rank_query, _rank_system, _rank_other
                )
                ON COLUMNS(* EXCLUDE (_rank_query, _rank_system, _rank_other)) INTO NAME name VALUE different
            )
            WHERE different > 1
            LIMIT 1
        )
    ),

    _rank_checked AS (
        SELECT 1 AS passed
        FROM (SELECT arg_min(message, place) AS message FROM _rank_refusals)
        WHERE CASE WHEN message IS NULL THEN TRUE ELSE error(message) END
    )

SELECT
    query,
    _rank_system.* EXCLUDE (_rank_none),
    _rank_other.* EXCLUDE (_rank_none),
    item,
    rank,
    relevance,
    _rank_kept.* EXCLUDE (_rank_none),
    _rank_told.* EXCLUDE (_rank_query, _rank_system, _rank_other, _rank_none),
    _rank_tabled.* EXCLUDE (_rank_query, _rank_none)
FROM (
    SELECT
        j.query,
        j.system_key AS _rank_system,
        j.other_keys AS _rank_other,
        j.item,
        j.place AS rank,
        j.grade AS relevance,
        j.kept AS _rank_kept,
        _rank_a AS _rank_told,
        _rank_t AS _rank_tabled
    FROM _rank_judged AS j
    LEFT JOIN _rank_about AS _rank_a
        ON
            j.query = _rank_a._rank_query
            AND j.system_key = _rank_a._rank_system
            AND j.other_keys = _rank_a._rank_other
    LEFT JOIN _rank_table AS _rank_t ON j.query = _rank_t._rank_query
    WHERE (SELECT passed FROM _rank_checked) = 1
);
