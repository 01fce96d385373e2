-- Cascade measures; formulas, rules and sources are told in polars_rank/measures/cascade.py.
-- NaN is greater than any number, so it is kept out by <= 'inf'. Whole numbers know no NaN: their type is known to the
-- planner, which leaves out the comparison and with it the cast of every row.

CREATE OR REPLACE MACRO rank.reciprocal_rank(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            -- A constant empty := 0.0 lets the planner drop the count.
            CASE
                WHEN
                    NOT coalesce(empty = 0, FALSE)
                    AND count(CASE
                        WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double) THEN 1
                    END) = 0
                    THEN empty::double
                ELSE
                    coalesce(
                        1 / min(CASE
                            WHEN relevance >= min_relevance AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                            AND rank >= 1
                            AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                                THEN rank
                        END)::double,
                        0.0
                    )
            END
    END;

CREATE OR REPLACE MACRO rank.rbp(
    rank, relevance, k := NULL, persistence := 0.8, min_relevance := 1, max_relevance := NULL
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN
            NOT coalesce(
                max_relevance::varchar IN ('highest', 'unscaled')
                OR coalesce(try_cast(max_relevance AS double), -1) BETWEEN 1e-300 AND 1e300,
                TRUE
            )
            THEN error(
                'max_relevance must be a number above 0, ''highest'' or ''unscaled'', got '
                || coalesce(max_relevance::varchar, 'NULL')
            )
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > try_cast(max_relevance AS double)
                        AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    coalesce(
                        sum(
                            CASE
                                WHEN
                                    rank >= 1
                                    AND CASE
                                        WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                        ELSE rank <= k
                                    END
                                    AND relevance::double BETWEEN
                                    CASE WHEN max_relevance IS NULL THEN min_relevance ELSE 0 END AND 'inf'::double
                                    THEN
                                        (1 - persistence::double) * persistence::double ^ (rank::double - 1)
                                        * CASE WHEN max_relevance IS NULL THEN 1 ELSE relevance::double END
                            END
                        ),
                        0.0
                    )
                    / CASE
                        WHEN max_relevance::varchar = 'highest'
                            THEN greatest(max(CASE WHEN relevance::double <= 'inf'::double THEN relevance::double END), 1)
                        ELSE coalesce(try_cast(max_relevance AS double), 1)
                    END
            END
    END;

CREATE OR REPLACE MACRO rank.rbp_residual(rank, relevance, persistence := 0.8) AS
    CASE
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        ELSE
            1 - coalesce(
                sum(
                    CASE
                        WHEN
                            rank >= 1 AND (typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double)
                            AND relevance >= 0 AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                            THEN (1 - persistence::double) * persistence::double ^ (rank::double - 1)
                    END
                ),
                0.0
            )
    END;

CREATE OR REPLACE MACRO rank.err(rank, relevance, k := NULL, max_relevance := 4) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance
                        AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    -- stay = 1 - the chance to stop; sorted by rank, the higher grade first among equals.
                    coalesce(
                        [
                            list_sum([
                                (1 - x.stay) / x.place * coalesce(list_product([y.stay FOR y IN row[:i - 1]]), 1)
                                FOR x, i IN row
                            ])
                            FOR row IN [
                                list_sort(
                                    list(struct_pack(
                                        place := rank::double,
                                        stay := 1 - (2.0::double ^ relevance::double - 1) / 2.0::double ^ max_relevance
                                    )) FILTER (
                                        rank >= 1
                                        AND CASE
                                            WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double
                                            ELSE rank <= k
                                        END
                                        AND relevance >= 0 AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                    )
                                )
                            ]
                        ][1],
                        0.0
                    )
            END
    END;
