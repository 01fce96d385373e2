-- Cascade measures; formulas, rules and sources are in polars_rank/measures/cascade.py.
-- The linter can't parse lambdas.
-- noqa: disable=PRS

CREATE OR REPLACE MACRO rank.reciprocal_rank(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance), rank.main._empty_fault(empty)
        ),
        rank.main._unless_empty(
            rank.main._relevant(relevance, min_relevance),
            empty,
            coalesce(
                1 / min(CASE WHEN rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank, k) THEN rank END)::double,
                0.0
            )
        )
    );

-- The chance that the user looks at a rank and stops there.
CREATE OR REPLACE MACRO rank._stop_at(rank, persistence) AS
    (1 - persistence::double) * persistence::double ^ (rank::double - 1);

CREATE OR REPLACE MACRO rank.rbp(
    rank, relevance, k := NULL, persistence := 0.8, min_relevance := 1, max_relevance := NULL
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._persistence_fault(persistence),
            rank.main._min_relevance_fault(min_relevance),
            CASE
                WHEN max_relevance IS NOT NULL
                    THEN rank.main._fault(
                        max_relevance::varchar IN ('highest', 'unscaled') OR try_cast(max_relevance AS double) BETWEEN 1e-300 AND 1e300,
                        'max_relevance must be a number above 0, ''highest'' or ''unscaled''',
                        max_relevance
                    )
            END
        ),
        rank.main._nan_above(
            relevance,
            try_cast(max_relevance AS double),
            coalesce(
                sum(
                    CASE
                        WHEN
                            rank.main._returned(rank, k)
                            AND rank.main._relevant(relevance::double, CASE WHEN max_relevance IS NULL THEN min_relevance ELSE 0 END)
                            THEN
                                rank.main._stop_at(rank, persistence)
                                * CASE WHEN max_relevance IS NULL THEN 1 ELSE relevance::double END
                    END
                ),
                0.0
            )
            / CASE
                WHEN max_relevance::varchar = 'highest'
                    THEN greatest(max(CASE WHEN rank.main._is_number(relevance) THEN relevance::double END), 1)
                ELSE coalesce(try_cast(max_relevance AS double), 1)
            END
        )
    );

CREATE OR REPLACE MACRO rank.rbp_residual(rank, relevance, persistence := 0.8) AS
    rank.main._checked(
        rank.main._persistence_fault(persistence),
        1 - coalesce(
            sum(
                CASE
                    WHEN rank.main._returned(rank) AND rank.main._relevant(relevance, 0) THEN rank.main._stop_at(rank, persistence)
                END
            ),
            0.0
        )
    );

-- Each step gains something and lets a part of the users stay for the next. Two steps make one that gains
-- gain + stay * next gain and keeps stay * next stay: neighbours are put together until one step is left, so that a list
-- costs a few passes. Whole lists and their tops are put together alike: a top never gains more than the whole.
CREATE OR REPLACE MACRO rank._cascade(steps) AS
    list_reduce(
        [steps] || [NULL FOR pass IN range(ceil(log2(len(steps)))::bigint)],
        lambda merged, pass: [
            struct_pack(
                gain := step['gain'] + coalesce(step['stay'] * merged[i + 1]['gain'], 0),
                stay := step['stay'] * coalesce(merged[i + 1]['stay'], 1)
            )
            FOR step, i IN merged IF i % 2 = 1
        ]
    )[1]['gain'];

CREATE OR REPLACE MACRO rank.err(rank, relevance, k := NULL, max_relevance := 4) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._positive_fault('max_relevance', max_relevance)),
        rank.main._nan_above(
            relevance,
            max_relevance,
            -- Sorted by rank, the higher grade first among equals.
            coalesce(
                [
                    rank.main._cascade([struct_pack(gain := x['stop'] / x['place'], stay := 1 - x['stop']) FOR x IN ranked])
                    FOR ranked IN [
                        list_sort(
                            list(struct_pack(
                                place := rank::double,
                                below := -relevance::double,
                                stop := (2.0::double ^ relevance::double - 1) / 2.0::double ^ max_relevance
                            )) FILTER (rank.main._returned(rank, k) AND rank.main._relevant(relevance, 0))
                        )
                    ]
                ][1],
                0.0
            )
        )
    );
