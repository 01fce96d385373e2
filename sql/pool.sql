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
