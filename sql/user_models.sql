-- User models; formulas, rules and sources are told in polars_rank/measures/user_models.py.
-- Each is a walk down the places: `chance` is that of reaching the next place, `so_far` the gain above it.
-- The linter can't parse lambdas.
-- noqa: disable=PRS

CREATE OR REPLACE MACRO rank.sdcg(rank, relevance, k := NULL, max_relevance := 1) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance AND relevance::double <= 'inf'::double), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    [
                        seen.gain / seen.weight
                        FOR seen IN [
                            list_reduce(
                                [
                                    struct_pack(
                                        i := i::double,
                                        gain := least(
                                            coalesce(list_sum([x.gain FOR x IN gaining IF x.place > i - 1 AND x.place <= i]), 0.0), 1
                                        ),
                                        so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                                    )
                                    FOR i IN range(1, coalesce(k, 1000)::bigint + 1)
                                ],
                                lambda seen, x: struct_pack(
                                    i := x.i,
                                    gain := seen.gain + seen.chance * x.gain,
                                    so_far := seen.so_far + x.gain,
                                    chance := seen.chance * log2(x.i + 1) / log2(x.i + 2),
                                    weight := seen.weight + seen.chance
                                ),
                                struct_pack(
                                    i := 0.0::double, gain := 0.0::double, so_far := 0.0::double,
                                    chance := 1.0::double, weight := 0.0::double
                                )
                            )
                            FOR gaining IN [
                                list(struct_pack(place := rank::double, gain := relevance::double / max_relevance))
                                FILTER (
                                    rank >= 1 AND rank::double <= coalesce(k, 1000)::bigint AND relevance > 0 AND relevance::double <= 'inf'::double
                                )
                            ]
                        ]
                    ][1]
            END
    END;

CREATE OR REPLACE MACRO rank.bpm(rank, relevance, k := NULL, target := 1.0, max_relevance := 1) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(target > 0 AND target < 'inf'::double, FALSE)
            THEN error('target must be a number above 0, got ' || coalesce(target::varchar, 'NULL'))
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance AND relevance::double <= 'inf'::double), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    [
                        seen.gain / seen.weight
                        FOR seen IN [
                            list_reduce(
                                [
                                    struct_pack(
                                        i := i::double,
                                        gain := least(
                                            coalesce(list_sum([x.gain FOR x IN gaining IF x.place > i - 1 AND x.place <= i]), 0.0), 1
                                        ),
                                        so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                                    )
                                    FOR i IN range(1, coalesce(k, 1000)::bigint + 1)
                                ],
                                lambda seen, x: struct_pack(
                                    i := x.i,
                                    gain := seen.gain + seen.chance * x.gain,
                                    so_far := seen.so_far + x.gain,
                                    chance := seen.chance * (seen.so_far + x.gain < target - 1e-12::double)::int,
                                    weight := seen.weight + seen.chance
                                ),
                                struct_pack(
                                    i := 0.0::double, gain := 0.0::double, so_far := 0.0::double,
                                    chance := 1.0::double, weight := 0.0::double
                                )
                            )
                            FOR gaining IN [
                                list(struct_pack(place := rank::double, gain := relevance::double / max_relevance))
                                FILTER (
                                    rank >= 1 AND rank::double <= coalesce(k, 1000)::bigint AND relevance > 0 AND relevance::double <= 'inf'::double
                                )
                            ]
                        ]
                    ][1]
            END
    END;

CREATE OR REPLACE MACRO rank.insq(rank, relevance, target := 1.0, max_relevance := 1) AS
    CASE
        WHEN NOT coalesce(target > 0 AND target < 'inf'::double, FALSE)
            THEN error('target must be a number above 0, got ' || coalesce(target::varchar, 'NULL'))
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance AND relevance::double <= 'inf'::double), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    [
                        seen.gain / seen.weight
                        FOR seen IN [
                            list_reduce(
                                [
                                    struct_pack(
                                        i := i::double,
                                        gain := least(
                                            coalesce(list_sum([x.gain FOR x IN gaining IF x.place > i - 1 AND x.place <= i]), 0.0), 1
                                        ),
                                        so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                                    )
                                    FOR i IN range(1, 1000 + 1)
                                ],
                                lambda seen, x: struct_pack(
                                    i := x.i,
                                    gain := seen.gain + seen.chance * x.gain,
                                    so_far := seen.so_far + x.gain,
                                    chance := seen.chance * ((x.i + 2 * target::double - 1) / (x.i + 2 * target::double)) ^ 2,
                                    weight := seen.weight + seen.chance
                                ),
                                struct_pack(
                                    i := 0.0::double, gain := 0.0::double, so_far := 0.0::double,
                                    chance := 1.0::double, weight := 0.0::double
                                )
                            )
                            FOR gaining IN [
                                list(struct_pack(place := rank::double, gain := relevance::double / max_relevance))
                                FILTER (
                                    rank >= 1 AND rank::double <= 1000 AND relevance > 0 AND relevance::double <= 'inf'::double
                                )
                            ]
                        ]
                    ][1]
            END
    END;

