-- Preference measures; formulas, rules and sources are in polars_rank/measures/preference.py.

CREATE OR REPLACE MACRO rank.compatibility(rank, relevance, persistence := 0.95, normalized := TRUE) AS
    rank.main._checked(
        coalesce(
            rank.main._persistence_fault(persistence),
            rank.main._fault(
                list_contains(['true', 'false'], normalized::varchar), 'normalized must be true or false', normalized
            )
        ),
        -- Sorted by grade, then rank, an item is in both tops from the deeper of its two places on. With the deeper
        -- places in order, the tops of depth d share j items from the j-th of these places to the next.
        coalesce(
            [
                list_sum([
                    j * list_sum([
                        persistence::double ^ (d - 1) / d
                        FOR d IN range(least(place, x['depth'] + 1)::bigint, least(x['deeper'][j + 1], x['depth'] + 1)::bigint)
                    ])
                    FOR place, j IN x['deeper']
                ])
                / list_sum([
                    persistence::double ^ (d - 1) * CASE WHEN normalized::boolean THEN least(d, len(x['deeper'])) / d ELSE 1 END
                    FOR d IN range(1, x['depth']::bigint + 1)
                ])
                FOR x IN [
                    struct_pack(
                        deeper := list_sort([
                            ceil(greatest(item['place'], i)) FOR item, i IN list_sort(
                                list(struct_pack(
                                    below := -relevance::double,
                                    place := CASE WHEN rank.main._returned(rank) THEN rank::double ELSE 'inf' END
                                ))
                                FILTER (relevance > 0 AND rank.main._is_number(relevance))
                            )
                        ]),
                        depth := least(
                            greatest(
                                ceil(max(CASE WHEN rank.main._returned(rank) THEN rank::double END)),
                                count(CASE WHEN relevance > 0 AND rank.main._is_number(relevance) THEN 1 END)
                            ),
                            rank.main._places_above_zero(persistence)
                        )
                    )
                ]
            ][1],
            0.0
        )
    );

CREATE OR REPLACE MACRO rank.pairwise_accuracy(rank, relevance, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance)),
        -- The i-th relevant row at place p has p - i others strictly above it, and likewise strictly below it in the list
        -- sorted the other way round. A pair of equal ranks is in neither count, and so is worth one half.
        [
            CASE
                WHEN len(x['down']) BETWEEN 1 AND x['items'] - 1
                    THEN
                        0.5::double + (list_sum(x['up']) - list_sum(x['down']))
                        / (2 * len(x['down']) * (x['items'] - len(x['down'])))::double
            END
            FOR x IN [
                [
                    struct_pack(
                        items := len(ranked),
                        down := [p FOR item, p IN list_sort(ranked) IF NOT item['other']],
                        up := [
                            p FOR item, p IN list_sort([
                                struct_pack(below := -item['place'], other := item['other']) FOR item IN ranked
                            ])
                            IF NOT item['other']
                        ]
                    )
                    FOR ranked IN [
                        list(struct_pack(
                            place := rank::double,
                            other := NOT coalesce(rank.main._relevant(relevance, min_relevance), FALSE)
                        ))
                        FILTER (rank.main._returned(rank, k))
                    ]
                ][1]
            ]
        ][1]
    );
