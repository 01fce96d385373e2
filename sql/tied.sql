-- Tied measures; formulas, rules and sources are told in polars_rank/measures/tied.py.

CREATE OR REPLACE MACRO rank._word_gain_fault(gain) AS
    rank.main._word_fault('gain', gain, ['linear', 'exponential']);

-- In order of score the items of a tie stand together, from its start to the start of the next. Their order in the tie
-- does not depend on k, so that each sum up to k adds a part of what the whole one adds, and in the same order.
CREATE OR REPLACE MACRO rank._expected_dcg(rank, score, relevance, k, gain) AS
    coalesce(
        [
            list_sum([
                list_sum(x['gains'][start:x['starts'][tie + 1] - 1])
                * list_sum(x['weights'][start:x['starts'][tie + 1] - 1])
                / (x['starts'][tie + 1] - start)
                FOR start, tie IN x['starts'] IF tie < len(x['starts'])
            ])
            FOR x IN [
                struct_pack(
                    gains := [y['gain'] FOR y IN rows],
                    weights := [
                        CASE WHEN rank.main._returned(y['place'], k) THEN 1 / log2(y['place'] + 1) ELSE 0.0::double END FOR y IN rows
                    ],
                    starts := [i FOR y, i IN rows IF i = 1 OR y['score'] IS DISTINCT FROM rows[i - 1]['score']] || [len(rows) + 1]
                )
                FOR rows IN [
                    list_sort(
                        list(struct_pack(
                            score := CASE WHEN NOT isnan(score::double) THEN score::double + 0.0::double END,
                            place := rank::double,
                            gain := CASE
                                WHEN rank.main._gains(relevance, gain) THEN rank.main._amount(relevance::double, gain)
                                ELSE 0.0::double
                            END
                        )) FILTER (rank.main._returned(rank))
                    )
                ]
            ]
        ][1],
        0.0
    );

CREATE OR REPLACE MACRO rank.expected_dcg(rank, score, relevance, k := NULL, gain := 'linear') AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._word_gain_fault(gain)),
        rank.main._expected_dcg(rank, score, relevance, k, gain)
    );

CREATE OR REPLACE MACRO rank.expected_ndcg(
    rank, score, relevance, k := NULL, gain := 'linear', ideal := 'judged', empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._word_gain_fault(gain),
            rank.main._word_fault('ideal', ideal, ['judged', 'list']),
            rank.main._empty_fault(empty)
        ),
        rank.main._unless_empty(
            rank.main._gains(relevance, gain),
            empty,
            coalesce(
                rank.main._expected_dcg(rank, score, relevance, k, gain)
                / nullif(rank.main._ideal_dcg(relevance, k, gain, ideal != 'list' OR rank.main._returned(rank::double)), 0.0),
                0.0
            )
        )
    );
