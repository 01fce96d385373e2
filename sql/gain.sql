-- Gain measures; formulas, rules and sources are told in polars_rank/measures/gain.py.

CREATE OR REPLACE MACRO rank.dcg(rank, relevance, k := NULL, gain := 'linear') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN coalesce(gain NOT IN ('linear', 'exponential'), TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'', got '
                || coalesce(gain::varchar, 'NULL')
            )
        ELSE
            -- CASE within sum, not FILTER: an argument of a filtered sum is computed for every row.
            coalesce(
                sum(
                    CASE
                        WHEN
                            rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            AND relevance > 0 AND relevance::double <= 'inf'::double
                            THEN
                                CASE gain WHEN 'linear' THEN relevance::double
                                    ELSE 2.0::double ^ relevance::double - 1 END
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
        WHEN coalesce(gain NOT IN ('linear', 'exponential'), TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'', got '
                || coalesce(gain::varchar, 'NULL')
            )
        ELSE
            coalesce(
                list_sum([
                    CASE gain WHEN 'linear' THEN g::double ELSE 2.0::double ^ g::double - 1 END / log2(i + 1)
                    FOR g, i IN list_slice(
                        list_sort(
                            list(relevance) FILTER (relevance > 0 AND relevance::double <= 'inf'::double), 'DESC'
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
        WHEN coalesce(gain NOT IN ('linear', 'exponential'), TRUE)
            THEN error(
                'gain must be one of ''linear'', ''exponential'', got '
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
                    AND count(CASE WHEN relevance > 0 AND relevance::double <= 'inf'::double THEN 1 END) = 0
                    THEN empty::double
                ELSE coalesce(
                    sum(
                        CASE
                            WHEN
                                rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                                AND relevance > 0 AND relevance::double <= 'inf'::double
                                THEN
                                    CASE gain WHEN 'linear' THEN relevance::double
                                        ELSE 2.0::double ^ relevance::double - 1 END
                                    / log2(rank::double + 1)
                        END
                    )
                    / nullif(
                        list_sum([
                            CASE gain WHEN 'linear' THEN g::double ELSE 2.0::double ^ g::double - 1 END / log2(i + 1)
                            FOR g, i IN CASE
                                WHEN ideal = 'k'
                                    THEN [
                                        max(relevance) FILTER (relevance > 0 AND relevance::double <= 'inf'::double)
                                        FOR place IN range(
                                            coalesce(k, count(CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN 1 END))::bigint
                                        )
                                    ]
                                ELSE
                                    list_slice(
                                        list_sort(
                                            list(relevance) FILTER (
                                                relevance > 0 AND relevance::double <= 'inf'::double
                                                AND (ideal = 'judged' OR (rank >= 1 AND rank::double <= 'inf'::double))
                                            ),
                                            'DESC'
                                        ),
                                        1, coalesce(k::double, 1e18)::bigint
                                    )
                            END
                        ]),
                        0.0
                    ),
                    0.0
                )
            END
    END;
