-- Rank fusion; formulas, rules and sources are documented in polars_rank/fusion/fused_run.py.
-- The linter can't parse *COLUMNS([...]) and misreads the code around it.
-- noqa: disable=PRS,AL03,AL05,AL10,AM04,AM09,LT01,LT09,LT14,RF01,RF03,RF04,ST03,ST06
--
--   SELECT query, item, rank.rrf(rank) FROM lists GROUP BY query, item
--   FROM rank.fuse('runs', k := 60)
--   FROM rank.fuse('runs', method := 'comb_sum', normalize := 'min_max', weights := MAP {'bm25': 2.0, 'dense': 1.0})
--   FROM rank.comb_sum('runs', normalize := 'min_max', weights := MAP {'bm25': 2.0, 'dense': 1.0})
--   FROM rank.posfuse('runs', fitted := 'fitted')
--
-- The contributions of comb_sum are the normalized scores:
--
--   SELECT query, item, unnest(explain) FROM rank.fuse('runs', 'comb_sum', normalize := 'zscore', explain := TRUE)
--
-- `runs` names a table with system, query, item and score or rank. Lists are ordered by system name.
-- polars_rank/fusion/method_macros.py makes a macro per method, which calls rank.fuse. The method is a constant, so the
-- planner removes the parts that other methods need.

CREATE OR REPLACE MACRO rank._finite_fault(option, value, least := '-inf'::double) AS
    rank.main._fault(
        try_cast(value AS double) >= least AND isfinite(try_cast(value AS double)),
        option || ' must be a finite number' || CASE WHEN least = 0 THEN ' of at least 0' ELSE '' END,
        value
    );

CREATE OR REPLACE MACRO rank._whole_fault(option, value, least) AS
    rank.main._fault(
        try_cast(value AS double) >= least AND try_cast(value AS double) % 1 = 0,
        option || ' must be a whole number of at least ' || least,
        value
    );

CREATE OR REPLACE MACRO rank._flag_fault(option, value) AS
    rank.main._fault(try_cast(value AS double) IN (0, 1), option || ' must be 0 or 1', value);

-- A switch as a boolean; NULL for anything that _switch_fault refuses.
CREATE OR REPLACE MACRO rank._switch(value) AS
    try_cast(value::varchar AS boolean);

-- For COLUMNS([c FOR c IN (*) IF ...]): whether to read column c for a wanted column, or its replacement if missing.
CREATE OR REPLACE MACRO rank._is_column_or(c, columns, wanted, present, missing) AS
    c = CASE WHEN list_contains(columns, wanted) THEN present ELSE missing END;

-- Ascending order: equal terms give equal sums.
CREATE OR REPLACE MACRO rank._sorted_sum(terms) AS
    list_sum(list_sort(terms));

CREATE OR REPLACE MACRO rank._adds_scores(method) AS
    method LIKE 'comb%' OR method IN ('mixed', 'wmnz', 'weighted_sum', 'convex', 'dbsf', 'relative_score', 'segfuse');

CREATE OR REPLACE MACRO rank._is_pairwise(method) AS
    method IN ('condorcet', 'copeland');

CREATE OR REPLACE MACRO rank._is_borda(method) AS
    method IN ('borda', 'weighted_borda');

-- Methods that need a row for each item that a list lacks.
CREATE OR REPLACE MACRO rank._needs_missing_items(method, normalize) AS
    rank.main._is_borda(method) OR rank.main._is_pairwise(method) OR method = 'bayesfuse' OR coalesce(normalize = 'borda', FALSE);

-- Terms are at most the weight, and fall no faster than the square of the rank.
CREATE OR REPLACE MACRO rank._is_bounded(method) AS
    method IN ('rrf', 'isr', 'log_isr', 'logn_isr');

CREATE OR REPLACE MACRO rank._has_own_normalization(method) AS
    method IN ('dbsf', 'relative_score');

CREATE OR REPLACE MACRO rank._segment(rank, ends) AS
    CASE WHEN rank IS NOT NULL THEN 1 + len([e FOR e IN ends IF rank > e]) END;

-- NULL if infinite weights cancel out.
CREATE OR REPLACE MACRO rank.rrf(rank, weight := 1, k := 60) AS
    rank.main._checked(
        rank.main._finite_fault('k', k, 0),
        coalesce(
            nullif(
                rank.main._sorted_sum(
                    list(weight::double / (k::double + rank::double)) FILTER (
                        rank::double >= 1 AND NOT isnan(rank::double) AND NOT isnan(weight::double)
                        AND NOT isnan(weight::double / (k::double + rank::double))
                    )
                ),
                'nan'::double
            ),
            CASE WHEN count(rank) FILTER (isinf(weight::double)) = 0 THEN 0.0 END
        )::double
    );

