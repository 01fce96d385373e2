-- Set and precision measures; formulas, rules and sources are in polars_rank/measures/binary.py.

-- Relevant items: counted, or as the log says.
CREATE OR REPLACE MACRO rank._total(relevance, min_relevance, num_relevant) AS
    coalesce(max(num_relevant::double), rank.main._num_relevant(relevance, min_relevance));

-- Ranks of the relevant items, in no order. One list serves every cutoff.
CREATE OR REPLACE MACRO rank._found(rank, relevance, min_relevance) AS
    list(rank) FILTER (rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank));

CREATE OR REPLACE MACRO rank.precision(rank, relevance, k := NULL, min_relevance := 1, denominator := 'k') AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._word_fault('denominator', denominator, ['k', 'returned', 'min', 'judged', 'reachable'])
        ),
        coalesce(
            rank.main._hits(rank, relevance, k, min_relevance)
            / nullif(
                CASE
                    WHEN denominator = 'judged' THEN rank.main._hits(rank, relevance, k, 0)
                    WHEN denominator = 'min' THEN least(rank.main._num_relevant(relevance, min_relevance), k)
                    WHEN denominator = 'reachable'
                        THEN least(rank.main._num_relevant(relevance, min_relevance), rank.main._num_returned(rank, k))
                    WHEN denominator = 'returned' OR k IS NULL THEN rank.main._num_returned(rank, k)
                    ELSE k
                END::double,
                0
            ),
            0.0
        )::double
    );

CREATE OR REPLACE MACRO rank.recall(
    rank, relevance, k := NULL, min_relevance := 1, denominator := 'relevant', num_relevant := NULL, empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._word_fault('denominator', denominator, ['relevant', 'min']),
            rank.main._empty_fault(empty)
        ),
        [
            CASE
                WHEN total > 0
                    THEN
                        rank.main._hits(rank, relevance, k, min_relevance)
                        / CASE denominator WHEN 'min' THEN least(total, k) ELSE total END
                ELSE empty::double
            END
            FOR total IN [rank.main._total(relevance, min_relevance, num_relevant)]
        ][1]
    );

CREATE OR REPLACE MACRO rank.f_measure(
    rank, relevance, k := NULL, min_relevance := 1, beta := 1.0, num_relevant := NULL, empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._positive_fault('beta', beta),
            rank.main._empty_fault(empty)
        ),
        -- P = hits / size and R = hits / total put into the formula: one division, no 0 / 0.
        [
            CASE
                WHEN total > 0
                    THEN
                        (1 + beta::double ^ 2) * rank.main._hits(rank, relevance, k, min_relevance)
                        / (beta::double ^ 2 * total + coalesce(k, rank.main._num_returned(rank)))
                ELSE empty::double
            END
            FOR total IN [rank.main._total(relevance, min_relevance, num_relevant)]
        ][1]
    );

CREATE OR REPLACE MACRO rank.average_precision(
    rank, relevance, k := NULL, min_relevance := 1, denominator := 'relevant', num_relevant := NULL, empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._word_fault('denominator', denominator, ['relevant', 'min', 'k', 'returned', 'found']),
            rank.main._empty_fault(empty)
        ),
        -- Counts stand outside the comprehension, where the planner can drop those that a constant denominator leaves out.
        [
            CASE
                WHEN x['total'] > 0
                    THEN
                        coalesce(
                            list_sum([
                                i / place::double
                                FOR place, i IN list_sort(CASE WHEN k IS NULL THEN x['places'] ELSE [p FOR p IN x['places'] IF p <= k] END)
                            ])
                            / CASE denominator
                                WHEN 'relevant' THEN x['total']
                                WHEN 'min' THEN least(x['total'], k)
                                ELSE x['size']
                            END,
                            0.0
                        )
                ELSE empty::double
            END
            FOR x IN [
                struct_pack(
                    total := rank.main._total(relevance, min_relevance, num_relevant),
                    places := rank.main._found(rank, relevance, min_relevance),
                    size := CASE
                        WHEN denominator IN ('relevant', 'min') THEN NULL
                        WHEN denominator = 'found' THEN rank.main._hits(rank, relevance, k, min_relevance)
                        WHEN denominator = 'returned' OR k IS NULL THEN rank.main._num_returned(rank, k)
                        ELSE k
                    END
                )
            ]
        ][1]
    );

CREATE OR REPLACE MACRO rank.r_precision(
    rank, relevance, min_relevance := 1, multiple := 1.0, num_relevant := NULL, empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._min_relevance_fault(min_relevance),
            rank.main._positive_fault('multiple', multiple),
            rank.main._empty_fault(empty)
        ),
        [
            CASE
                WHEN total > 0
                    THEN [
                        coalesce(
                            len([place FOR place IN rank.main._found(rank, relevance, min_relevance) IF place::double <= places])
                            / nullif(places, 0),
                            0.0
                        )
                        FOR places IN [CASE WHEN multiple = 1 THEN total ELSE floor(multiple::double * total + 0.9::double) END]
                    ][1]
                ELSE empty::double
            END
            FOR total IN [rank.main._total(relevance, min_relevance, num_relevant)]
        ][1]
    );

CREATE OR REPLACE MACRO rank.set_average_precision(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance), rank.main._empty_fault(empty)
        ),
        [
            CASE
                WHEN total > 0
                    THEN
                        coalesce(
                            rank.main._hits(rank, relevance, k, min_relevance)::double ^ 2
                            / nullif(rank.main._num_returned(rank, k), 0)
                            / total,
                            0.0
                        )
                ELSE empty::double
            END
            FOR total IN [rank.main._num_relevant(relevance, min_relevance)]
        ][1]
    );

CREATE OR REPLACE MACRO rank.success(rank, relevance, k := NULL, min_relevance := 1, empty := 0.0) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance), rank.main._empty_fault(empty)
        ),
        rank.main._unless_empty(
            rank.main._relevant(relevance, min_relevance),
            empty,
            CASE WHEN rank.main._hits(rank, relevance, k, min_relevance) > 0 THEN 1.0 ELSE 0.0 END
        )
    );
