-- A run judged by subtopics; rules and sources are told in polars_rank/judging/subtopics.py. Tables come by name.
-- The linter misreads what holds COLUMNS([...]).
-- noqa: disable=PRS,AL10,AM04,LT09,RF02,RF03,ST03,ST05,ST06,ST07

CREATE OR REPLACE MACRO rank.judge_subtopics(
    run, qrels, alpha := 0.5, min_relevance := 1, keys := NULL, attributes := NULL, order_by := NULL, descending := TRUE,
    ties := 'item-descending', score_dtype := 'float64', rank_base := 1, queries := 'qrels', duplicates := 'error',
    judged_only := FALSE, drop_identical := FALSE, depth := NULL
) AS TABLE
WITH RECURSIVE
    _rank_topics AS (
        SELECT
            query,
            item,
            subtopic,
            max(CASE WHEN NOT isnan(relevance::double) THEN relevance::double END) AS relevance
        FROM (
            SELECT
                query,
                item,
                subtopic,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN list_contains([lower(x) FOR x IN (*)], 'relevance') THEN 'relevance' ELSE '_rank_one'
                    END
                ]) AS relevance
            FROM (
                SELECT *, 1 AS _rank_one FROM query_table(qrels)
            )
        )
        GROUP BY query, item, subtopic
        HAVING
            CASE
                WHEN rank.main._share_fault('alpha', alpha) IS NOT NULL THEN error(rank.main._share_fault('alpha', alpha))
                WHEN rank.main._min_relevance_fault(min_relevance) IS NOT NULL
                    THEN error(rank.main._min_relevance_fault(min_relevance))
                WHEN subtopic IS NULL
                    THEN error('qrels.subtopic has a null: every row needs its subtopic; drop or fill such rows')
                WHEN count(*) > 1 AND coalesce(duplicates::varchar, '') != 'max'
                    THEN error(
                        'qrels has a row twice: query ' || query::varchar || ', item ' || item::varchar || ', subtopic '
                        || subtopic::varchar || '; duplicates := ''max'' keeps the highest grade'
                    )
                ELSE TRUE
            END
    ),

    _rank_items AS (
        SELECT
            query,
            item,
            max(relevance) AS relevance
        FROM _rank_topics
        GROUP BY query, item
    ),

    _rank_judged_items AS (
        SELECT * FROM rank.judge(
            run, '_rank_items', keys := keys, attributes := attributes, order_by := order_by, descending := descending,
            ties := ties, score_dtype := score_dtype, rank_base := rank_base, queries := queries, duplicates := duplicates,
            judged_only := judged_only, drop_identical := drop_identical, depth := depth
        )
    ),

    -- One step a place: the rows that are left, how often each subtopic was met, and the item that is placed.
    _rank_steps AS (
        SELECT
            query,
            item,
            subtopic,
            0 AS seen,
            0 AS place,
            FALSE AS placed
        FROM _rank_topics
        WHERE relevance >= try_cast(min_relevance AS double)

        UNION ALL

        SELECT
            query,
            item,
            subtopic,
            seen + (bool_or(item = best) OVER (PARTITION BY query, subtopic))::int AS seen,
            place + 1 AS place,
            item = best AS placed
        FROM (
            SELECT
                *,
                first_value(item) OVER (PARTITION BY query ORDER BY worth DESC, item DESC) AS best
            FROM (
                SELECT
                    *,
                    -- Rounded, so that sums of the same terms in another order are equal.
                    round(sum((1 - try_cast(alpha AS double)) ^ seen) OVER (PARTITION BY query, item), 12) AS worth
                FROM _rank_steps
                WHERE NOT placed
            )
        )
    ),

    _rank_ideal AS (
        SELECT DISTINCT
            query,
            item,
            place AS ideal_rank
        FROM _rank_steps
        WHERE placed
    )

SELECT
    _rank_judged_items.* EXCLUDE (relevance),
    _rank_topics.subtopic,
    _rank_topics.relevance,
    _rank_ideal.ideal_rank
FROM _rank_judged_items
LEFT JOIN _rank_topics USING (query, item)
LEFT JOIN _rank_ideal USING (query, item);