-- Weights as a MAP, empty for NULL; NULL if they are not a MAP.
CREATE OR REPLACE MACRO rank._weights(weights) AS
    CASE
        WHEN weights IS NULL THEN MAP {}::map(varchar, double)
        ELSE try_cast(weights::varchar AS map(varchar, double))
    END;

CREATE OR REPLACE MACRO rank._weight_values(weights) AS
    map_values(rank.main._weights(weights));

CREATE OR REPLACE MACRO rank._is_unweighted(weights) AS
    cardinality(rank.main._weights(weights)) = 0;

-- Weights and k for which exact sums keep the digits of all terms.
CREATE OR REPLACE MACRO rank._sums_exactly(k, weights) AS
    try_cast(k AS double) <= 2.0::double ** 30
    AND (
        rank.main._is_unweighted(weights)
        OR (
            list_min([w FOR w IN rank.main._weight_values(weights) IF w > 0])
            >= 2.0::double ** (-30) * list_sum(rank.main._weight_values(weights))
            AND list_sum(rank.main._weight_values(weights)) BETWEEN 1e-200::double AND 1e200::double
        )
    );

CREATE OR REPLACE MACRO rank.fuse(
    runs, method := 'rrf', k := 60, weights := NULL, normalize := NULL, on_constant := 0, ddof := 0, gamma := 1.0,
    sigma := 0.01, phi := 0.8, weighting := 'multiply', fitted := NULL, half_window := 5, order_by := NULL,
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
                rank.main._finite_fault('k', k, 0),
                CASE
                    WHEN normalize IS NOT NULL
                        THEN rank.main._word_fault('normalize', normalize, [
                            'min_max', 'min_max_inverted', 'max', 'sum', 'zscore', 'rank', 'borda', 'sigmoid', 'quantile'
                        ])
                END,
                CASE
                    WHEN
                        rank.main._has_own_normalization(method)
                        AND (
                            normalize IS NOT NULL OR try_cast(on_constant AS double) IS DISTINCT FROM 0
                            OR try_cast(ddof AS double) IS DISTINCT FROM 0
                        )
                        THEN
                            method || ' has a fixed normalization; leave out normalize, on_constant and ddof, '
                            || 'or use comb_sum with them'
                END,
                rank.main._finite_fault('on_constant', on_constant),
                rank.main._flag_fault('ddof', ddof),
                rank.main._finite_fault('gamma', gamma),
                rank.main._finite_fault('sigma', sigma, 0),
                rank.main._share_fault('phi', phi),
                rank.main._word_fault('weighting', weighting, ['multiply', 'stretch']),
                CASE
                    WHEN fitted IS NULL AND method LIKE '%fuse'
                        THEN 'method ' || method || ' needs fitted, the name of a table from fit_fusion'
                END,
                rank.main._whole_fault('half_window', half_window, 0),
                CASE WHEN order_by IS NOT NULL THEN rank.main._word_fault('order_by', order_by, ['score', 'rank']) END,
                rank.main._word_fault('ties', ties, ['item-descending', 'item-ascending', 'item-text-descending']),
                rank.main._flag_fault('rank_base', rank_base),
                rank.main._word_fault('duplicates', duplicates, ['error', 'first']),
                rank.main._fault(
                    rank.main._weights(weights) IS NOT NULL,
                    'weights must be a MAP of system to number, as MAP {''bm25'': 2.0, ''dense'': 1.0}',
                    weights
                ),
                rank.main._names_fault('keys', keys),
                CASE
                    WHEN list_has_any(rank.main._names(keys), ['system', 'query', 'item', 'score', 'rank', 'explain'])
                        THEN 'keys ' || keys::varchar || ' names a column that fusion uses already; leave it out'
                END,
                rank.main._switch_fault('descending', descending),
                rank.main._switch_fault('explain', explain)
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
            COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'score', 'score', '_rank_none')])::double AS raw,
            COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'rank', 'rank', '_rank_none')])::double AS given,
            COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'score', '_rank_true', '_rank_false')]) AS has_score,
            COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'rank', '_rank_true', '_rank_false')]) AS has_rank
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
            by_rank,
            CASE
                WHEN by_rank THEN CASE WHEN NOT isnan(given) THEN try_cast(rank_base AS double) - 1 - given END
                WHEN isnan(raw) THEN NULL
                WHEN rank.main._switch(descending) AND coalesce(normalize::varchar, '') != 'min_max_inverted' THEN raw
                ELSE -raw
            END AS key
        FROM (SELECT *, coalesce(order_by::varchar = 'rank', NOT has_score) AS by_rank FROM _rank_read)
        WHERE CASE
            WHEN NOT CASE order_by::varchar
                WHEN 'score' THEN has_score
                WHEN 'rank' THEN has_rank
                ELSE has_score OR has_rank
            END
                THEN error('the runs have no column ' || coalesce(order_by::varchar, 'score and no column rank'))
            WHEN NOT has_score AND rank.main._adds_scores(method)
                THEN error('the runs have no column score, which ' || method || ' needs')
            WHEN system IS NULL OR query IS NULL OR item IS NULL
                THEN error('the runs have a null system, query or item; every row needs all three')
            WHEN incomplete
                THEN error('the runs have a null key: every row needs ' || keys::varchar || '; drop or fill such rows')
            WHEN NOT list_has_all([lower(c) FOR c IN struct_keys(query_id)], rank.main._names(keys))
                THEN error('the runs have not all of the columns ' || keys::varchar || ' (keys)')
            WHEN
                isinf(raw) AND rank.main._adds_scores(method)
                AND coalesce(normalize::varchar NOT IN ('rank', 'borda'), TRUE)
                THEN error(
                    'the runs have the score ' || raw || ' for item ' || item::varchar || ' of query ' || query::varchar
                    || ': an infinite score can''t be added or scaled; drop or replace it, or fuse by rank, '
                    || 'as with method := ''rrf'''
                )
            WHEN by_rank AND isinf(given) AND given > 0
                THEN error('rank holds an infinite rank; write NULL for an item that was not returned')
            WHEN by_rank AND NOT isnan(given) AND given < try_cast(rank_base AS double)
                THEN error(
                    'rank holds ' || given || ', but runs ordered by rank count from ' || rank_base::varchar
                    || CASE rank_base::varchar WHEN '1' THEN '; use rank_base := 0 if they count from 0' ELSE '' END
                )
            ELSE TRUE
        END
    ),

    _rank_systems AS (
        SELECT
            system,
            -- An enum is ordered by name, not by its codes.
            (
                row_number() OVER (
                    ORDER BY CASE WHEN typeof(system) LIKE 'ENUM%' THEN system::varchar END, system
                ) - 1
            )::integer AS list,
            CASE
                WHEN rank.main._is_unweighted(weights) THEN 1.0::double
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
            -- A weighted system counts even if it returned nothing.
            CASE
                WHEN rank.main._is_unweighted(weights) THEN count(*)
                ELSE len([w FOR w IN rank.main._weight_values(weights) IF w > 0])
            END AS systems,
            CASE
                WHEN rank.main._is_unweighted(weights) THEN count(*)
                ELSE rank.main._sorted_sum(rank.main._weight_values(weights))
            END AS total_weight,
            -- A power of two above the sum of the weights.
            CASE
                WHEN rank.main._is_unweighted(weights) THEN 1.0::double
                ELSE 2.0::double ** floor(log2(greatest(list_sum(rank.main._weight_values(weights)), 0.5)) + 1)
            END AS unit
        FROM _rank_lists
    ),

    -- Queries and items become numbers, which are cheaper to sort and group; item numbers follow the tie rule.
    _rank_queries AS (
        SELECT query_id, row_number() OVER (ORDER BY query_id ASC)::uinteger AS query
        FROM (SELECT DISTINCT query_id FROM _rank_rows)
    ),

    _rank_names AS (
        SELECT
            item_id,
            row_number() OVER (
                ORDER BY
                    CASE WHEN ties::varchar = 'item-ascending' THEN item_text END ASC,
                    CASE WHEN ties::varchar != 'item-ascending' THEN item_text END DESC,
                    CASE WHEN ties::varchar = 'item-ascending' THEN item_id END ASC,
                    CASE WHEN ties::varchar != 'item-ascending' THEN item_id END DESC
            )::uinteger AS item
        FROM (
            SELECT DISTINCT
                item_id,
                CASE
                    WHEN
                        typeof(item_id) LIKE 'ENUM%'
                        OR (ties::varchar = 'item-text-descending' AND typeof(item_id) != 'BLOB')
                        THEN item_id::varchar
                END AS item_text
            FROM _rank_rows
        )
    ),

    -- A window over the whole query keeps its rows together, which halves the cost of grouping.
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

    -- Items that may be twice in one list. Lists can share a bit; _rank_best checks these.
    _rank_repeated AS (
        SELECT query, item
        FROM _rank_placed
        GROUP BY query, item
        HAVING bit_count(bit_or(1::bigint << (list % 62))) < count(*)
    ),

    -- Keep the best copy: the best rank, of equal given ranks the highest score. Unlike arg_min, arg_min_null does not
    -- skip a copy without a score.
    _rank_best AS (
        SELECT * FROM _rank_placed ANTI JOIN _rank_repeated USING (query, item)
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
            SEMI JOIN _rank_repeated USING (query, item)
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
                    || ' is twice in ' || system::varchar || '; name the columns that separate the lists in '
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

    -- Add a row for each item that is missing from a list of its query, if the method needs it.
    _rank_items AS (
        SELECT query, item, count(*) OVER (PARTITION BY query) AS candidates
        FROM (SELECT DISTINCT query, item FROM _rank_one WHERE weight > 0)
        WHERE rank.main._needs_missing_items(method, normalize::varchar)
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
        WHERE rank.main._needs_missing_items(method, normalize::varchar)
    ),

    -- Scale down by a power of two (exact) so that differences and sums stay finite.
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
                    WHEN coalesce(normalize::varchar != 'max', TRUE) AND greatest(-low, high) > 2.0::double ** 960
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

    _rank_normalized AS (
        SELECT
            * EXCLUDE (share),
            CASE
                WHEN normalize IS NULL AND NOT rank.main._has_own_normalization(method) THEN raw
                WHEN normalize::varchar = 'rank' THEN 1 - (rank - 1) / length
                WHEN normalize::varchar = 'borda'
                    THEN coalesce(1 - (rank - 1) / candidates, 0.5 - (length - 1.0::double) / (2 * candidates))
                WHEN normalize::varchar = 'sigmoid' THEN 1 / (1 + exp(-raw))
                WHEN normalize::varchar = 'max' THEN score / greatest(high, 1e-9::double)
                WHEN score IS NULL THEN NULL
                WHEN low = high THEN CASE method WHEN 'relative_score' THEN 1 ELSE try_cast(on_constant AS double) END
                WHEN (normalize::varchar = 'min_max' OR method = 'relative_score') THEN share
                WHEN normalize::varchar = 'min_max_inverted' THEN (high - score) / (high - low)
                WHEN normalize::varchar = 'sum' THEN (score - low) / sum(score - low) OVER in_order
                WHEN (normalize::varchar = 'zscore' OR method = 'dbsf')
                    THEN (share - avg(share) OVER in_order) / CASE
                        WHEN method = 'dbsf' OR try_cast(ddof AS double) = 1 THEN stddev_samp(share) OVER in_order
                        ELSE stddev_pop(share) OVER in_order
                    END
                WHEN normalize::varchar = 'quantile'
                    -- Scores below, plus half of the equal ones: the mean of the tied ranks.
                    THEN (
                        (rank() OVER (PARTITION BY list, query ORDER BY score NULLS LAST) - 1)
                        + (count(*) OVER (PARTITION BY list, query, score) - 1) / 2.0::double
                    ) / (count(score) OVER (PARTITION BY list, query) - 1)
            END AS normalized
        -- The share, because squares of very small or large scores are 0 or infinite.
        FROM (
            SELECT
                *,
                CASE WHEN high > low THEN (score - low) / (high - low) END AS share
            FROM _rank_ends
        )
        -- Sums in list order, so that lists with equal scores get equal values to the last bit.
        WINDOW in_order AS (
            PARTITION BY list, query ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
    ),

    _rank_scaled AS (
        SELECT
            * EXCLUDE (normalized),
            CASE method WHEN 'dbsf' THEN (normalized + 3) / 6 ELSE normalized END AS value
        FROM _rank_normalized
    ),

    _rank_fitted AS (
        SELECT
            system::varchar AS system,
            segment::bigint AS segment,
            estimate::double AS estimate,
            max(segment::bigint) OVER (PARTITION BY system) AS segments,
            sum(estimate::double) OVER (PARTITION BY system ORDER BY segment::bigint) AS up_to
        FROM (
            SELECT
                system,
                COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'method', 'method', '_rank_none')])::varchar AS made_for,
                COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'segment', 'segment', '_rank_none')]) AS segment,
                COLUMNS([c FOR c IN (*) IF rank.main._is_column_or(lower(c), [lower(x) FOR x IN (*)], 'value', 'value', '_rank_none')]) AS estimate
            FROM (SELECT *, NULL AS _rank_none FROM query_table(coalesce(fitted, runs)))
        )
        WHERE fitted IS NOT NULL AND CASE
            WHEN segment IS NULL OR made_for IS NULL
                THEN error('fitted must have the columns method, system, segment and value')
            WHEN made_for != method
                THEN error('fitted is for method ' || made_for || ', not ' || method || '; call fit_fusion again')
            ELSE TRUE
        END
    ),

    _rank_segments AS (
        SELECT
            _rank_scaled.*,
            segments,
            CASE method
                WHEN 'mapfuse' THEN 1
                WHEN 'posfuse' THEN floor(rank)::bigint
                WHEN 'probfuse' THEN ceil(rank / ceil(length / segments))::bigint
                WHEN 'segfuse' THEN rank.main._segment(rank, [10 * 2 ** e - 5 FOR e IN range(0, 10)])
                WHEN 'bayesfuse' THEN rank.main._segment(rank, [5, 10, 15, 20, 30, 100, 200, 500, 1000])
            END AS segment,
            CASE WHEN rank IS NOT NULL THEN ceil(greatest(rank - try_cast(half_window AS double), 1)) - 1 END AS before,
            CASE WHEN rank IS NOT NULL THEN floor(least(rank + try_cast(half_window AS double), length)) END AS last
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

    _rank_estimated AS (
        SELECT
            _rank_segments.*,
            CASE method
                WHEN 'mapfuse' THEN coalesce(at_segment.estimate / rank, 0)
                WHEN 'probfuse' THEN coalesce(at_segment.estimate / _rank_segments.segment, 0)
                WHEN 'bayesfuse' THEN coalesce(at_segment.estimate, ln(0.001::double / 0.999::double))
                WHEN 'segfuse' THEN coalesce(at_segment.estimate, 0) * (value + 1)
                ELSE coalesce(at_segment.estimate, 0)
            END AS estimate
        FROM _rank_segments
        LEFT JOIN _rank_fitted AS at_segment
            ON _rank_segments.system::varchar = at_segment.system AND _rank_segments.segment = at_segment.segment
        WHERE method IS DISTINCT FROM 'slidefuse'
        UNION ALL BY NAME
        SELECT
            _rank_segments.*,
            coalesce((coalesce(at_last.up_to, 0) - coalesce(at_before.up_to, 0)) / (last - before), 0) AS estimate
        FROM _rank_segments
        ASOF LEFT JOIN _rank_fitted AS at_last
            ON _rank_segments.system::varchar = at_last.system AND _rank_segments.last >= at_last.segment
        ASOF LEFT JOIN _rank_fitted AS at_before
            ON _rank_segments.system::varchar = at_before.system AND _rank_segments.before >= at_before.segment
        WHERE method = 'slidefuse'
    ),

    -- Compare every two items: each list votes for the lower rank, and for a returned item over a missing one.
    _rank_votes AS (
        SELECT
            a.query,
            a.item,
            b.item AS opponent,
            a.list,
            a.weight,
            CASE
                WHEN coalesce(a.rank, 'inf') < coalesce(b.rank, 'inf') THEN a.weight
                WHEN method = 'copeland' AND coalesce(a.rank, 'inf') > coalesce(b.rank, 'inf') THEN -a.weight
                ELSE 0.0
            END AS vote
        FROM _rank_all AS a
        INNER JOIN _rank_all AS b ON a.query = b.query AND a.list = b.list AND a.item != b.item
        WHERE rank.main._is_pairwise(method) AND a.weight > 0
    ),

    -- Rounding errors in the sums of weights must not decide a comparison.
    _rank_pairs AS (
        SELECT
            query,
            item,
            opponent,
            balance,
            (balance - threshold > 1e-12 * electorate)::double - (balance + threshold < -1e-12 * electorate)::double
                AS points
        FROM (
            SELECT
                query,
                item,
                opponent,
                rank.main._sorted_sum(list(vote)) AS balance,
                rank.main._sorted_sum(list(weight)) AS electorate,
                CASE method WHEN 'copeland' THEN 0 ELSE electorate / 2 END AS threshold
            FROM _rank_votes
            GROUP BY query, item, opponent
        )
    ),

    _rank_points AS (
        SELECT query, item, sum(points) AS pairwise_points FROM _rank_pairs GROUP BY query, item
    ),

    _rank_shares AS (
        SELECT
            query,
            item,
            list,
            sum(CASE WHEN points = 0 THEN 0 ELSE vote / abs(balance) END) AS part
        FROM _rank_votes
        INNER JOIN _rank_pairs USING (query, item, opponent)
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
            -- First appearance: list by list, rank by rank.
            list * 4294967296 + place AS first,
            pairwise_points,
            CASE
                WHEN weight = 0 OR isnan(term) THEN NULL
                WHEN rank.main._is_pairwise(method) THEN part
                ELSE term
            END AS term
        FROM (
            SELECT
                *,
                CASE
                    WHEN method = 'rrf' AND weighting = 'stretch' THEN 1 / (try_cast(k AS double) + rank / weight)
                    WHEN method = 'rrf' THEN weight / (try_cast(k AS double) + rank)
                    WHEN rank.main._is_bounded(method) THEN weight * (1 / rank ** 2)
                    WHEN method = 'rbc' THEN weight * ((1 - try_cast(phi AS double)) * try_cast(phi AS double) ** (rank - 1))
                    WHEN rank.main._is_borda(method)
                        THEN weight * coalesce(candidates - rank + 1, (candidates - length + 1) / 2.0::double)
                    WHEN method LIKE '%fuse' THEN weight * estimate
                    WHEN method = 'wmnz' THEN value
                    ELSE weight * value
                END AS term
            FROM _rank_estimated
        )
        LEFT JOIN _rank_points USING (query, item)
        LEFT JOIN _rank_shares USING (query, item, list)
    ),

    -- Equal terms must give equal sums in any order of the lists: bounded terms are summed as whole numbers, others in
    -- ascending order.
    _rank_summed AS (
        SELECT
            query,
            item,
            min(first) AS first,
            count(term) AS returned,
            sum(
                CASE
                    WHEN rank.main._is_bounded(method) THEN (term * (2.0::double ** 100 / unit))::hugeint
                END
            )::double AS exact,
            coalesce(list_sort(list(term) FILTER (term IS NOT NULL)), []) AS terms,
            rank.main._sorted_sum(list(weight) FILTER (term IS NOT NULL)) AS weight,
            any_value(pairwise_points) AS pairwise_points,
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
                WHEN 'logn_isr' THEN ln(returned + try_cast(sigma AS double))
                WHEN 'comb_mnz' THEN returned
                WHEN 'comb_gmnz' THEN returned::double ** try_cast(gamma AS double)
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
            END AS selected
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
            selected,
            terms,
            total AS score
        FROM (
            SELECT
                *,
                coalesce(
                    CASE
                        WHEN rank.main._is_pairwise(method) THEN pairwise_points
                        WHEN rank.main._is_bounded(method) AND rank.main._sums_exactly(k, weights)
                            THEN exact * (unit * 2.0::double ** (-100)) * factor
                        WHEN returned = 0 THEN 0
                        -- ranx starts its maximum at -1e9.
                        WHEN method = 'comb_max' THEN greatest(selected[1], -1e9::double)
                        WHEN method IN ('comb_min', 'comb_med') THEN list_sum(selected) / len(selected)
                        ELSE list_sum(terms) * factor
                    END, 0
                )::double AS total
            FROM _rank_factors
        )
        WHERE CASE
            WHEN isnan(total)
                THEN error(
                    'a fused score is not a number: the sum is beyond the range of floats; normalize the scores, '
                    || 'for example with normalize := ''min_max'', or use smaller weights'
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
                            WHEN selected IS NULL THEN p.term * factor
                            -- A selected term is split among the lists that have it.
                            ELSE score * len([x FOR x IN selected IF x = p.term]) / len(selected)
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
    COLUMNS([c FOR c IN (_rank_final.*) IF c NOT IN ('query', 'item') AND (rank.main._switch(explain) OR c != 'explain')])
FROM _rank_final
INNER JOIN _rank_queries ON _rank_final.query = _rank_queries.query
INNER JOIN _rank_names ON _rank_final.item = _rank_names.item
ORDER BY _rank_final.query, rank;
