-- Preference measures; formulas, rules and sources are told in polars_rank/measures/preference.py.

CREATE OR REPLACE MACRO rank.compatibility(rank, relevance, persistence := 0.95, normalized := TRUE) AS
    CASE
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        WHEN coalesce(normalized NOT IN (TRUE, FALSE), TRUE)
            THEN error('normalized must be true or false, got ' || coalesce(normalized::varchar, 'NULL'))
        ELSE
            -- Sorted by grade, then rank, an item is in both tops from the deeper of its two places on.
            coalesce(
                [
                    [
                        list_sum([
                            persistence::double ^ (d - 1) * coalesce(len([x FOR x IN deeper IF x <= d]), 0) / d
                            FOR d IN range(1, depth + 1)
                        ])
                        / list_sum([
                            persistence::double ^ (d - 1) * CASE WHEN normalized THEN least(d, len(deeper)) / d ELSE 1 END
                            FOR d IN range(1, depth + 1)
                        ])
                        FOR depth IN [
                            greatest(
                                ceil(max(CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN rank::double END)), len(deeper)
                            )::bigint
                        ]
                    ][1]
                    FOR deeper IN [
                        [
                            greatest(x.place, i) FOR x, i IN list_sort(
                                list(struct_pack(
                                    below := -relevance::double,
                                    place := CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN rank::double ELSE 'inf' END
                                ))
                                FILTER (relevance > 0 AND relevance::double <= 'inf'::double)
                            )
                        ]
                    ]
                ][1],
                0.0
            )
    END;

CREATE OR REPLACE MACRO rank.pairwise_accuracy(rank, relevance, k := NULL, min_relevance := 1) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            -- In the list sorted by rank, relevant first among equals, the i-th relevant row at place p
            -- has p - i others strictly above.
            [
                [
                    CASE
                        WHEN others > 0 AND others < len(ranked)
                            THEN
                                1 - list_sum([p - i FOR p, i IN [p FOR x, p IN ranked IF NOT x.other]])
                                / (others * (len(ranked) - others))::double
                    END
                    FOR others IN [len([x FOR x IN ranked IF x.other])]
                ][1]
                FOR ranked IN [
                    list_sort(
                        list(struct_pack(
                            place := rank::double,
                            other := NOT coalesce(relevance >= min_relevance AND relevance::double <= 'inf'::double, FALSE)
                        ))
                        FILTER (rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double))
                    )
                ]
            ][1]
    END;
