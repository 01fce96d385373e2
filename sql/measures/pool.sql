-- Pool measures; formulas, rules and sources are in polars_rank/measures/pool.py.

CREATE OR REPLACE MACRO rank.judged_share(rank, relevance, k := NULL) AS
    rank.main._checked(
        rank.main._k_fault(k),
        coalesce(rank.main._hits(rank, relevance, k, 0) / nullif(rank.main._num_returned(rank, k), 0), 0.0)::double
    );

-- Returned rows of the pool in order: by rank, relevant first among equals. Kind 0 is relevant, 1 judged non-relevant,
-- 2 unjudged.
CREATE OR REPLACE MACRO rank._pool(rank, relevance, min_relevance, counts) AS
    list_sort(
        list(struct_pack(
            place := rank::double, kind := (relevance::double < min_relevance)::tinyint + (relevance < 0)::tinyint
        )) FILTER (counts AND relevance::double <= 'inf'::double AND rank.main._returned(rank))
    );

CREATE OR REPLACE MACRO rank.bpref(rank, relevance, min_relevance := 1, empty := 0.0) AS
    rank.main._checked(
        coalesce(rank.main._min_relevance_fault(min_relevance), rank.main._empty_fault(empty)),
        -- The i-th relevant row at place p of the judged ones has p - i non-relevant ones strictly above.
        [
            CASE
                WHEN x['relevant'] = 0 THEN empty::double
                ELSE
                    coalesce(
                        list_sum([
                            CASE
                                WHEN p > i
                                    THEN 1 - least(p - i, x['relevant']) / least(x['relevant'], x['judged'] - x['relevant'])
                                ELSE 1.0
                            END
                            FOR p, i IN [p FOR y, p IN x['pool'] IF y['kind'] = 0]
                        ]) / x['relevant'],
                        0.0
                    )
            END
            FOR x IN [
                struct_pack(
                    relevant := rank.main._num_relevant(relevance, min_relevance)::double,
                    judged := rank.main._num_relevant(relevance, 0)::double,
                    pool := rank.main._pool(rank, relevance, min_relevance, relevance >= 0)
                )
            ]
        ][1]
    );

CREATE OR REPLACE MACRO rank.num_returned(rank) AS
    rank.main._num_returned(rank)::double;

CREATE OR REPLACE MACRO rank.num_relevant(relevance, min_relevance := 1) AS
    rank.main._checked(
        rank.main._min_relevance_fault(min_relevance), rank.main._num_relevant(relevance, min_relevance)::double
    );

CREATE OR REPLACE MACRO rank.num_relevant_returned(rank, relevance, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance)),
        rank.main._hits(rank, relevance, k, min_relevance)::double
    );

CREATE OR REPLACE MACRO rank.unjudged_share(rank, relevance, k := NULL) AS
    rank.main._checked(
        rank.main._k_fault(k),
        coalesce(
            (rank.main._num_returned(rank, k) - rank.main._hits(rank, relevance, k, 0))
            / nullif(coalesce(k, rank.main._num_returned(rank)), 0),
            0.0
        )::double
    );

CREATE OR REPLACE MACRO rank.inferred_ap(rank, relevance, min_relevance := 1, empty := 0.0) AS
    rank.main._checked(
        coalesce(rank.main._min_relevance_fault(min_relevance), rank.main._empty_fault(empty)),
        -- The i-th relevant row, at place p of the pool and q of its judged rows, has p - 1 pooled rows above, q - 1 of
        -- them judged and i - 1 relevant.
        [
            CASE
                WHEN total = 0 THEN empty::double
                ELSE
                    coalesce(
                        list_sum([
                            (1 + x['pooled'] * (i - 1 + 1e-5::double) / (x['judged'] + 2e-5::double)) / x['place']
                            FOR x, i IN [
                                struct_pack(place := x['place'], pooled := x['pooled'], judged := q - 1)
                                FOR x, q IN [
                                    struct_pack(place := x['place'], kind := x['kind'], pooled := p - 1)
                                    FOR x, p IN rank.main._pool(rank, relevance, min_relevance, TRUE) IF x['kind'] < 2
                                ]
                                IF x['kind'] = 0
                            ]
                        ]) / total,
                        0.0
                    )
            END
            FOR total IN [rank.main._num_relevant(relevance, min_relevance)]
        ][1]
    );

CREATE OR REPLACE MACRO rank.num_nonrelevant_returned(rank, relevance, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance)),
        (rank.main._hits(rank, relevance, k, 0) - rank.main._hits(rank, relevance, k, min_relevance))::double
    );

CREATE OR REPLACE MACRO rank.num_queries(rank) AS
    (count(CASE WHEN rank IS NULL THEN 1 ELSE 1 END) > 0)::int::double;

CREATE OR REPLACE MACRO rank._finite_fault(option, value) AS
    rank.main._fault(isfinite(try_cast(value AS double)), option || ' must be a number', value);

CREATE OR REPLACE MACRO rank.utility(
    rank, relevance, k := NULL, min_relevance := 1,
    relevant_returned := 1.0, others_returned := -1.0, relevant_missed := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._min_relevance_fault(min_relevance),
            rank.main._finite_fault('relevant_returned', relevant_returned),
            rank.main._finite_fault('others_returned', others_returned),
            rank.main._finite_fault('relevant_missed', relevant_missed)
        ),
        [
            relevant_returned::double * hits
            + others_returned::double * (rank.main._num_returned(rank, k) - hits)
            + relevant_missed::double * (rank.main._num_relevant(relevance, min_relevance) - hits)
            FOR hits IN [rank.main._hits(rank, relevance, k, min_relevance)]
        ][1]
    );
