-- Interpolated precision; formulas, rules and sources are in polars_rank/measures/interpolated.py.

-- The best precision where at least the share `recall` of the relevant items is found, at the ranks `places` in order.
CREATE OR REPLACE MACRO rank._best_precision(places, recall, total, rounding) AS
    list_max([
        i / place::double FOR place, i IN places
        IF i >= floor(recall::double * total + CASE rounding WHEN 'up' THEN 0.9 ELSE 0.5 END::double)
    ]);

CREATE OR REPLACE MACRO rank.interpolated_precision(
    rank, relevance, recall := 0.0, min_relevance := 1, rounding := 'up', empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._share_fault('recall', recall),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._word_fault('rounding', rounding, ['up', 'nearest']),
            rank.main._empty_fault(empty)
        ),
        [
            CASE
                WHEN total > 0
                    THEN
                        coalesce(
                            rank.main._best_precision(
                                list_sort(rank.main._found(rank, relevance, min_relevance)), recall, total, rounding
                            ),
                            0.0
                        )
                ELSE empty::double
            END
            FOR total IN [rank.main._num_relevant(relevance, min_relevance)::double]
        ][1]
    );

CREATE OR REPLACE MACRO rank.eleven_point_precision(
    rank, relevance, min_relevance := 1, rounding := 'up', empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._min_relevance_fault(min_relevance),
            rank.main._word_fault('rounding', rounding, ['up', 'nearest']),
            rank.main._empty_fault(empty)
        ),
        [
            CASE
                WHEN x['total'] > 0
                    THEN
                        coalesce(
                            list_sum([
                                rank.main._best_precision(x['places'], level, x['total'], rounding)
                                FOR level IN [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]::double[]
                            ]) / 11,
                            0.0
                        )
                ELSE empty::double
            END
            FOR x IN [
                struct_pack(
                    total := rank.main._num_relevant(relevance, min_relevance)::double,
                    places := list_sort(rank.main._found(rank, relevance, min_relevance))
                )
            ]
        ][1]
    );
