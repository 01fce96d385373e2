-- Set and precision measures; formulas, rules and sources are told in polars_rank/measures/binary.py.

CREATE OR REPLACE MACRO rank.precision(rank, relevance, k := NULL, min_relevance := 1, denominator := 'k') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(denominator NOT IN ('k', 'returned', 'min', 'judged'), TRUE)
            THEN error(
                'denominator must be one of ''k'', ''returned'', ''min'', ''judged'', got '
                || coalesce(denominator::varchar, 'NULL')
            )
        ELSE
            coalesce(
                count(*) FILTER (
                    relevance::double BETWEEN min_relevance AND 'inf'::double
                    AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                )
                / nullif(
                    CASE
                        WHEN denominator = 'judged'
                            THEN
                                count(*) FILTER (
                                    relevance::double BETWEEN 0 AND 'inf'::double
                                    AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                                )
                        WHEN denominator = 'min'
                            THEN least(count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double), k)
                        WHEN denominator = 'returned' OR k IS NULL
                            THEN count(*) FILTER (rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double))
                        ELSE k
                    END::double,
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.recall(
    rank, relevance, k := NULL, min_relevance := 1, denominator := 'relevant', num_relevant := NULL, empty := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(denominator NOT IN ('relevant', 'min'), TRUE)
            THEN error(
                'denominator must be one of ''relevant'', ''min'', got '
                || coalesce(denominator::varchar, 'NULL')
            )
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            count(*) FILTER (
                                relevance::double BETWEEN min_relevance AND 'inf'::double
                                AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                            ) / CASE denominator WHEN 'min' THEN least(total, k) ELSE total END
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double)
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.f_measure(
    rank, relevance, k := NULL, min_relevance := 1, beta := 1.0, num_relevant := NULL, empty := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN NOT coalesce(beta > 0 AND beta < 'inf'::double, FALSE)
            THEN error('beta must be a number above 0, got ' || coalesce(beta::varchar, 'NULL'))
        ELSE
            -- P = hits / size and R = hits / total put into the formula: one division, no 0 / 0.
            [
                CASE
                    WHEN total > 0
                        THEN
                            (1 + beta::double ^ 2) * count(*) FILTER (
                                relevance::double BETWEEN min_relevance AND 'inf'::double
                                AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                            )
                            / (
                                beta::double ^ 2 * total
                                + coalesce(k, count(*) FILTER (rank::double BETWEEN 1 AND 'inf'::double))
                            )
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double)
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.average_precision(
    rank, relevance, k := NULL, min_relevance := 1, denominator := 'relevant', num_relevant := NULL, empty := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(denominator NOT IN ('relevant', 'min', 'k', 'returned', 'found'), TRUE)
            THEN error(
                'denominator must be one of ''relevant'', ''min'', ''k'', ''returned'', ''found'', got '
                || coalesce(denominator::varchar, 'NULL')
            )
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            coalesce(
                                list_sum([
                                    i / place FOR place, i IN list_sort(
                                        list(rank::double) FILTER (
                                            relevance::double BETWEEN min_relevance AND 'inf'::double
                                            AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                                        )
                                    )
                                ])
                                / CASE
                                    WHEN denominator = 'relevant' THEN total
                                    WHEN denominator = 'min' THEN least(total, k)
                                    WHEN denominator = 'found'
                                        THEN
                                            count(*) FILTER (
                                                relevance::double BETWEEN min_relevance AND 'inf'::double
                                                AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                                            )
                                    WHEN denominator = 'returned' OR k IS NULL
                                        THEN count(*) FILTER (rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double))
                                    ELSE k
                                END,
                                0.0
                            )
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double)
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.r_precision(
    rank, relevance, min_relevance := 1, num_relevant := NULL, empty := 0.0
) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            coalesce(
                                len([
                                    place FOR place IN list(rank::double) FILTER (
                                        relevance::double BETWEEN min_relevance AND 'inf'::double
                                        AND rank::double BETWEEN 1 AND 'inf'::double
                                    )
                                    IF place <= total
                                ]),
                                0
                            ) / total
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double)
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.success(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN count(*) FILTER (relevance::double BETWEEN min_relevance AND 'inf'::double) = 0 THEN empty::double
                WHEN count(*) FILTER (
                    relevance::double BETWEEN min_relevance AND 'inf'::double
                    AND rank::double BETWEEN 1 AND coalesce(k::double, 'inf'::double)
                ) > 0 THEN 1.0
                ELSE 0.0
            END
    END;
