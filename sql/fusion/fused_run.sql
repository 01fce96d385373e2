-- Rank fusion; formulas, rules and sources are told in polars_rank/fusion/fused_run.py.
-- The linter can't parse *COLUMNS([...]) and misreads what holds it.
-- noqa: disable=PRS,AL03,AL05,AL10,AM04,AM09,LT01,LT09,LT14,RF01,RF03,RF04,ST03,ST06
--
--   SELECT query, item, rank.rrf(rank) FROM lists GROUP BY query, item
--   FROM rank.fuse('runs', k := 60)
--   FROM rank.fuse('runs', method := 'comb_sum', normalize := 'min_max', weights := MAP {'bm25': 2.0, 'dense': 1.0})
--   FROM rank.comb_sum('runs', normalize := 'min_max', weights := MAP {'bm25': 2.0, 'dense': 1.0})
--   FROM rank.posfuse('runs', fitted := 'fitted')
--
-- Normalised scores alone are the contributions of comb_sum:
--
--   SELECT query, item, unnest(explain) FROM rank.fuse('runs', 'comb_sum', normalize := 'zscore', explain := TRUE)
--
-- `runs` names one table of system, query, item and score or rank; lists come in the order of the systems' names.
-- Each method has a macro of its name too, with the options that it reads, which calls rank.fuse. What a method does
-- not need is cut from the plan, since its name is a constant.
-- COLUMNS([c FOR c IN (*) IF ...]) reads a column that may be missing, or _rank_none in its stead.

-- Infinite weights that cancel out give NULL.
CREATE OR REPLACE MACRO rank.rrf(rank, weight := 1, k := 60) AS
    rank.main._checked(
        rank.main._fault(
            try_cast(k AS double) >= 0 AND try_cast(k AS double) < 'inf'::double, 'k must be a finite number of at least 0', k
        ),
        coalesce(
            nullif(
                list_sum(
                    list_sort(
                        list(weight::double / (k::double + rank::double)) FILTER (
                            rank::double >= 1 AND NOT isnan(rank::double) AND NOT isnan(weight::double)
                            AND NOT isnan(weight::double / (k::double + rank::double))
                        )
                    )
                ),
                'nan'::double
            ),
            CASE WHEN count(rank) FILTER (isinf(weight::double)) = 0 THEN 0.0 END
        )::double
    );

-- Weights as a MAP, empty where there are none; NULL for what is no MAP.
CREATE OR REPLACE MACRO rank._weights(weights) AS
    CASE
        WHEN weights IS NULL THEN MAP {}::map(varchar, double)
        ELSE try_cast(weights::varchar AS map(varchar, double))
    END;

