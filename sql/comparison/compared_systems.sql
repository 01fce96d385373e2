-- Paired comparison of systems; closed forms only. polars_rank/comparison/compared_systems.py documents the rules.
-- The linter can't parse *COLUMNS([...]) and UNPIVOT, and misreads the queries around them.
-- noqa: disable=PRS,AL10,AM04,AM09,RF03,RF04,ST03,ST06

-- per_query is the name of a table with query, system, slices and measures. Without `measures`, every numeric or
-- boolean column is one. The interval is normal, z standard errors on each side; p_t is Student's, with a relative
-- error below 1e-9.
CREATE OR REPLACE MACRO rank.compare(
    per_query, baseline := NULL, slices := NULL, measures := NULL, missing := 'error', z := 1.959963984540054
) AS TABLE
WITH
    _rank_wide AS (
        SELECT
            struct_pack(*COLUMNS([
                c FOR c IN (*) IF lower(c) = 'query' OR list_contains([lower(x) FOR x IN slices], lower(c))
            ])) AS _rank_cell,
            system AS _rank_system,
            try_cast(COLUMNS([
                c FOR c IN (*)
                IF
                    NOT list_contains(['query', 'system'] || [lower(x) FOR x IN coalesce(slices, [])], lower(c))
                    AND (measures IS NULL OR list_contains([lower(x) FOR x IN measures], lower(c)))
            ]) AS double)
        FROM query_table(per_query)
    ),

    -- A cast column no longer shows that it held text, so the types are read from the table itself.
    _rank_types AS (
        SELECT
            measure,
            type,
            regexp_matches(
                type, '^(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|BIGNUM|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|"NULL")$'
            ) AS is_number
        FROM (
            SELECT typeof(COLUMNS([
                c FOR c IN (*)
                IF
                    NOT list_contains(['query', 'system'] || [lower(x) FOR x IN coalesce(slices, [])], lower(c))
                    AND (measures IS NULL OR list_contains([lower(x) FOR x IN measures], lower(c)))
            ]))
            FROM query_table(per_query)
            LIMIT 1
        ) UNPIVOT (type FOR measure IN (COLUMNS(*)))
        WHERE
            CASE
                WHEN measures IS NOT NULL AND NOT is_number
                    THEN error('per_query.' || measure || ' has type ' || type || ' and can''t be a measure; cast it first')
                ELSE is_number
            END
    ),

    _rank_values AS (
        SELECT
            _rank_cell AS cell,
            _rank_system AS system,
            measure,
            value
        FROM _rank_wide UNPIVOT INCLUDE NULLS (value FOR measure IN (COLUMNS(* EXCLUDE (_rank_cell, _rank_system))))
        WHERE measure IN (SELECT types.measure FROM _rank_types AS types)
    ),

    _rank_once AS (
        SELECT
            cell,
            system,
            measure,
            any_value(value) AS value,
            count(*) AS copies
        FROM _rank_values
        WHERE
            CASE
                WHEN system IS NULL THEN error('per_query.system has a null; every row needs a system')
                WHEN cell.query IS NULL THEN error('per_query.query has a null; every row needs a query')
                WHEN NOT list_has_all([lower(c) FOR c IN struct_keys(cell)], [lower(c) FOR c IN coalesce(slices, [])])
                    THEN error('per_query does not have all of the columns ' || slices::varchar || ' (slices)')
                WHEN list_has_any([lower(c) FOR c IN coalesce(slices, [])], [
                    'query', 'system', 'measure', 'baseline', 'n', 'missing', 'mean', 'mean_baseline', 'difference',
                    'low', 'high', 'wins', 'ties', 'losses', 'effect_size', 'statistic_t', 'p_t', 'reason'
                ])
                    THEN
                        error(
                            'slices ' || slices::varchar
                            || ' holds what a column of the result is called; rename it first'
                        )
                WHEN (SELECT count(DISTINCT v.system) FROM _rank_values AS v) < 2
                    THEN error('per_query holds one system, ' || system || ': nothing to compare it with')
                WHEN NOT (SELECT bool_or(v.system = coalesce(baseline, v.system)) FROM _rank_values AS v)
                    THEN
                        error(
                            'baseline ' || baseline || ' is not a system of per_query; its systems are '
                            || (SELECT list_sort(list(DISTINCT v.system))::varchar FROM _rank_values AS v)
                        )
                ELSE TRUE
            END
        GROUP BY cell, system, measure
    ),

    _rank_systems AS (SELECT DISTINCT system FROM _rank_once),

    _rank_cells AS (
        SELECT
            cell,
            measure,
            bool_or(value IS NOT NULL) AS has_value
        FROM _rank_once
        GROUP BY cell, measure
    ),

    _rank_pairs AS (
        SELECT
            a.system,
            b.system AS against
        FROM _rank_systems AS a
        INNER JOIN _rank_systems AS b
            ON CASE
                WHEN baseline IS NOT NULL THEN b.system = baseline AND a.system != b.system
                -- An enum would be ordered by its codes.
                WHEN typeof(a.system) LIKE 'ENUM%' THEN a.system::varchar < b.system::varchar
                ELSE a.system < b.system
            END
    ),

    _rank_both AS (
        SELECT
            cells.cell,
            cells.measure,
            pairs.system,
            pairs.against,
            x.value IS NULL OR y.value IS NULL AS lacking,
            -- No row counts as 0 if another system has a value. A null in a row is not a 0: nothing is judged there.
            CASE WHEN missing = 'zero' AND cells.has_value AND x.copies IS NULL THEN 0.0 ELSE x.value END AS x,
            CASE WHEN missing = 'zero' AND cells.has_value AND y.copies IS NULL THEN 0.0 ELSE y.value END AS y
        FROM _rank_cells AS cells
        CROSS JOIN _rank_pairs AS pairs
        LEFT JOIN _rank_once AS x
            ON cells.cell IS NOT DISTINCT FROM x.cell AND cells.measure = x.measure AND pairs.system = x.system
        LEFT JOIN _rank_once AS y
            ON cells.cell IS NOT DISTINCT FROM y.cell AND cells.measure = y.measure AND pairs.against = y.system
        WHERE
            CASE
                WHEN coalesce(missing NOT IN ('error', 'zero', 'drop'), TRUE)
                    THEN
                        error(
                            'missing must be one of ''error'', ''zero'', ''drop'', got '
                            || coalesce(missing::varchar, 'NULL')
                        )
                WHEN coalesce(NOT z > 0, TRUE)
                    THEN error('z must be a number above 0, got ' || coalesce(z::varchar, 'NULL'))
                WHEN x.copies > 1 OR y.copies > 1
                    THEN
                        error(
                            'per_query has more than one row for ' || cells.cell::varchar || ' of a system;'
                            || ' name the other keys in slices := [...]'
                        )
                WHEN missing = 'error' AND cells.has_value AND (x.copies IS NULL OR y.copies IS NULL)
                    THEN
                        error(
                            'system ' || CASE WHEN x.copies IS NULL THEN pairs.system ELSE pairs.against END::varchar
                            || ' lacks ' || cells.measure || ' for ' || cells.cell::varchar
                            || ', which another system has; use missing := ''zero'' or ''drop'''
                        )
                ELSE TRUE
            END
    ),

    _rank_differences AS (
        SELECT
            *,
            CASE
                WHEN x IS NULL OR y IS NULL THEN NULL
                WHEN NOT (isfinite(x) AND isfinite(y)) THEN 'nan'::double
                WHEN abs(x - y) <= 1e-12 * greatest(abs(x), abs(y)) THEN 0.0
                ELSE x - y
            END AS d
        FROM _rank_both
    ),

    _rank_summed AS (
        SELECT
            cell.* EXCLUDE (query),
            measure AS _rank_measure,
            system AS _rank_system,
            against AS _rank_against,
            count(d) AS _rank_n,
            count(*) FILTER (isfinite(d)) AS _rank_used,
            count(*) FILTER (lacking) AS _rank_lacked,
            coalesce(bool_and(isfinite(d)), FALSE) AS _rank_finite,
            avg(x) FILTER (d IS NOT NULL) AS _rank_mean,
            avg(y) FILTER (d IS NOT NULL) AS _rank_mean_against,
            avg(d) AS _rank_difference,
            CASE
                WHEN
                    bool_and(isfinite(d))
                    AND max(d) - min(d) > 1e-12 * max(greatest(abs(x), abs(y))) FILTER (d IS NOT NULL)
                    THEN stddev_samp(CASE WHEN isfinite(d) THEN d END)
            END AS _rank_deviation,
            count(*) FILTER (d > 0) AS _rank_wins,
            count(*) FILTER (d = 0) AS _rank_ties,
            count(*) FILTER (d < 0) AS _rank_losses
        FROM _rank_differences
        GROUP BY ALL
    ),

    _rank_tested AS (
        SELECT
            *,
            _rank_difference / _rank_deviation * sqrt(_rank_n) AS _rank_t,
            -- Distance over which the density falls beyond t, about: from 1 at the centre to t in a heavy tail.
            1 / sqrt(
                (_rank_t * _rank_n / (_rank_n - 1 + _rank_t ** 2)) ** 2 + _rank_n / (_rank_n - 1 + _rank_t ** 2)
            ) AS _rank_width,
            -- gamma(n / 2) / gamma((n - 1) / 2); for large n by its series, since lgamma loses digits.
            CASE
                WHEN _rank_t IS NULL THEN NULL
                WHEN _rank_n < 100 THEN exp(lgamma(_rank_n / 2) - lgamma((_rank_n - 1) / 2))
                ELSE
                    sqrt((_rank_n - 1) / 2) * (
                        1 - 1 / (4 * (_rank_n - 1.0::double)) + 1 / (32 * (_rank_n - 1.0::double) ** 2)
                        + 5 / (128 * (_rank_n - 1.0::double) ** 3) - 21 / (2048 * (_rank_n - 1.0::double) ** 4)
                        - 399 / (8192 * (_rank_n - 1.0::double) ** 5)
                    )
            END AS _rank_gammas
        FROM _rank_summed
    )

