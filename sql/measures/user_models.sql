-- User models; formulas, rules and sources are in polars_rank/measures/user_models.py.
-- The linter can't parse lambdas.
-- noqa: disable=PRS

-- What the items of each place gain together, at most 1: the gains between the marks that are sorted behind each place.
-- An index of a list takes no time, while a slice copies the list for each place.
CREATE OR REPLACE MACRO rank._gains_by_place(gaining, num_places) AS
    [
        [
            least(list_sum([x['gains'][j] FOR j IN range(coalesce(x['marks'][i - 1], 0) + 1, mark + 1)]), 1)
            FOR mark, i IN x['marks']
        ]
        FOR x IN [
            [
                struct_pack(
                    gains := [item['gain'] FOR item IN row],
                    marks := [j FOR item, j IN row IF item['is_mark']]
                )
                FOR row IN [
                    list_sort(list_concat(
                        coalesce(gaining, []),
                        [
                            struct_pack(place := i::double, is_mark := TRUE, gain := 0.0::double)
                            FOR i IN range(1, num_places::bigint + 1)
                        ]
                    ))
                ]
            ][1]
        ]
    ][1];

-- A walk down the places. `chance` is that of reaching the next place; `go_on`, the chance of going on from a place
-- once it is reached, is written in terms of `x['place']`, `x['gain']` and the gain above, `seen['so_far']`.
CREATE OR REPLACE MACRO rank._mean_gain(rank, relevance, k, max_relevance, go_on) AS
    rank.main._nan_above(
        relevance,
        max_relevance,
        [
            walk['gain'] / walk['weight']
            FOR walk IN [
                list_reduce(
                    [
                        struct_pack(
                            place := i::double, gain := gain, so_far := 0.0::double, chance := 1.0::double, weight := 0.0::double
                        )
                        FOR gain, i IN rank.main._gains_by_place(
                            list(struct_pack(
                                place := ceil(rank::double), is_mark := FALSE, gain := relevance::double / max_relevance
                            )) FILTER (
                                rank.main._returned(rank, coalesce(k, 1000))
                                AND relevance > 0 AND rank.main._is_number(relevance)
                            ),
                            coalesce(k, 1000)
                        )
                    ],
                    lambda seen, x: struct_pack(
                        place := x['place'],
                        gain := seen['gain'] + seen['chance'] * x['gain'],
                        so_far := seen['so_far'] + x['gain'],
                        chance := seen['chance'] * go_on,
                        weight := seen['weight'] + seen['chance']
                    ),
                    struct_pack(
                        place := 0.0::double, gain := 0.0::double, so_far := 0.0::double, chance := 1.0::double,
                        weight := 0.0::double
                    )
                )
            ]
        ][1]
    );

-- The chance of going on of INSQ, INST and equation 11 at a place of which so much is still wanted.
CREATE OR REPLACE MACRO rank._inverse_square(wanted) AS
    ((wanted - 1) / wanted) ^ 2;

CREATE OR REPLACE MACRO rank.sdcg(rank, relevance, k := NULL, max_relevance := 1) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._positive_fault('max_relevance', max_relevance)),
        rank.main._mean_gain(rank, relevance, k, max_relevance, log2(x['place'] + 1) / log2(x['place'] + 2))
    );

CREATE OR REPLACE MACRO rank.bpm(rank, relevance, k := NULL, target := 1.0, max_relevance := 1) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._positive_fault('target', target),
            rank.main._positive_fault('max_relevance', max_relevance)
        ),
        rank.main._mean_gain(
            rank, relevance, k, max_relevance, (seen['so_far'] + x['gain'] < target::double - 1e-12)::int
        )
    );

CREATE OR REPLACE MACRO rank.insq(rank, relevance, target := 1.0, max_relevance := 1) AS
    rank.main._checked(
        coalesce(
            rank.main._positive_fault('target', target), rank.main._positive_fault('max_relevance', max_relevance)
        ),
        rank.main._mean_gain(
            rank, relevance, NULL, max_relevance, rank.main._inverse_square(x['place'] + 2 * target::double)
        )
    );

CREATE OR REPLACE MACRO rank.inst(rank, relevance, target := 1.0, max_relevance := 1) AS
    rank.main._checked(
        coalesce(
            rank.main._positive_fault('target', target), rank.main._positive_fault('max_relevance', max_relevance)
        ),
        rank.main._mean_gain(
            rank, relevance, NULL, max_relevance,
            rank.main._inverse_square(x['place'] + 2 * target::double - seen['so_far'] - x['gain'])
        )
    );

CREATE OR REPLACE MACRO rank.nerr(
    rank, relevance, k := NULL, equation := 8, persistence := 0.9, target := 1.0, max_relevance := 1
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._fault(
                list_contains(['8', '9', '10', '11'], equation::varchar), 'equation must be one of 8, 9, 10, 11', equation
            ),
            rank.main._persistence_fault(persistence),
            rank.main._positive_fault('target', target),
            rank.main._positive_fault('max_relevance', max_relevance)
        ),
        rank.main._mean_gain(
            rank, relevance, k, max_relevance,
            (1 - x['gain']) * CASE equation
                WHEN 8 THEN 1
                WHEN 9 THEN x['place'] / (x['place'] + 1)
                WHEN 10 THEN persistence::double
                ELSE rank.main._inverse_square(x['place'] + 2 * target::double)
            END
        )
    );
