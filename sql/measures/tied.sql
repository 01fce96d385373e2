-- Tied measures; formulas, rules and sources are in polars_rank/measures/tied.py.
-- The linter can't parse lambdas.
-- noqa: disable=PRS

CREATE OR REPLACE MACRO rank._word_gain_fault(gain) AS
    rank.main._word_fault('gain', gain, ['linear', 'exponential']);

-- A walk through the scores: a tie is added up, and counts when the next score begins. The order in a tie does not
-- depend on k, so that each sum up to k adds a part of what the whole one adds, and in the same order.
CREATE OR REPLACE MACRO rank._expected_dcg(rank, relevance, score, k, gain) AS
    [
        tie['above'] + tie['gain'] * tie['weight'] / greatest(tie['size'], 1)
        FOR tie IN [
            list_reduce(
                list_sort(coalesce(
                    list(struct_pack(
                        score := CASE WHEN NOT isnan(score::double) THEN score::double + 0.0::double END,
                        place := rank::double,
                        gain := CASE
                            WHEN rank.main._gains(relevance, gain) THEN rank.main._amount(relevance::double, gain)
                            ELSE 0.0::double
                        END,
                        weight := CASE WHEN rank.main._returned(rank, k) THEN 1 / log2(rank::double + 1) ELSE 0.0::double END,
                        size := 1,
                        above := 0.0::double
                    )) FILTER (rank.main._returned(rank)),
                    []
                )),
                lambda tie, x: CASE
                    WHEN x['score'] IS NOT DISTINCT FROM tie['score']
                        THEN struct_pack(
                            score := x['score'], place := x['place'], gain := tie['gain'] + x['gain'],
                            weight := tie['weight'] + x['weight'], size := tie['size'] + 1, above := tie['above']
                        )
                    ELSE struct_pack(
                        score := x['score'], place := x['place'], gain := x['gain'], weight := x['weight'], size := 1,
                        above := tie['above'] + tie['gain'] * tie['weight'] / greatest(tie['size'], 1)
                    )
                END,
                struct_pack(
                    score := NULL::double, place := 0.0::double, gain := 0.0::double, weight := 0.0::double,
                    size := 0, above := 0.0::double
                )
            )
        ]
    ][1];

CREATE OR REPLACE MACRO rank.expected_dcg(rank, relevance, score, k := NULL, gain := 'linear') AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._word_gain_fault(gain)),
        rank.main._expected_dcg(rank, relevance, score, k, gain)
    );

CREATE OR REPLACE MACRO rank.expected_ndcg(
    rank, relevance, score, k := NULL, gain := 'linear', ideal := 'judged', empty := 0.0
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
                rank.main._expected_dcg(rank, relevance, score, k, gain)
                / nullif(rank.main._ideal_dcg(relevance, k, gain, ideal != 'list' OR rank.main._returned(rank::double)), 0.0),
                0.0
            )
        )
    );
