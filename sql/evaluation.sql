-- The per-query table; rules are told in polars_rank/evaluation.py, formulas beside each measure.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AM04,RF03,ST03,ST06

-- The core measures in their flat form: places and counts by windows, then plain sums. A judged table comes by name.
CREATE OR REPLACE MACRO rank.evaluate(judged, keys := NULL, k := 10) AS TABLE
WITH
    _rank_rows AS (
        SELECT
            struct_pack(*COLUMNS([
                c FOR c IN (*)
                IF lower(c) = 'query' OR list_contains([lower(x) FOR x IN coalesce(keys, ['system'])], lower(c))
            ])) AS ranking,
            CASE WHEN rank::double BETWEEN 1 AND 'inf'::double THEN rank::double END AS place,
            CASE WHEN relevance::double BETWEEN 0 AND 'inf'::double THEN relevance::double END AS grade
        FROM query_table(judged)
    ),

    _rank_counted AS (
        SELECT
            ranking,
            place,
            grade,
            place <= coalesce(k::double, 'inf'::double) AS counts,
            row_number() OVER (PARTITION BY ranking ORDER BY grade DESC NULLS LAST) AS ideal_place,
            -- Relevant rows stand before others of their rank: hits up to a row, misses strictly above it.
            count(*) FILTER (grade >= 1) OVER (
                PARTITION BY ranking ORDER BY place ASC NULLS LAST, grade < 1 ASC NULLS LAST ROWS UNBOUNDED PRECEDING
            ) AS hits,
            count(*) FILTER (grade < 1) OVER (
                PARTITION BY ranking ORDER BY place ASC NULLS LAST, grade < 1 ASC NULLS LAST
            ) AS misses,
            (count(*) FILTER (grade >= 1) OVER (PARTITION BY ranking))::double AS relevant,
            (count(*) FILTER (grade < 1) OVER (PARTITION BY ranking))::double AS not_relevant
        FROM _rank_rows
        WHERE
            CASE
                WHEN k < 1 OR k % 1 != 0
                    THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
                WHEN NOT list_has_all([lower(c) FOR c IN struct_keys(ranking)], [lower(x) FOR x IN coalesce(keys, [])])
                    THEN error('the judged table has not all of the columns ' || keys::varchar || ' (keys)')
                ELSE TRUE
            END
    ),

    _rank_summed AS (
        SELECT
            ranking,
            max(relevant) AS relevant,
            (count(*) FILTER (counts))::double AS returned,
            (count(*) FILTER (counts AND grade IS NOT NULL))::double AS judged_returned,
            (count(*) FILTER (counts AND grade >= 1))::double AS found,
            (count(*) FILTER (grade >= 1 AND place <= relevant))::double AS found_by_relevant,
            min(place) FILTER (counts AND grade >= 1) AS first_found,
            sum(CASE WHEN counts THEN grade / log2(place + 1) END) AS gain,
            sum(CASE WHEN ideal_place <= coalesce(k::double, 'inf'::double) THEN grade / log2(ideal_place + 1) END) AS ideal,
            sum(CASE WHEN counts AND grade >= 1 THEN hits / place END) AS precisions,
            sum(
                CASE
                    WHEN grade >= 1 AND misses > 0 AND place IS NOT NULL
                        THEN 1 - least(misses, relevant) / least(relevant, not_relevant)
                    WHEN grade >= 1 AND place IS NOT NULL THEN 1
                END
            ) AS preferred
        FROM _rank_counted
        GROUP BY ranking
    )

SELECT
    ranking.query,
    ranking.* EXCLUDE (query),
    coalesce(gain / nullif(ideal, 0), 0.0) AS ndcg,
    coalesce(precisions / nullif(relevant, 0), 0.0) AS average_precision,
    coalesce(1 / first_found, 0.0) AS reciprocal_rank,
    coalesce(found / nullif(coalesce(k, returned), 0), 0.0) AS precision, -- noqa: RF04
    coalesce(found / nullif(relevant, 0), 0.0) AS recall,
    CASE WHEN relevant > 0 THEN 2 * found / (relevant + coalesce(k, returned)) ELSE 0.0 END AS f_measure,
    (found > 0)::double AS success,
    coalesce(judged_returned / nullif(returned, 0), 0.0) AS judged_share,
    coalesce(found_by_relevant / nullif(relevant, 0), 0.0) AS r_precision,
    coalesce(preferred / nullif(relevant, 0), 0.0) AS bpref
FROM _rank_summed;

-- From run and qrels in one step. The file is loaded last, since a macro must know those that it calls.
CREATE OR REPLACE MACRO rank.evaluate_run(
    run, qrels, keys := NULL, k := 10, order_by := NULL, descending := TRUE, ties := 'item-descending',
    score_dtype := 'float64', rank_base := 1, queries := 'qrels', duplicates := 'error', judged_only := FALSE,
    drop_identical := FALSE, depth := NULL
) AS TABLE
WITH
    _rank_judged_run AS (
        SELECT * FROM rank.judge(
            run, qrels, keys := keys, order_by := order_by, descending := descending, ties := ties,
            score_dtype := score_dtype, rank_base := rank_base, queries := queries, duplicates := duplicates,
            judged_only := judged_only, drop_identical := drop_identical, depth := depth
        )
    )

SELECT * FROM rank.evaluate('_rank_judged_run', keys := keys, k := k);
