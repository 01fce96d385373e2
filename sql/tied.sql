-- Tied measures; formulas, rules and sources are told in polars_rank/measures/tied.py.
-- Each is a walk through the scores: a tie is added up, and counts when the next score begins.
-- The linter can't parse lambdas.
-- noqa: disable=PRS

CREATE OR REPLACE MACRO rank.expected_dcg(rank, score, relevance, k := NULL, gain := 'linear') AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            THEN error('gain must be one of ''linear'', ''exponential'', got ' || coalesce(gain::varchar, 'NULL'))
        ELSE
            [
                tie.above + tie.gain * tie.weight / greatest(tie.size, 1)
                FOR tie IN [
                    list_reduce(
                        list_sort(coalesce(
                            list(struct_pack(
                                score := CASE WHEN NOT isnan(score::double) THEN score::double + 0.0::double END,
                                gain := CASE
                                    WHEN relevance > 0 AND relevance::double <= 'inf'::double
                                        THEN CASE gain::varchar
                                            WHEN 'exponential' THEN 2.0::double ^ relevance::double - 1
                                            ELSE relevance::double
                                        END
                                    ELSE 0.0::double
                                END,
                                weight := CASE
                                    WHEN rank::double <= coalesce(k::double, 'inf'::double) THEN 1 / log2(rank::double + 1)
                                    ELSE 0.0::double
                                END,
                                size := 1,
                                above := 0.0::double
                            )) FILTER (rank >= 1 AND rank::double <= 'inf'::double),
                            []
                        )),
                        lambda tie, x: CASE
                            WHEN x.score IS NOT DISTINCT FROM tie.score
                                THEN struct_pack(
                                    score := x.score, gain := tie.gain + x.gain, weight := tie.weight + x.weight,
                                    size := tie.size + 1, above := tie.above
                                )
                            ELSE struct_pack(
                                score := x.score, gain := x.gain, weight := x.weight, size := 1,
                                above := tie.above + tie.gain * tie.weight / greatest(tie.size, 1)
                            )
                        END,
                        struct_pack(
                            score := NULL::double, gain := 0.0::double, weight := 0.0::double, size := 0, above := 0.0::double
                        )
                    )
                ]
            ][1]
    END;

CREATE OR REPLACE MACRO rank.expected_ndcg(
    rank, score, relevance, k := NULL, gain := 'linear', ideal := 'judged', empty := 0.0
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            THEN error('gain must be one of ''linear'', ''exponential'', got ' || coalesce(gain::varchar, 'NULL'))
        WHEN coalesce(ideal NOT IN ('judged', 'list'), TRUE)
            THEN error('ideal must be one of ''judged'', ''list'', got ' || coalesce(ideal::varchar, 'NULL'))
        WHEN count(CASE WHEN relevance > 0 AND relevance::double <= 'inf'::double THEN 1 END) = 0
            THEN empty::double
        ELSE
            coalesce(
                [
                    tie.above + tie.gain * tie.weight / greatest(tie.size, 1)
                    FOR tie IN [
                        list_reduce(
                            list_sort(coalesce(
                                list(struct_pack(
                                    score := CASE WHEN NOT isnan(score::double) THEN score::double + 0.0::double END,
                                    gain := CASE
                                        WHEN relevance > 0 AND relevance::double <= 'inf'::double
                                            THEN CASE gain::varchar
                                                WHEN 'exponential' THEN 2.0::double ^ relevance::double - 1
                                                ELSE relevance::double
                                            END
                                        ELSE 0.0::double
                                    END,
                                    weight := CASE
                                        WHEN rank::double <= coalesce(k::double, 'inf'::double) THEN 1 / log2(rank::double + 1)
                                        ELSE 0.0::double
                                    END,
                                    size := 1,
                                    above := 0.0::double
                                )) FILTER (rank >= 1 AND rank::double <= 'inf'::double),
                                []
                            )),
                            lambda tie, x: CASE
                                WHEN x.score IS NOT DISTINCT FROM tie.score
                                    THEN struct_pack(
                                        score := x.score, gain := tie.gain + x.gain, weight := tie.weight + x.weight,
                                        size := tie.size + 1, above := tie.above
                                    )
                                ELSE struct_pack(
                                    score := x.score, gain := x.gain, weight := x.weight, size := 1,
                                    above := tie.above + tie.gain * tie.weight / greatest(tie.size, 1)
                                )
                            END,
                            struct_pack(
                                score := NULL::double, gain := 0.0::double, weight := 0.0::double, size := 0, above := 0.0::double
                            )
                        )
                    ]
                ][1]
                / nullif(
                    list_sum([
                        CASE gain::varchar WHEN 'exponential' THEN 2.0::double ^ g - 1 ELSE g END / log2(i + 1)
                        FOR g, i IN list_slice(
                            list_reverse_sort(
                                list(relevance::double) FILTER (
                                    relevance > 0 AND relevance::double <= 'inf'::double
                                    AND (ideal != 'list' OR (rank >= 1 AND rank::double <= 'inf'::double))
                                )
                            ),
                            1, coalesce(k::double, 1e18)::bigint
                        )
                    ]),
                    0.0
                ),
                0.0
            )
    END;
