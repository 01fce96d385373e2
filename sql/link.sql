-- Link prediction; formulas, rules and sources are told in polars_rank/measures/link.py.

CREATE OR REPLACE MACRO rank.mean_reciprocal_rank(rank, not_found := 'zero') AS
    CASE
        WHEN
            count(CASE
                WHEN not_found::varchar NOT IN ('zero', 'skip') AND try_cast(not_found AS double) IS NULL
                    THEN 1
            END) > 0
            THEN error('not_found must be ''zero'', ''skip'', a number or a column of numbers')
        ELSE
            coalesce(
                sum(
                    1 / CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double
                            THEN rank::double
                        WHEN try_cast(not_found AS double) BETWEEN 1 AND 'inf'::double
                            THEN try_cast(not_found AS double)
                    END
                )
                / nullif(
                    count(CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double OR not_found::varchar IS DISTINCT FROM 'skip' THEN 1
                    END),
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.hits_at_k(rank, k := NULL, not_found := 'zero') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN
            count(CASE
                WHEN not_found::varchar NOT IN ('zero', 'skip') AND try_cast(not_found AS double) IS NULL
                    THEN 1
            END) > 0
            THEN error('not_found must be ''zero'', ''skip'', a number or a column of numbers')
        ELSE
            coalesce(
                sum(
                    CASE
                        WHEN CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double
                            THEN rank::double
                        WHEN try_cast(not_found AS double) BETWEEN 1 AND 'inf'::double
                            THEN try_cast(not_found AS double)
                    END <= coalesce(k::double, 'inf'::double) THEN 1.0
                    END
                )
                / nullif(
                    count(CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double OR not_found::varchar IS DISTINCT FROM 'skip' THEN 1
                    END),
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.mean_rank(rank, not_found := 'zero') AS
    CASE
        WHEN
            count(CASE
                WHEN not_found::varchar NOT IN ('zero', 'skip') AND try_cast(not_found AS double) IS NULL
                    THEN 1
            END) > 0
            THEN error('not_found must be ''zero'', ''skip'', a number or a column of numbers')
        ELSE
            coalesce(
                sum(
                    CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double
                            THEN rank::double
                        WHEN try_cast(not_found AS double) BETWEEN 1 AND 'inf'::double
                            THEN try_cast(not_found AS double)
                    END
                )
                / nullif(
                    count(CASE
                        WHEN rank >= 1 AND rank::double <= 'inf'::double OR not_found::varchar IS DISTINCT FROM 'skip' THEN 1
                    END),
                    0
                ),
                0.0
            )::double
    END;
