-- Interpolated precision; formulas, rules and sources are told in polars_rank/measures/interpolated.py.

CREATE OR REPLACE MACRO rank.interpolated_precision(
    rank, relevance, recall := 0.0, min_relevance := 1, rounding := 'up', empty := 0.0
) AS
    CASE
        WHEN NOT coalesce(recall BETWEEN 0 AND 1, FALSE)
            THEN error('recall must be a number from 0 to 1, got ' || coalesce(recall::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(rounding NOT IN ('up', 'nearest'), TRUE)
            THEN error('rounding must be one of ''up'', ''nearest'', got ' || coalesce(rounding::varchar, 'NULL'))
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            coalesce(
                                list_max([
                                    i / place::double
                                    FOR place, i IN list_sort(
                                        list(rank) FILTER (
                                            relevance >= min_relevance AND relevance::double <= 'inf'::double
                                            AND rank >= 1 AND rank::double <= 'inf'::double
                                        )
                                    )
                                    IF i >= floor(
                                        recall::double * total + CASE rounding WHEN 'up' THEN 0.9 ELSE 0.5 END::double
                                    )
                                ]),
                                0.0
                            )
                    ELSE empty::double
                END
                FOR total IN [
                    (count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END))::double
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.eleven_point_precision(
    rank, relevance, min_relevance := 1, rounding := 'up', empty := 0.0
) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN coalesce(rounding NOT IN ('up', 'nearest'), TRUE)
            THEN error('rounding must be one of ''up'', ''nearest'', got ' || coalesce(rounding::varchar, 'NULL'))
        ELSE
            [
                CASE
                    WHEN total > 0
                        THEN
                            coalesce(
                                list_sum([
                                    list_max([
                                        i / place::double
                                        FOR place, i IN list_sort(
                                            list(rank) FILTER (
                                                relevance >= min_relevance AND relevance::double <= 'inf'::double
                                                AND rank >= 1 AND rank::double <= 'inf'::double
                                            )
                                        )
                                        IF i >= floor(
                                            level * total + CASE rounding WHEN 'up' THEN 0.9 ELSE 0.5 END::double
                                        )
                                    ])
                                    FOR level IN [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]::double[]
                                ]) / 11,
                                0.0
                            )
                    ELSE empty::double
                END
                FOR total IN [
                    (count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END))::double
                ]
            ][1]
    END;
