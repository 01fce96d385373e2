-- Gain measures; formulas, rules and sources are in polars_rank/measures/gain.py.

CREATE OR REPLACE MACRO rank._gain_fault(gain) AS
    CASE
        WHEN coalesce(gain::varchar NOT IN ('linear', 'exponential'), TRUE)
            THEN rank.main._fault(
                len([g FOR g IN map_values(try_cast(gain::varchar AS MAP (double, double))) IF g IS NULL]) = 0,
                'gain must be one of ''linear'', ''exponential'' or a MAP of grades to gains',
                gain
            )
    END;

-- The grade, or what a MAP puts in its place.
CREATE OR REPLACE MACRO rank._mapped(relevance, gain) AS
    CASE
        WHEN gain::varchar IN ('linear', 'exponential') THEN relevance::double
        ELSE coalesce(try_cast(gain::varchar AS MAP (double, double))[relevance::double], relevance::double)
    END;

CREATE OR REPLACE MACRO rank._gains(relevance, gain) AS
    CASE
        WHEN gain::varchar IN ('linear', 'exponential') THEN relevance > 0
        ELSE rank.main._mapped(relevance, gain) > 0
    END
    AND rank.main._is_number(relevance);

CREATE OR REPLACE MACRO rank._amount(mapped, gain) AS
    CASE gain::varchar WHEN 'exponential' THEN 2.0::double ^ mapped - 1 ELSE mapped END;

CREATE OR REPLACE MACRO rank._dcg(rank, relevance, k, gain) AS
    -- CASE within sum, not FILTER: an argument of a filtered sum is computed for every row.
    coalesce(
        sum(
            CASE
                WHEN rank.main._returned(rank, k) AND rank.main._gains(relevance, gain)
                    THEN rank.main._amount(rank.main._mapped(relevance, gain), gain) / log2(rank::double + 1)
            END
        ),
        0.0
    )::double;

-- Grades that gain, in no order; `counts` chooses rows.
CREATE OR REPLACE MACRO rank._gaining(relevance, k, gain, counts) AS
    CASE
        WHEN gain::varchar NOT IN ('linear', 'exponential')
            THEN [
                g FOR g IN [
                    rank.main._mapped(g, gain) FOR g IN list(relevance) FILTER (relevance::double <= 'inf'::double AND counts)
                ]
                IF g > 0
            ]
        -- Ten are kept as rows come; one whole list serves all deeper cutoffs.
        WHEN k <= 10 THEN (max(relevance, 10) FILTER (rank.main._gains(relevance, gain) AND counts))::double[]
        ELSE (list(relevance) FILTER (rank.main._gains(relevance, gain) AND counts))::double[]
    END;

CREATE OR REPLACE MACRO rank._ideal_dcg(relevance, k, gain, counts) AS
    coalesce(
        list_sum([
            rank.main._amount(g, gain) / log2(i + 1)
            FOR g, i IN list_slice(
                list_sort(rank.main._gaining(relevance, k, gain, counts), 'DESC'), 1, least(coalesce(k, 1e18), 1e18)::bigint
            )
        ]),
        0.0
    )::double;

-- Sum of 1 / ln(i) for i from 2 to m. From 1000 on by Euler and Maclaurin: 0.3339... is Euler's constant plus the limit
-- of the sum less li(m), and ln(x) + sum of x^n / (n n!) is li(e^x) less Euler's constant. From x = 44 on, so many terms
-- are needed that the asymptotic series e^x / x * sum of n! / x^n is better. The error is below 1e-14 of the sum.
CREATE OR REPLACE MACRO rank._sum_of_inverse_logs(m) AS
    CASE
        WHEN m < 1000 THEN list_sum([1 / ln(i) FOR i IN range(2, least(m, 1000)::bigint + 1)])
        ELSE
            1 / (2 * ln(m)) - 1 / (12 * m * ln(m) ^ 2)
            + CASE
                WHEN ln(m) < 44
                    THEN 0.33397732201055210519::double + ln(ln(m)) + list_sum([ln(m) ^ n / n / gamma(n + 1) FOR n IN range(1, 160)])
                ELSE m * list_sum([gamma(n) / ln(m) ^ n FOR n IN range(1, 44)])
            END
    END;

-- DCG of as many items of gain 1.
CREATE OR REPLACE MACRO rank._discounts(items) AS
    ln(2) * rank.main._sum_of_inverse_logs(items::double + 1);

CREATE OR REPLACE MACRO rank.dcg(rank, relevance, k := NULL, gain := 'linear') AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._gain_fault(gain)),
        rank.main._dcg(rank, relevance, k, gain)
    );

CREATE OR REPLACE MACRO rank.ideal_dcg(relevance, k := NULL, gain := 'linear') AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._gain_fault(gain)),
        rank.main._ideal_dcg(relevance, k, gain, TRUE)
    );

CREATE OR REPLACE MACRO rank.ndcg(
    rank, relevance, k := NULL, gain := 'linear', ideal := 'judged', empty := 0.0
) AS
    rank.main._checked(
        coalesce(
            rank.main._k_fault(k),
            rank.main._gain_fault(gain),
            rank.main._word_fault('ideal', ideal, ['judged', 'list', 'k']),
            rank.main._empty_fault(empty)
        ),
        rank.main._unless_empty(
            rank.main._gains(relevance, gain),
            empty,
            coalesce(
                rank.main._dcg(rank, relevance, k, gain)
                / nullif(
                    CASE
                        WHEN ideal = 'k'
                            THEN
                                max(CASE
                                    WHEN rank.main._gains(relevance, gain)
                                        THEN rank.main._amount(rank.main._mapped(relevance, gain), gain)
                                END)
                                -- Not count: see _unless_empty.
                                * rank.main._discounts(coalesce(k, sum(CASE WHEN rank.main._returned(rank) THEN 1 END)))
                        -- Cast, so that no part of the test is shared with that of the DCG, where CASE stops early.
                        ELSE rank.main._ideal_dcg(relevance, k, gain, ideal != 'list' OR rank.main._returned(rank::double))
                    END,
                    0.0
                ),
                0.0
            )
        )
    );
