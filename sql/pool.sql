-- Pool measures; formulas, rules and sources are told in polars_rank/measures/pool.py.

CREATE OR REPLACE MACRO rank.judged_share(rank, relevance, k := NULL) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        ELSE
            coalesce(
                count(CASE
                    WHEN relevance >= 0 AND relevance::double <= 'inf'::double
                    AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                        THEN 1
                END)
                / nullif(count(CASE WHEN rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double) THEN 1 END), 0),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.bpref(rank, relevance, min_relevance := 1, empty := 0.0) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            -- In the list sorted by rank, relevant first among equals, the i-th relevant row at place p
            -- has p - i judged non-relevant rows strictly above.
            [
                CASE
                    WHEN total = 0 THEN empty::double
                    ELSE
                        coalesce(
                            list_sum([
                                CASE
                                    WHEN p > i
                                        THEN
                                            1 - least(p - i, total) / least(
                                                total,
                                                count(CASE WHEN relevance >= 0 AND relevance::double <= 'inf'::double THEN 1 END) - total
                                            )
                                    ELSE 1.0
                                END
                                FOR p, i IN [
                                    p FOR x, p IN list_sort(
                                        list(struct_pack(place := rank::double, below := relevance::double < min_relevance))
                                        FILTER (
                                            relevance >= 0 AND relevance::double <= 'inf'::double
                                            AND rank >= 1 AND rank::double <= 'inf'::double
                                        )
                                    )
                                    IF NOT x.below
                                ]
                            ]) / total,
                            0.0
                        )
                END
                FOR total IN [(count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END))::double]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.num_returned(rank) AS
    (count(CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN 1 END))::double;

CREATE OR REPLACE MACRO rank.num_relevant(relevance, min_relevance := 1) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            (count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END))::double
    END;

CREATE OR REPLACE MACRO rank.num_relevant_returned(rank, relevance, k := NULL, min_relevance := 1) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            (count(CASE
                WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double
                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                    THEN 1
            END))::double
    END;

CREATE OR REPLACE MACRO rank.unjudged_share(rank, relevance, k := NULL) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        ELSE
            coalesce(
                (
                    count(CASE WHEN rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double) THEN 1 END)
                    - count(CASE
                        WHEN relevance >= 0 AND relevance::double <= 'inf'::double
                        AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            THEN 1
                    END)
                )
                / nullif(coalesce(k, count(CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN 1 END)), 0),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.inferred_ap(rank, relevance, min_relevance := 1, empty := 0.0) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            -- Places in the list sorted by rank, relevant first among equals: the i-th relevant row at place p
            -- has p - 1 pooled rows above, i - 1 of them relevant.
            [
                CASE
                    WHEN total = 0 THEN empty::double
                    ELSE
                        coalesce(
                            [
                                list_sum([
                                    (
                                        1 + (p - 1) * (i - 1 + 1e-5::double)
                                        / (i - 1 + len([y FOR y IN pooled[:p - 1] IF y.miss AND y.known]) + 2e-5::double)
                                    ) / pooled[p].place
                                    FOR p, i IN [p FOR x, p IN pooled IF NOT x.miss]
                                ])
                                FOR pooled IN [
                                    list_sort(
                                        list(struct_pack(
                                            place := rank::double,
                                            miss := relevance::double < min_relevance,
                                            known := relevance >= 0
                                        ))
                                        FILTER (relevance::double <= 'inf'::double AND rank >= 1 AND rank::double <= 'inf'::double)
                                    )
                                ]
                            ][1] / total,
                            0.0
                        )
                END
                FOR total IN [count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END)]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.num_nonrelevant_returned(rank, relevance, k := NULL, min_relevance := 1) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            (count(CASE
                WHEN relevance >= 0 AND relevance < min_relevance
                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                    THEN 1
            END))::double
    END;

CREATE OR REPLACE MACRO rank.num_queries(rank) AS
    (count(CASE WHEN rank IS NULL THEN 1 ELSE 1 END) > 0)::int::double;

CREATE OR REPLACE MACRO rank.utility(
    rank, relevance, k := NULL, min_relevance := 1,
    relevant_returned := 1.0, others_returned := -1.0, relevant_missed := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        WHEN NOT coalesce(isfinite(relevant_returned::double), FALSE)
            THEN error('relevant_returned must be a number, got ' || coalesce(relevant_returned::varchar, 'NULL'))
        WHEN NOT coalesce(isfinite(others_returned::double), FALSE)
            THEN error('others_returned must be a number, got ' || coalesce(others_returned::varchar, 'NULL'))
        WHEN NOT coalesce(isfinite(relevant_missed::double), FALSE)
            THEN error('relevant_missed must be a number, got ' || coalesce(relevant_missed::varchar, 'NULL'))
        ELSE
            [
                relevant_returned::double * hits
                + others_returned::double
                * (count(CASE WHEN rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double) THEN 1 END) - hits)
                + relevant_missed::double
                * (count(CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN 1 END) - hits)
                FOR hits IN [
                    count(CASE
                        WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double
                        AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            THEN 1
                    END)
                ]
            ][1]
    END;
