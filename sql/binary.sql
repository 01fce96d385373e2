-- Set and precision measures; formulas, rules and sources are told in polars_rank/measures/binary.py.
-- NaN is greater than any number, so it is kept out by <= 'inf'. Whole numbers know no NaN: their type is known to the
-- planner, which leaves out the comparison and with it the cast of every row.

CREATE OR REPLACE MACRO rank.precision(rank, relevance, k := NULL, min_relevance := 1, denominator := 'k') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(denominator NOT IN ('k', 'returned', 'min', 'judged', 'reachable'), TRUE)
            THEN error(
                'denominator must be one of ''k'', ''returned'', ''min'', ''judged'', ''reachable'', got '
                || coalesce(denominator::varchar, 'NULL')
            )
        ELSE
            coalesce(
                count(CASE
                    WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                    AND rank >= 1 AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                        THEN 1
                END)
                / nullif(
                    CASE
                        WHEN denominator = 'judged'
                            THEN
                                count(CASE
                                    WHEN relevance >= 0 AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                    AND rank >= 1
                                    AND CASE
                                        WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                        ELSE rank <= k
                                    END
                                        THEN 1
                                END)
                        WHEN denominator = 'min'
                            THEN
                                least(count(CASE
                                    WHEN relevance >= min_relevance
                                    AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                        THEN 1
                                END), k)
                        WHEN denominator = 'reachable'
                            THEN
                                least(
                                    count(CASE
                                        WHEN relevance >= min_relevance
                                        AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                            THEN 1
                                    END),
                                    count(CASE
                                        WHEN rank >= 1
                                        AND CASE
                                            WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                            ELSE rank <= k
                                        END
                                            THEN 1
                                    END)
                                )
                        WHEN denominator = 'returned' OR k IS NULL
                            THEN
                                count(CASE
                                    WHEN rank >= 1
                                    AND CASE
                                        WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                        ELSE rank <= k
                                    END
                                        THEN 1
                                END)
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
                            count(CASE
                                WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                AND rank >= 1
                                AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                                    THEN 1
                            END) / CASE denominator WHEN 'min' THEN least(total, k) ELSE total END
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(CASE
                            WHEN relevance >= min_relevance
                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                THEN 1
                        END)
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
                            (1 + beta::double ^ 2) * count(CASE
                                WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                AND rank >= 1
                                AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                                    THEN 1
                            END)
                            / (
                                beta::double ^ 2 * total
                                + coalesce(k, count(CASE
                                    WHEN rank >= 1
                                    AND (typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double)
                                        THEN 1
                                END))
                            )
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(CASE
                            WHEN relevance >= min_relevance
                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                THEN 1
                        END)
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
            -- One list of relevant ranks serves every cutoff. Counts stand outside the comprehension, where the planner
            -- can drop those that a constant denominator leaves out.
            [
                CASE
                    WHEN x.total > 0
                        THEN
                            coalesce(
                                list_sum([
                                    i / place::double
                                    FOR place, i IN list_sort(CASE WHEN k IS NULL THEN x.places ELSE [p FOR p IN x.places IF p <= k] END)
                                ])
                                / CASE denominator
                                    WHEN 'relevant' THEN x.total
                                    WHEN 'min' THEN least(x.total, k)
                                    ELSE x.size
                                END,
                                0.0
                            )
                    ELSE empty::double
                END
                FOR x IN [
                    struct_pack(
                        total := coalesce(
                            max(num_relevant::double),
                            count(CASE
                                WHEN relevance >= min_relevance
                                AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                    THEN 1
                            END)
                        ),
                        places := list(rank) FILTER (
                            relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                            AND rank >= 1 AND (typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double)
                        ),
                        size := CASE
                            WHEN denominator IN ('relevant', 'min') THEN NULL
                            WHEN denominator = 'found'
                                THEN
                                    count(CASE
                                        WHEN relevance >= min_relevance
                                        AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                        AND rank >= 1
                                        AND CASE
                                            WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                            ELSE rank <= k
                                        END
                                            THEN 1
                                    END)
                            WHEN denominator = 'returned' OR k IS NULL
                                THEN
                                    count(CASE
                                        WHEN rank >= 1
                                        AND CASE
                                            WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                            ELSE rank <= k
                                        END
                                            THEN 1
                                    END)
                            ELSE k
                        END
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.r_precision(
    rank, relevance, min_relevance := 1, multiple := 1.0, num_relevant := NULL, empty := 0.0
) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN NOT coalesce(multiple > 0 AND multiple < 'inf'::double, FALSE)
            THEN error('multiple must be a number above 0, got ' || coalesce(multiple::varchar, 'NULL'))
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN [
                            coalesce(
                                len([
                                    place FOR place IN list(rank) FILTER (
                                        relevance >= min_relevance
                                        AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                        AND rank >= 1 AND (typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double)
                                    )
                                    IF place::double <= places
                                ]) / nullif(places, 0),
                                0.0
                            )
                            FOR places IN [CASE WHEN multiple = 1 THEN total ELSE floor(multiple::double * total + 0.9::double) END]
                        ][1]
                    ELSE empty::double
                END
                FOR total IN [
                    coalesce(
                        max(num_relevant::double),
                        count(CASE
                            WHEN relevance >= min_relevance
                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                THEN 1
                        END)
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.set_average_precision(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            coalesce(
                                (count(CASE
                                    WHEN relevance >= min_relevance
                                    AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                    AND rank >= 1
                                    AND CASE
                                        WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                        ELSE rank <= k
                                    END
                                        THEN 1
                                END))::double ^ 2
                                / nullif(count(CASE
                                    WHEN rank >= 1
                                    AND CASE
                                        WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                        ELSE rank <= k
                                    END
                                        THEN 1
                                END), 0)
                                / total,
                                0.0
                            )
                    ELSE empty::double
                END
                FOR total IN [count(CASE
                    WHEN relevance >= min_relevance
                    AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                        THEN 1
                END)]
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
                WHEN count(CASE
                    WHEN relevance >= min_relevance
                    AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                        THEN 1
                END) = 0 THEN empty::double
                WHEN count(CASE
                    WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                    AND rank >= 1 AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                        THEN 1
                END) > 0 THEN 1.0
                ELSE 0.0
            END
    END;
