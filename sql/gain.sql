-- Gain measures; formulas, rules and sources are told in polars_rank/measures/gain.py.
-- NaN is greater than any number, so it is kept out by <= 'inf'. Whole numbers know no NaN: their type is known to the
-- planner, which leaves out the comparison and with it the cast of every row.

CREATE OR REPLACE MACRO rank.dcg(rank, relevance, k := NULL, gain := 'linear') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN
            coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            AND coalesce(len([g FOR g IN map_values(try_cast(gain::varchar AS MAP (double, double))) IF g IS NULL]) > 0, TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'' or a MAP of grades to gains, got '
                || coalesce(gain::varchar, 'NULL')
            )
        ELSE
            -- CASE within sum, not FILTER: an argument of a filtered sum is computed for every row.
            coalesce(
                sum(
                    CASE
                        WHEN
                            rank >= 1
                            AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                            AND CASE
                                WHEN gain::varchar IN ('linear', 'exponential') THEN relevance > 0
                                ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double) > 0
                            END
                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                            THEN
                                CASE gain::varchar
                                    WHEN 'linear' THEN relevance::double
                                    WHEN 'exponential' THEN 2.0::double ^ relevance::double - 1
                                    ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double)
                                END
                                / log2(rank::double + 1)
                    END
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.ideal_dcg(relevance, k := NULL, gain := 'linear') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN
            coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            AND coalesce(len([g FOR g IN map_values(try_cast(gain::varchar AS MAP (double, double))) IF g IS NULL]) > 0, TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'' or a MAP of grades to gains, got '
                || coalesce(gain::varchar, 'NULL')
            )
        ELSE
            coalesce(
                list_sum([
                    CASE gain::varchar WHEN 'exponential' THEN 2.0::double ^ g - 1 ELSE g END / log2(i + 1)
                    FOR g, i IN list_slice(
                        list_sort(
                            CASE
                                WHEN gain::varchar IN ('linear', 'exponential')
                                    THEN (list(relevance) FILTER (relevance > 0
                                    AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)))::double[]
                                ELSE [
                                    g FOR g IN [
                                        coalesce(try_cast(gain::varchar AS MAP (double, double))[g::double], g::double)
                                        FOR g IN list(relevance) FILTER (relevance::double <= 'inf'::double)
                                    ]
                                    IF g > 0
                                ]
                            END,
                            'DESC'
                        ),
                        1, coalesce(k::double, 1e18)::bigint
                    )
                ]),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.ndcg(
    rank, relevance, k := NULL, gain := 'linear', ideal := 'judged', empty := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN
            coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            AND coalesce(len([g FOR g IN map_values(try_cast(gain::varchar AS MAP (double, double))) IF g IS NULL]) > 0, TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'' or a MAP of grades to gains, got '
                || coalesce(gain::varchar, 'NULL')
            )
        WHEN coalesce(ideal NOT IN ('judged', 'list', 'k'), TRUE)
            THEN error(
                'ideal must be one of ''judged'', ''list'', ''k'', got '
                || coalesce(ideal::varchar, 'NULL')
            )
        ELSE
            -- A constant empty := 0.0 lets the planner drop the count.
            CASE
                WHEN
                    NOT coalesce(empty = 0, FALSE)
                    AND count(CASE
                        WHEN
                            CASE
                                WHEN gain::varchar IN ('linear', 'exponential') THEN relevance > 0
                                ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double) > 0
                            END
                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                            THEN 1
                    END) = 0
                    THEN empty::double
                ELSE coalesce(
                    sum(
                        CASE
                            WHEN
                                rank >= 1
                                AND CASE WHEN k IS NULL THEN typeof(rank) LIKE '%INT%' OR rank::double <= 'inf'::double ELSE rank <= k END
                                AND CASE
                                    WHEN gain::varchar IN ('linear', 'exponential') THEN relevance > 0
                                    ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double) > 0
                                END
                                AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                THEN
                                    CASE gain::varchar
                                        WHEN 'linear' THEN relevance::double
                                        WHEN 'exponential' THEN 2.0::double ^ relevance::double - 1
                                        ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double)
                                    END
                                    / log2(rank::double + 1)
                        END
                    )
                    / nullif(
                        list_sum([
                            CASE gain::varchar WHEN 'exponential' THEN 2.0::double ^ g - 1 ELSE g END / log2(i + 1)
                            FOR g, i IN [
                                CASE
                                    WHEN ideal = 'k' THEN [x.best[1] FOR place IN range(x.places)]
                                    ELSE list_slice(x.best, 1, x.places)
                                END
                                -- Outside of the comprehension the planner can drop the count.
                                FOR x IN [
                                    struct_pack(
                                        places := CASE
                                            WHEN ideal = 'k'
                                                THEN coalesce(k, count(CASE WHEN rank::double BETWEEN 1 AND 'inf'::double THEN 1 END))
                                            ELSE coalesce(k::double, 1e18)
                                        END::bigint,
                                        best := list_sort(
                                            CASE
                                                WHEN gain::varchar IN ('linear', 'exponential')
                                                    THEN CASE
                                                        -- Ten are kept as rows come; one whole list serves all deeper cutoffs.
                                                        WHEN k <= 10
                                                            THEN max(relevance, 10) FILTER (
                                                                relevance > 0
                                                                AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                                                AND (ideal != 'list' OR rank::double BETWEEN 1 AND 'inf'::double)
                                                            )
                                                        ELSE list(relevance) FILTER (
                                                            relevance > 0
                                                            AND (typeof(relevance) LIKE '%INT%' OR relevance::double <= 'inf'::double)
                                                            AND (ideal != 'list' OR rank::double BETWEEN 1 AND 'inf'::double)
                                                        )
                                                    END::double[]
                                                ELSE [
                                                    g FOR g IN [
                                                        coalesce(try_cast(gain::varchar AS MAP (double, double))[g::double], g::double)
                                                        FOR g IN list(relevance) FILTER (
                                                            relevance::double <= 'inf'::double
                                                            AND (ideal != 'list' OR rank::double BETWEEN 1 AND 'inf'::double)
                                                        )
                                                    ]
                                                    IF g > 0
                                                ]
                                            END,
                                            'DESC'
                                        )
                                    )
                                ]
                            ][1]
                        ]),
                        0.0
                    ),
                    0.0
                )
            END
    END;