CREATE OR REPLACE MACRO rank.inst(rank, relevance, target := 1.0, max_relevance := 1) AS
    CASE
        WHEN NOT coalesce(target > 0 AND target < 'inf'::double, FALSE)
            THEN error('target must be a number above 0, got ' || coalesce(target::varchar, 'NULL'))
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance AND relevance::double <= 'inf'::double), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    [
                        seen.gain / seen.weight
                        FOR seen IN [
                            list_reduce(
                                [
                                    struct_pack(
                                        i := i::double,
                                        gain := least(
                                            coalesce(list_sum([x.gain FOR x IN gaining IF x.place > i - 1 AND x.place <= i]), 0.0), 1
                                        ),
                                        so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                                    )
                                    FOR i IN range(1, 1000 + 1)
                                ],
                                lambda seen, x: struct_pack(
                                    i := x.i,
                                    gain := seen.gain + seen.chance * x.gain,
                                    so_far := seen.so_far + x.gain,
                                    chance := seen.chance * ((x.i + 2 * target::double - seen.so_far - x.gain - 1) / (x.i + 2 * target::double - seen.so_far - x.gain)) ^ 2,
                                    weight := seen.weight + seen.chance
                                ),
                                struct_pack(
                                    i := 0.0::double, gain := 0.0::double, so_far := 0.0::double,
                                    chance := 1.0::double, weight := 0.0::double
                                )
                            )
                            FOR gaining IN [
                                list(struct_pack(place := rank::double, gain := relevance::double / max_relevance))
                                FILTER (
                                    rank >= 1 AND rank::double <= 1000 AND relevance > 0 AND relevance::double <= 'inf'::double
                                )
                            ]
                        ]
                    ][1]
            END
    END;

CREATE OR REPLACE MACRO rank.nerr(
    rank, relevance, k := NULL, equation := 8, persistence := 0.9, target := 1.0, max_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN coalesce(equation NOT IN (8, 9, 10, 11), TRUE)
            THEN error('equation must be one of 8, 9, 10, 11, got ' || coalesce(equation::varchar, 'NULL'))
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        WHEN NOT coalesce(target > 0 AND target < 'inf'::double, FALSE)
            THEN error('target must be a number above 0, got ' || coalesce(target::varchar, 'NULL'))
        WHEN NOT coalesce(max_relevance > 0 AND max_relevance < 'inf'::double, FALSE)
            THEN error('max_relevance must be a number above 0, got ' || coalesce(max_relevance::varchar, 'NULL'))
        ELSE
            CASE
                WHEN
                    coalesce(
                        bool_or(relevance::double > max_relevance AND relevance::double <= 'inf'::double), FALSE
                    )
                    THEN 'nan'::double
                ELSE
                    [
                        seen.gain / seen.weight
                        FOR seen IN [
                            list_reduce(
                                [
                                    struct_pack(
                                        i := i::double,
                                        gain := least(
                                            coalesce(list_sum([x.gain FOR x IN gaining IF x.place > i - 1 AND x.place <= i]), 0.0), 1
                                        ),
                                        so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                                    )
                                    FOR i IN range(1, coalesce(k, 1000)::bigint + 1)
                                ],
                                lambda seen, x: struct_pack(
                                    i := x.i,
                                    gain := seen.gain + seen.chance * x.gain,
                                    so_far := seen.so_far + x.gain,
                                    chance := seen.chance * (1 - x.gain) * CASE equation
                                        WHEN 8 THEN 1
                                        WHEN 9 THEN x.i / (x.i + 1)
                                        WHEN 10 THEN persistence::double
                                        ELSE ((x.i + 2 * target::double - 1) / (x.i + 2 * target::double)) ^ 2
                                    END,
                                    weight := seen.weight + seen.chance
                                ),
                                struct_pack(
                                    i := 0.0::double, gain := 0.0::double, so_far := 0.0::double,
                                    chance := 1.0::double, weight := 0.0::double
                                )
                            )
                            FOR gaining IN [
                                list(struct_pack(place := rank::double, gain := relevance::double / max_relevance))
                                FILTER (
                                    rank >= 1 AND rank::double <= coalesce(k, 1000)::bigint AND relevance > 0 AND relevance::double <= 'inf'::double
                                )
                            ]
                        ]
                    ][1]
            END
    END;