SELECT
    * EXCLUDE (
        _rank_measure, _rank_system, _rank_against, _rank_n, _rank_used, _rank_lacked, _rank_finite,
        _rank_mean, _rank_mean_against, _rank_difference, _rank_deviation, _rank_wins, _rank_ties, _rank_losses, _rank_t,
        _rank_width, _rank_gammas
    ),
    _rank_measure AS measure,
    _rank_system AS system,
    _rank_against AS baseline,
    _rank_used AS n,
    _rank_lacked AS missing,
    CASE WHEN _rank_finite THEN _rank_mean END AS mean,
    CASE WHEN _rank_finite THEN _rank_mean_against END AS mean_baseline,
    CASE WHEN _rank_finite THEN _rank_difference END AS difference,
    _rank_difference - z * _rank_deviation / sqrt(_rank_n) AS low,
    _rank_difference + z * _rank_deviation / sqrt(_rank_n) AS high,
    CASE WHEN _rank_finite OR _rank_n = 0 THEN _rank_wins END AS wins,
    CASE WHEN _rank_finite OR _rank_n = 0 THEN _rank_ties END AS ties,
    CASE WHEN _rank_finite OR _rank_n = 0 THEN _rank_losses END AS losses,
    _rank_difference / _rank_deviation AS effect_size,
    _rank_t AS statistic_t,
    -- Both tails of Student's t: twice its density at t, times the integral of the density beyond t as a share of
    -- that, so that small p values keep their digits. Exp-sinh quadrature (Takahasi & Mori 1974) at 121 points.
    CASE
        WHEN _rank_t IS NOT NULL
            THEN
                least(
                    1.0,
                    2 * _rank_gammas / sqrt((_rank_n - 1) * pi())
                    * exp(-_rank_n / 2 * ln(1 + _rank_t ** 2 / (_rank_n - 1)))
                    * _rank_width * pi() / 32
                    * list_sum([
                        cosh((i - 61) / 16) * step
                        * exp(
                            -_rank_n / 2 * ln(
                                1 + _rank_width * step * (2 * abs(_rank_t) + _rank_width * step)
                                / (_rank_n - 1 + _rank_t ** 2)
                            )
                        )
                        FOR step, i IN [exp(pi() / 2 * sinh(i / 16)) FOR i IN range(-60, 61)]
                    ])
                )
    END AS p_t,
    CASE
        WHEN _rank_n = 0 THEN 'no query in common'
        WHEN NOT _rank_finite THEN 'a value is NaN or infinite'
        WHEN _rank_n = 1 THEN 'one query has no variance'
        WHEN _rank_deviation IS NULL THEN 'all differences are equal: no variance'
    END AS reason
FROM _rank_tested
ORDER BY ALL;