CREATE OR REPLACE MACRO rank.fuse(
    runs, method := 'rrf', k := 60, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, gamma := 1.0,
    sigma := 0.01, phi := 0.8, weighting := 'multiply', fitted := NULL, reach := 5, order_by := NULL,
    descending := TRUE, ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL, explain := FALSE
) AS TABLE
WITH
    _rank_options AS (
        SELECT TRUE AS checked
        FROM (
            SELECT coalesce(
                rank.main._word_fault('method', method, [
                    'rrf', 'isr', 'log_isr', 'logn_isr', 'rbc', 'borda', 'weighted_borda', 'condorcet', 'copeland',
                    'comb_sum', 'comb_mean', 'comb_mnz', 'comb_anz', 'comb_min', 'comb_max', 'comb_med', 'comb_gmnz',
                    'mixed', 'wmnz', 'weighted_sum', 'convex', 'dbsf', 'relative_score', 'mapfuse', 'posfuse',
                    'probfuse', 'segfuse', 'slidefuse', 'bayesfuse'
                ]),
                rank.main._fault(
                    try_cast(k AS double) >= 0 AND try_cast(k AS double) < 'inf'::double,
                    'k must be a finite number of at least 0',
                    k
                ),
                CASE
                    WHEN normalize IS NOT NULL
                        THEN rank.main._word_fault('normalize', normalize, [
                            'min_max', 'min_max_inverted', 'max', 'sum', 'zscore', 'rank', 'borda', 'sigmoid', 'quantile'
                        ])
                END,
                CASE
                    WHEN
                        method IN ('dbsf', 'relative_score')
                        AND (normalize IS NOT NULL OR on_constant IS DISTINCT FROM 0 OR ddof IS DISTINCT FROM 0)
                        THEN
                            method || ' has a normalisation of its own; leave out normalize, on_constant and ddof, '
                            || 'or use comb_sum with them'
                END,
                rank.main._fault(
                    abs(try_cast(on_constant AS double)) < 'inf'::double, 'on_constant must be a finite number', on_constant
                ),
                rank.main._fault(ddof IN (0, 1), 'ddof must be 0 or 1', ddof),
                rank.main._fault(abs(try_cast(gamma AS double)) < 'inf'::double, 'gamma must be a finite number', gamma),
                rank.main._fault(
                    try_cast(sigma AS double) >= 0 AND try_cast(sigma AS double) < 'inf'::double,
                    'sigma must be a finite number of at least 0',
                    sigma
                ),
                rank.main._share_fault('phi', phi),
                rank.main._word_fault('weighting', weighting, ['multiply', 'stretch']),
                CASE
                    WHEN fitted IS NULL AND method LIKE '%fuse'
                        THEN 'method ' || method || ' needs fitted, the name of a table made by fit_fusion'
                END,
                rank.main._fault(reach >= 0 AND reach % 1 = 0, 'reach must be a whole number of at least 0', reach),
                CASE WHEN order_by IS NOT NULL THEN rank.main._word_fault('order_by', order_by, ['score', 'rank']) END,
                rank.main._word_fault('ties', ties, ['item-descending', 'item-ascending', 'item-text-descending']),
                rank.main._fault(rank_base IN (0, 1), 'rank_base must be 0 or 1', rank_base),
                rank.main._word_fault('duplicates', duplicates, ['error', 'first']),
                rank.main._fault(
                    rank.main._weights(weights) IS NOT NULL,
                    'weights must be a MAP of each system to a number, as MAP {''bm25'': 2.0, ''dense'': 1.0}',
                    weights
                ),
                rank.main._names_fault('keys', keys),
                CASE
                    WHEN list_has_any(rank.main._names(keys), ['system', 'query', 'item', 'score', 'rank', 'explain'])
                        THEN 'keys ' || keys::varchar || ' names what has a part in the fusion already; leave it out'
                END,
                CASE
                    WHEN descending IS NULL OR explain IS NULL
                        THEN 'descending and explain must be TRUE or FALSE, got NULL'
                END
            ) AS fault
        )
        WHERE CASE WHEN fault IS NOT NULL THEN error(fault) ELSE TRUE END
    ),

    _rank_read AS (
        SELECT
            system,
            query,
            item,
            struct_pack(*COLUMNS([
                c FOR c IN (*) IF lower(c) = 'query' OR list_contains(rank.main._names(keys), lower(c))
            ])) AS query_id,
            greatest(*COLUMNS([c FOR c IN (*) IF c LIKE '_rank_null_%'])) AS incomplete,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'score') THEN 'score' ELSE '_rank_none'
                END
            ])::double AS raw,
            COLUMNS([
                c FOR c IN (*)
                IF lower(c) = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'rank') THEN 'rank' ELSE '_rank_none'
                END
            ])::double AS given,
            COLUMNS([
                c FOR c IN (*)
                IF c = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'score') THEN '_rank_true' ELSE '_rank_false'
                END
            ]) AS has_score,
            COLUMNS([
                c FOR c IN (*)
                IF c = CASE
                    WHEN list_contains([lower(x) FOR x IN (*)], 'rank') THEN '_rank_true' ELSE '_rank_false'
                END
            ]) AS has_rank
        FROM (
            SELECT
                *,
                NULL::double AS _rank_none,
                TRUE AS _rank_true,
                FALSE AS _rank_false,
                COLUMNS([
                    c FOR c IN (*) IF lower(c) = 'query' OR list_contains(rank.main._names(keys), lower(c))
                ]) IS NULL AS '_rank_null_\0'
            FROM query_table(runs)
        )
    ),

    _rank_rows AS (
        SELECT
            system,
            query_id,
            item AS item_id,
            CASE WHEN NOT isnan(raw) THEN raw END AS raw,
            coalesce(order_by = 'rank', NOT has_score) AS by_rank,
            CASE
                WHEN coalesce(order_by = 'rank', NOT has_score)
                    THEN CASE WHEN NOT isnan(given) THEN rank_base - 1 - given END
                WHEN isnan(raw) THEN NULL
                WHEN descending AND coalesce(normalize, '') != 'min_max_inverted' THEN raw
                ELSE -raw
            END AS key
        FROM _rank_read
        WHERE CASE
            WHEN NOT CASE order_by
                WHEN 'score' THEN has_score
                WHEN 'rank' THEN has_rank
                ELSE has_score OR has_rank
            END
                THEN error('the runs have no column ' || coalesce(order_by, 'score and no column rank'))
            WHEN
                NOT has_score
                AND (
                    method LIKE 'comb%'
                    OR method IN ('mixed', 'wmnz', 'weighted_sum', 'convex', 'dbsf', 'relative_score', 'segfuse')
                )
                THEN error('the runs have no column score, which ' || method || ' adds up')
            WHEN system IS NULL OR query IS NULL OR item IS NULL
                THEN error('the runs have a null system, query or item; every row needs all three')
            WHEN incomplete
                THEN error('the runs have a null key: every row needs ' || keys::varchar || '; drop or fill such rows')
            WHEN NOT list_has_all([lower(c) FOR c IN struct_keys(query_id)], rank.main._names(keys))
                THEN error('the runs have not all of the columns ' || keys::varchar || ' (keys)')
            WHEN
                isinf(raw)
                AND (
                    method LIKE 'comb%'
                    OR method IN ('mixed', 'wmnz', 'weighted_sum', 'convex', 'dbsf', 'relative_score', 'segfuse')
                )
                AND coalesce(normalize NOT IN ('rank', 'borda'), TRUE)
                THEN error(
                    'the runs have the score ' || raw || ' for item ' || item::varchar || ' of query ' || query::varchar
                    || ': an infinite score can''t be added or scaled; drop or replace it, or use a method by rank, '
                    || 'as method := ''rrf'''
                )
            WHEN coalesce(order_by = 'rank', NOT has_score) AND NOT isnan(given) AND given < rank_base
                THEN error(
                    'rank holds ' || given || ', but runs ordered by rank count from ' || rank_base
                    || CASE rank_base WHEN 1 THEN '; use rank_base := 0 if they count from 0' ELSE '' END
                )
            ELSE TRUE
        END
    ),

    _rank_systems AS (
        SELECT
            system,
            -- By name: an enum would be ordered by its codes.
            (
                row_number() OVER (
                    ORDER BY CASE WHEN typeof(system) LIKE 'ENUM%' THEN system::varchar END, system
                ) - 1
            )::integer AS list,
            CASE
                WHEN cardinality(rank.main._weights(weights)) = 0 THEN 1.0::double
                ELSE rank.main._weights(weights)[system::varchar]
            END AS weight
        FROM (SELECT DISTINCT system FROM _rank_rows)
    ),

    _rank_lists AS (
        SELECT system, list, weight
        FROM _rank_systems
        WHERE CASE
            WHEN weight IS NULL
                THEN error(
                    'weights has no number for the system ' || system::varchar || '; name every system or none'
                )
            WHEN NOT (weight >= 0 AND weight < 'inf'::double)
                THEN error(
                    'weights must be finite numbers of at least 0, got ' || weight || ' for ' || system::varchar
                )
            ELSE TRUE
        END
    ),

    _rank_whole AS (
        SELECT
            -- A system that weights names counts though it returned nothing at all.
            CASE
                WHEN cardinality(rank.main._weights(weights)) = 0 THEN count(*)
                ELSE len([w FOR w IN map_values(rank.main._weights(weights)) IF w > 0])
            END AS systems,
            CASE
                WHEN cardinality(rank.main._weights(weights)) = 0 THEN count(*)
                ELSE list_sum(list_sort(map_values(rank.main._weights(weights))))
            END AS total_weight,
            -- A power of two above the sum of the weights.
            CASE
                WHEN cardinality(rank.main._weights(weights)) = 0 THEN 1.0::double
                ELSE 2.0::double ** floor(log2(greatest(list_sum(map_values(rank.main._weights(weights))), 0.5)) + 1)
            END AS unit
        FROM _rank_lists
    ),

    -- Queries and items are carried, sorted and grouped by their numbers; those of items are the order of ties.
    _rank_queries AS (
        SELECT query_id, row_number() OVER (ORDER BY query_id ASC)::uinteger AS query
        FROM (SELECT DISTINCT query_id FROM _rank_rows)
    ),

    _rank_names AS (
        SELECT
            item_id,
            row_number() OVER (
                ORDER BY
                    CASE WHEN ties = 'item-ascending' THEN item_text END ASC,
                    CASE WHEN ties != 'item-ascending' THEN item_text END DESC,
                    CASE WHEN ties = 'item-ascending' THEN item_id END ASC,
                    CASE WHEN ties != 'item-ascending' THEN item_id END DESC
            )::uinteger AS item
        FROM (
            SELECT DISTINCT
                item_id,
                CASE
                    WHEN
                        typeof(item_id) LIKE 'ENUM%'
                        OR (ties = 'item-text-descending' AND typeof(item_id) != 'BLOB')
                        THEN item_id::varchar
                END AS item_text
            FROM _rank_rows
        )
    ),

    -- A window of the whole query leaves its rows together, so that they are grouped at half the cost.
    _rank_placed AS (
        SELECT
            list,
            query,
            item,
            raw,
            length,
            place,
            CASE WHEN by_rank THEN -key ELSE place END AS rank
        FROM (
            SELECT
                *,
                row_number() OVER (PARTITION BY query ORDER BY list, key DESC NULLS LAST, item)
                - rank() OVER lists + 1 AS place,
                count(*) OVER (lists RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS length
            FROM _rank_rows
            LEFT JOIN _rank_lists USING (system)
            LEFT JOIN _rank_queries USING (query_id)
            LEFT JOIN _rank_names USING (item_id)
            WINDOW lists AS (PARTITION BY query ORDER BY list)
        )
    ),

    -- Items that may be twice in one list: lists that share a bit are told apart where copies are put together.
    _rank_twice AS (
        SELECT query, item
        FROM _rank_placed
        GROUP BY query, item
        HAVING bit_count(bit_or(1::bigint << (list % 62))) < count(*)
    ),

    -- An item counts at its best place, of copies at one given rank the highest score; arg_min_null, since arg_min
    -- would pass over a copy without a score.
    _rank_best AS (
        SELECT * FROM _rank_placed ANTI JOIN _rank_twice USING (query, item)
        UNION ALL BY NAME
        SELECT list, query, item, raw, length, place, rank
        FROM (
            SELECT
                list,
                query,
                item,
                arg_min_null(raw, row(rank, -raw)) AS raw,
                any_value(length) AS length,
                min(place) AS place,
                min(rank) AS rank,
                count(*) AS copies
            FROM _rank_placed
            SEMI JOIN _rank_twice USING (query, item)
            GROUP BY list, query, item
        )
        INNER JOIN _rank_lists USING (list)
        INNER JOIN _rank_queries USING (query)
        INNER JOIN _rank_names USING (item)
        WHERE CASE
            WHEN duplicates = 'error' AND copies > 1
                THEN error(
                    'item ' || item_id::varchar || ' of query '
                    || CASE WHEN keys IS NULL THEN query_id.query::varchar ELSE query_id::varchar END
                    || ' is twice in ' || system::varchar || '; name the columns that tell lists apart in '
                    || 'keys := [...], remove the copies, or use duplicates := ''first'' to count the best-ranked one'
                )
            ELSE TRUE
        END
    ),

    _rank_one AS (
        SELECT list, query, item, place, raw, rank, length, weight, system
        FROM _rank_best
        INNER JOIN _rank_lists USING (list)
        CROSS JOIN _rank_options
    ),

    -- A row for each item that a list lacks though it answered the query, where a method looks at those.
    _rank_items AS (
        SELECT query, item, count(*) OVER (PARTITION BY query) AS candidates
        FROM (SELECT DISTINCT query, item FROM _rank_one WHERE weight > 0)
        WHERE method IN ('borda', 'weighted_borda', 'condorcet', 'copeland', 'bayesfuse') OR normalize = 'borda'
    ),

    _rank_answers AS (
        SELECT list, query, any_value(length) AS length, any_value(weight) AS weight, any_value(system) AS system
        FROM _rank_one
        WHERE weight > 0
        GROUP BY list, query
    ),

    _rank_all AS (
        SELECT _rank_one.*, candidates
        FROM _rank_one
        LEFT JOIN _rank_items ON _rank_one.query = _rank_items.query AND _rank_one.item = _rank_items.item
        UNION ALL BY NAME
        SELECT _rank_answers.*, _rank_items.item, _rank_items.candidates
        FROM _rank_items
        INNER JOIN _rank_answers ON _rank_items.query = _rank_answers.query
        ANTI JOIN _rank_one
            ON _rank_items.query = _rank_one.query AND _rank_items.item = _rank_one.item
            AND _rank_answers.list = _rank_one.list
        WHERE method IN ('borda', 'weighted_borda', 'condorcet', 'copeland', 'bayesfuse') OR normalize = 'borda'
    ),

    -- Differences and sums of the largest floats would be infinite. A power of two changes no digit.
    _rank_ends AS (
        SELECT
            * EXCLUDE (low, high, unit),
            raw * unit AS score,
            low * unit AS low,
            high * unit AS high
        FROM (
            SELECT
                *,
                CASE
                    WHEN coalesce(normalize != 'max', TRUE) AND greatest(-low, high) > 2.0::double ** 960
                        THEN 2.0::double ** (-64)
                    ELSE 1.0
                END AS unit
            FROM (
                SELECT
                    *,
                    min(raw) OVER (PARTITION BY list, query) AS low,
                    max(raw) OVER (PARTITION BY list, query) AS high
                FROM _rank_all
            )
        )
    ),

    _rank_scaled AS (
        SELECT
            * EXCLUDE (share),
            CASE
                WHEN method = 'dbsf'
                    THEN CASE
                        WHEN score IS NULL THEN NULL
                        WHEN low = high THEN 0.5
                        ELSE ((share - avg(share) OVER in_order) / stddev_samp(share) OVER in_order + 3) / 6
                    END
                WHEN method = 'relative_score'
                    THEN CASE
                        WHEN score IS NULL THEN NULL
                        WHEN low = high THEN 1.0
                        ELSE (score - low) / (high - low)
                    END
                WHEN normalize IS NULL THEN raw
                WHEN normalize = 'rank' THEN 1 - (rank - 1) / length
                WHEN normalize = 'borda'
                    THEN coalesce(1 - (rank - 1) / candidates, 0.5 - (length - 1.0::double) / (2 * candidates))
                WHEN normalize = 'sigmoid' THEN 1 / (1 + exp(-raw))
                WHEN normalize = 'max' THEN score / greatest(high, 1e-9::double)
                WHEN score IS NULL THEN NULL
                WHEN low = high THEN on_constant::double
                WHEN normalize = 'min_max' THEN (score - low) / (high - low)
                WHEN normalize = 'min_max_inverted' THEN (high - score) / (high - low)
                WHEN normalize = 'sum'
                    THEN (score - low) / sum(score - low) OVER in_order
                WHEN normalize = 'zscore'
                    THEN (share - avg(share) OVER in_order) / CASE ddof
                        WHEN 1 THEN stddev_samp(share) OVER in_order ELSE stddev_pop(share) OVER in_order
                    END
                WHEN normalize = 'quantile'
                    -- Scores below, and half of those that are equal: the mean of the tied places.
                    THEN (
                        (rank() OVER (PARTITION BY list, query ORDER BY score NULLS LAST) - 1)
                        + (count(*) OVER (PARTITION BY list, query, score) - 1) / 2.0::double
                    ) / (count(score) OVER (PARTITION BY list, query) - 1)
            END AS value
        -- Squares of very small or large scores are 0 or infinite, those of the share are not.
        FROM (SELECT *, CASE WHEN high > low THEN (score - low) / (high - low) END AS share FROM _rank_ends)
        -- Lists of the same scores must get the same to the last bit, or items that tie would not.
        WINDOW in_order AS (
            PARTITION BY list, query ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
    ),

    _rank_fitted AS (
        SELECT
            system::varchar AS system,
            segment::bigint AS segment,
            worth::double AS worth,
            max(segment::bigint) OVER (PARTITION BY system) AS segments,
            sum(worth::double) OVER (PARTITION BY system ORDER BY segment::bigint) AS up_to
        FROM (
            SELECT
                system,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN list_contains([lower(x) FOR x IN (*)], 'method') THEN 'method' ELSE '_rank_none'
                    END
                ])::varchar AS made_for,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN list_contains([lower(x) FOR x IN (*)], 'segment') THEN 'segment' ELSE '_rank_none'
                    END
                ]) AS segment,
                COLUMNS([
                    c FOR c IN (*)
                    IF lower(c) = CASE
                        WHEN list_contains([lower(x) FOR x IN (*)], 'value') THEN 'value' ELSE '_rank_none'
                    END
                ]) AS worth
            FROM (SELECT *, NULL AS _rank_none FROM query_table(coalesce(fitted, runs)))
        )
        WHERE fitted IS NOT NULL AND CASE
            WHEN segment IS NULL OR made_for IS NULL
                THEN error('fitted must have the columns method, system, segment and value')
            WHEN made_for != method
                THEN error('fitted was made for method ' || made_for || ', not for ' || method || '; fit it anew')
            ELSE TRUE
        END
    ),

    _rank_parts AS (
        SELECT
            _rank_scaled.*,
            segments,
            CASE method
                WHEN 'mapfuse' THEN 1
                WHEN 'posfuse' THEN floor(rank)::bigint
                WHEN 'probfuse' THEN ceil(rank / ceil(length / segments))::bigint
                WHEN 'segfuse'
                    THEN CASE
                        WHEN rank IS NOT NULL THEN 1 + len([e FOR e IN range(0, 10) IF rank > 10 * 2 ** e - 5])
                    END
                WHEN 'bayesfuse'
                    THEN CASE
                        WHEN rank IS NOT NULL
                            THEN 1 + len([e FOR e IN [5, 10, 15, 20, 30, 100, 200, 500, 1000] IF rank > e])
                    END
            END AS segment,
            CASE WHEN rank IS NOT NULL THEN ceil(greatest(rank - reach, 1)) - 1 END AS before,
            CASE WHEN rank IS NOT NULL THEN floor(least(rank + reach, length)) END AS last
        FROM _rank_scaled
        LEFT JOIN
            (SELECT system AS fitted_system, max(segment) AS segments FROM _rank_fitted GROUP BY system)
            ON system::varchar = fitted_system
        WHERE CASE
            WHEN method LIKE '%fuse' AND segments IS NULL
                THEN error('fitted has no row for the system ' || system::varchar || '; fit it on runs of every system')
            ELSE TRUE
        END
    ),

    _rank_valued AS (
        SELECT
            _rank_parts.*,
            CASE method
                WHEN 'mapfuse' THEN coalesce(at_segment.worth / rank, 0)
                WHEN 'probfuse' THEN coalesce(at_segment.worth / _rank_parts.segment, 0)
                WHEN 'bayesfuse' THEN coalesce(at_segment.worth, ln(0.001::double / 0.999::double))
                WHEN 'segfuse' THEN coalesce(at_segment.worth, 0) * (value + 1)
                ELSE coalesce(at_segment.worth, 0)
            END AS worth
        FROM _rank_parts
        LEFT JOIN _rank_fitted AS at_segment
            ON _rank_parts.system::varchar = at_segment.system AND _rank_parts.segment = at_segment.segment
        WHERE method != 'slidefuse'
        UNION ALL BY NAME
        SELECT
            _rank_parts.*,
            coalesce((coalesce(at_last.up_to, 0) - coalesce(at_before.up_to, 0)) / (last - before), 0) AS worth
        FROM _rank_parts
        ASOF LEFT JOIN _rank_fitted AS at_last
            ON _rank_parts.system::varchar = at_last.system AND _rank_parts.last >= at_last.segment
        ASOF LEFT JOIN _rank_fitted AS at_before
            ON _rank_parts.system::varchar = at_before.system AND _rank_parts.before >= at_before.segment
        WHERE method = 'slidefuse'
    ),

    -- Every item against every other, each list a voter; a list prefers the lower rank, and any to none.
    _rank_votes AS (
        SELECT
            a.query,
            a.item,
            b.item AS rival,
            a.list,
            a.weight,
            CASE WHEN coalesce(a.rank, 'inf') < coalesce(b.rank, 'inf') THEN a.weight ELSE 0.0 END AS won,
            CASE WHEN coalesce(a.rank, 'inf') > coalesce(b.rank, 'inf') THEN a.weight ELSE 0.0 END AS lost
        FROM _rank_all AS a
        INNER JOIN _rank_all AS b ON a.query = b.query AND a.list = b.list AND a.item != b.item
        WHERE method IN ('condorcet', 'copeland') AND a.weight > 0
    ),

    -- Sums of weights that are equal in exact arithmetic must not decide by their last bit.
    _rank_duels AS (
        SELECT
            query,
            item,
            rival,
            balance,
            (balance - threshold > 1e-12 * electorate)::double - (balance + threshold < -1e-12 * electorate)::double
                AS points
        FROM (
            SELECT
                query,
                item,
                rival,
                list_sum(list_sort(list(CASE method WHEN 'copeland' THEN won - lost ELSE won END))) AS balance,
                list_sum(list_sort(list(weight))) AS electorate,
                CASE method WHEN 'copeland' THEN 0 ELSE list_sum(list_sort(list(weight))) / 2 END AS threshold
            FROM _rank_votes
            GROUP BY query, item, rival
        )
    ),

    _rank_decided AS (
        SELECT query, item, sum(points) AS decided FROM _rank_duels GROUP BY query, item
    ),

    _rank_shares AS (
        SELECT
            query,
            item,
            list,
            sum(
                CASE
                    WHEN points = 0 THEN 0
                    ELSE CASE method WHEN 'copeland' THEN won - lost ELSE won END / abs(balance)
                END
            ) AS part
        FROM _rank_votes
        INNER JOIN _rank_duels USING (query, item, rival)
        GROUP BY query, item, list
    ),

    _rank_terms AS (
        SELECT
            query,
            item,
            list,
            system,
            rank,
            raw,
            weight,
            -- Where an item first comes: list by list, place by place.
            list * 4294967296 + place AS first,
            decided,
            CASE
                WHEN weight = 0 OR isnan(term) THEN NULL
                WHEN method IN ('condorcet', 'copeland') THEN part
                ELSE term
            END AS term
        FROM (
            SELECT
                *,
                CASE
                    WHEN method = 'rrf' AND weighting = 'stretch' THEN 1 / (k::double + rank / weight)
                    WHEN method = 'rrf' THEN weight / (k::double + rank)
                    WHEN method IN ('isr', 'log_isr', 'logn_isr') THEN weight * (1 / rank ** 2)
                    WHEN method = 'rbc' THEN weight * ((1 - phi::double) * phi::double ** (rank - 1))
                    WHEN method IN ('borda', 'weighted_borda')
                        THEN weight * coalesce(candidates - rank + 1, (candidates - length + 1) / 2.0::double)
                    WHEN method LIKE '%fuse' THEN weight * worth
                    WHEN method = 'wmnz' THEN value
                    ELSE weight * value
                END AS term
            FROM _rank_valued
        )
        LEFT JOIN _rank_decided USING (query, item)
        LEFT JOIN _rank_shares USING (query, item, list)
    ),

    -- Equal terms must give equal sums, in whatever order the lists came: terms by rank, whose size is known, are
    -- summed as whole numbers, the others from the smallest up.
    _rank_summed AS (
        SELECT
            query,
            item,
            min(first) AS first,
            count(term) AS returned,
            sum(
                CASE
                    WHEN method IN ('rrf', 'isr', 'log_isr', 'logn_isr') THEN (term * (2.0::double ** 100 / unit))::hugeint
                END
            )::double AS exact,
            coalesce(list_sort(list(term) FILTER (term IS NOT NULL)), []) AS terms,
            list_sum(list_sort(list(weight) FILTER (term IS NOT NULL))) AS weight,
            any_value(decided) AS decided,
            list({'system': system, 'rank': rank, 'score': raw, 'term': term} ORDER BY list) AS parts
        FROM _rank_terms
        CROSS JOIN _rank_whole
        GROUP BY query, item
    ),

    _rank_factors AS (
        SELECT
            *,
            CASE method
                WHEN 'isr' THEN returned
                WHEN 'log_isr' THEN ln(returned)
                WHEN 'logn_isr' THEN ln(returned + sigma::double)
                WHEN 'comb_mnz' THEN returned
                WHEN 'comb_gmnz' THEN returned::double ** gamma::double
                WHEN 'comb_anz' THEN 1 / returned
                WHEN 'comb_mean' THEN 1 / systems
                WHEN 'convex' THEN 1 / total_weight
                WHEN 'mixed' THEN sqrt(returned)
                WHEN 'wmnz' THEN weight
                ELSE 1
            END::double AS factor,
            CASE method
                WHEN 'comb_min' THEN [terms[1]]
                WHEN 'comb_max' THEN [terms[-1]]
                WHEN 'comb_med' THEN [terms[(returned + 1) // 2], terms[returned // 2 + 1]]
            END AS chosen
        FROM _rank_summed
        CROSS JOIN _rank_whole
    ),

    _rank_fused AS (
        SELECT
            query,
            item,
            first,
            parts,
            factor,
            chosen,
            terms,
            total AS score
        FROM (
            SELECT
                *,
                coalesce(
                    CASE
                        WHEN method IN ('condorcet', 'copeland') THEN decided
                        -- Weights and k that are alike enough for exact sums to keep the digits of all terms.
                        WHEN
                            method IN ('rrf', 'isr', 'log_isr', 'logn_isr')
                            AND k::double <= 2.0::double ** 30
                            AND (
                                cardinality(rank.main._weights(weights)) = 0
                                OR (
                                    list_min([w FOR w IN map_values(rank.main._weights(weights)) IF w > 0])
                                    >= 2.0::double ** (-30) * list_sum(map_values(rank.main._weights(weights)))
                                    AND list_sum(map_values(rank.main._weights(weights)))
                                    BETWEEN 1e-200::double AND 1e200::double
                                )
                            )
                            THEN exact * (unit * 2.0::double ** (-100)) * factor
                        WHEN returned = 0 THEN 0
                        -- ranx starts its maximum at -1e9.
                        WHEN method = 'comb_max' THEN greatest(chosen[1], -1e9::double)
                        WHEN method IN ('comb_min', 'comb_med') THEN list_sum(chosen) / len(chosen)
                        ELSE list_sum(terms) * factor
                    END, 0
                )::double AS total
            FROM _rank_factors
        )
        WHERE CASE
            WHEN isnan(total)
                THEN error(
                    'a fused score is not a number: what is added is beyond the range of floats; bring the scores to '
                    || 'one scale, as normalize := ''min_max'', or use smaller weights'
                )
            ELSE TRUE
        END
    ),

    _rank_final AS (
        SELECT
            query,
            item,
            score,
            row_number() OVER (PARTITION BY query ORDER BY score DESC NULLS LAST, first) AS rank,
            [
                {
                    'system': p.system,
                    'rank': p.rank,
                    'score': p.score,
                    'contribution': coalesce(
                        CASE
                            WHEN p.term IS NULL THEN 0
                            WHEN chosen IS NULL THEN p.term * factor
                            -- A chosen score is shared by the lists that gave it.
                            ELSE score * len([x FOR x IN chosen IF x = p.term]) / len(chosen)
                                / len([x FOR x IN terms IF x = p.term])
                        END, 0
                    )::double
                }
                FOR p IN parts
            ] AS "explain"
        FROM _rank_fused
    )

SELECT
    query_id.query AS query,
    query_id.* EXCLUDE (query),
    item_id AS item,
    COLUMNS([c FOR c IN (_rank_final.*) IF c NOT IN ('query', 'item') AND (explain OR c != 'explain')])
FROM _rank_final
INNER JOIN _rank_queries ON _rank_final.query = _rank_queries.query
INNER JOIN _rank_names ON _rank_final.item = _rank_names.item
ORDER BY _rank_final.query, rank;

-- Each method by its name. rank.rrf is a table after FROM, and a value elsewhere.

CREATE OR REPLACE MACRO rank.rrf(
    runs, weights := NULL, k := 60, weighting := 'multiply', order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'rrf', weights := weights, k := k, weighting := weighting, order_by := order_by,
    descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.isr(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'isr', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.log_isr(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'log_isr', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.logn_isr(
    runs, weights := NULL, sigma := 0.01, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'logn_isr', weights := weights, sigma := sigma, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.rbc(
    runs, weights := NULL, phi := 0.8, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'rbc', weights := weights, phi := phi, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.borda(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'borda', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.weighted_borda(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'weighted_borda', weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.condorcet(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'condorcet', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.copeland(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'copeland', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_sum(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_sum', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_mean(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_mean', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_mnz(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_mnz', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_anz(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_anz', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_min(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_min', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_max(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_max', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_med(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_med', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.comb_gmnz(
    runs, weights := NULL, gamma := 1.0, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL,
    descending := TRUE, ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'comb_gmnz', weights := weights, gamma := gamma, normalize := normalize,
    on_constant := on_constant, ddof := ddof, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.mixed(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'mixed', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.wmnz(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'wmnz', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.weighted_sum(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'weighted_sum', weights := weights, normalize := normalize, on_constant := on_constant,
    ddof := ddof, order_by := order_by, descending := descending, ties := ties, rank_base := rank_base,
    duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.convex(
    runs, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'convex', weights := weights, normalize := normalize, on_constant := on_constant, ddof := ddof,
    order_by := order_by, descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.dbsf(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'dbsf', weights := weights, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.relative_score(
    runs, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending', rank_base := 1,
    duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'relative_score', weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.mapfuse(
    runs, fitted := NULL, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'mapfuse', fitted := fitted, weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.posfuse(
    runs, fitted := NULL, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'posfuse', fitted := fitted, weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.probfuse(
    runs, fitted := NULL, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'probfuse', fitted := fitted, weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.segfuse(
    runs, fitted := NULL, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, order_by := NULL,
    descending := TRUE, ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'segfuse', fitted := fitted, weights := weights, normalize := normalize,
    on_constant := on_constant, ddof := ddof, order_by := order_by, descending := descending, ties := ties,
    rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.slidefuse(
    runs, fitted := NULL, weights := NULL, reach := 5, order_by := NULL, descending := TRUE,
    ties := 'item-descending', rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'slidefuse', fitted := fitted, weights := weights, reach := reach, order_by := order_by,
    descending := descending, ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);

CREATE OR REPLACE MACRO rank.bayesfuse(
    runs, fitted := NULL, weights := NULL, order_by := NULL, descending := TRUE, ties := 'item-descending',
    rank_base := 1, duplicates := 'error', keys := NULL,
    explain := FALSE
) AS TABLE
FROM rank.fuse(
    runs, method := 'bayesfuse', fitted := fitted, weights := weights, order_by := order_by, descending := descending,
    ties := ties, rank_base := rank_base, duplicates := duplicates, keys := keys,
    explain := explain
);
