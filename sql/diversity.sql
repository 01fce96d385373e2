-- Diversity measures; formulas, rules and sources are told in polars_rank/measures/diversity.py.
-- In the list sorted by subtopic and rank, an item's place less that of the first of its subtopic is how many
-- items of the subtopic stand above.

CREATE OR REPLACE MACRO rank.alpha_dcg(
    rank, relevance, subtopic, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / log2(x.place + 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1]
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END)
                    * list_sum([
                        (1 - alpha::double) ^ (i - 1) / log2(i + 1)
                        FOR i IN range(
                            1,
                            coalesce(k, count(DISTINCT CASE WHEN rank::double BETWEEN 1 AND 'inf'::double THEN rank END))::bigint + 1
                        )
                    ]),
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.alpha_ndcg(
    rank, relevance, subtopic, ideal_rank, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / log2(x.place + 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1]
                / nullif([
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / log2(x.place + 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := ideal_rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND ideal_rank >= 1 AND ideal_rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1], 0),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.err_ia(
    rank, relevance, subtopic, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / x.place
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1]
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END)
                    * list_sum([
                        (1 - alpha::double) ^ (i - 1) / i
                        FOR i IN range(
                            1,
                            coalesce(k, count(DISTINCT CASE WHEN rank::double BETWEEN 1 AND 'inf'::double THEN rank END))::bigint + 1
                        )
                    ]),
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.nerr_ia(
    rank, relevance, subtopic, ideal_rank, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / x.place
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1]
                / nullif([
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) / x.place
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := ideal_rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND ideal_rank >= 1 AND ideal_rank::double <= coalesce(k::double, 'inf'::double)
                            )
                        )
                    ]
                ][1], 0),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.nrbp(
    rank, relevance, subtopic, persistence := 0.5, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                (1 - (1 - alpha::double) * persistence::double)
                * [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) * persistence::double ^ (x.place - 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= 'inf'::double
                            )
                        )
                    ]
                ][1]
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END), 0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.nnrbp(
    rank, relevance, subtopic, ideal_rank, persistence := 0.5, alpha := 0.5, min_relevance := 1
) AS
    CASE
        WHEN NOT coalesce(persistence >= 0 AND persistence < 1, FALSE)
            THEN error('persistence must be from 0 and below 1, got ' || coalesce(persistence::varchar, 'NULL'))
        WHEN NOT coalesce(alpha BETWEEN 0 AND 1, FALSE)
            THEN error('alpha must be a number from 0 to 1, got ' || coalesce(alpha::varchar, 'NULL'))
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) * persistence::double ^ (x.place - 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND rank >= 1 AND rank::double <= 'inf'::double
                            )
                        )
                    ]
                ][1]
                / nullif([
                    list_sum([
                        (1 - alpha::double) ^ (i - list_position([y.topic FOR y IN found], x.topic)) * persistence::double ^ (x.place - 1)
                        FOR x, i IN found
                    ])
                    FOR found IN [
                        list_sort(
                            list(struct_pack(topic := subtopic, place := ideal_rank::double))
                            FILTER (
                                relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                                AND ideal_rank >= 1 AND ideal_rank::double <= 'inf'::double
                            )
                        )
                    ]
                ][1], 0),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.ap_ia(
    rank, relevance, subtopic, min_relevance := 1
) AS
    CASE
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                [
                    list_sum([
                        [
                            (i - list_position(topics, x.topic) + 1) / x.place / len([y FOR y IN topics IF y = x.topic])
                            FOR topics IN [[y.topic FOR y IN judged]]
                        ][1]
                        FOR x, i IN judged
                    ])
                    FOR judged IN [
                        list_sort(
                            list(struct_pack(
                                topic := subtopic,
                                place := CASE WHEN rank >= 1 AND rank::double <= 'inf'::double THEN rank::double ELSE 'inf' END
                            ))
                            FILTER (relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL)
                        )
                    ]
                ][1]
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END), 0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.p_ia(
    rank, relevance, subtopic, k := NULL, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                count(CASE
                    WHEN
                        relevance >= min_relevance AND relevance::double <= 'inf'::double AND subtopic IS NOT NULL
                        AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                        THEN 1
                END)
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END)
                    * coalesce(k, count(DISTINCT CASE WHEN rank::double BETWEEN 1 AND 'inf'::double THEN rank END))::bigint,
                    0
                ),
                0.0
            )::double
    END;

CREATE OR REPLACE MACRO rank.subtopic_recall(
    rank, relevance, subtopic, k := NULL, min_relevance := 1
) AS
    CASE
        WHEN k < 1 OR k % 1 != 0
            THEN error('k must be a whole number of at least 1, got ' || k || '; use NULL for the whole list')
        WHEN NOT coalesce(min_relevance BETWEEN 0 AND 'inf'::double, FALSE)
            THEN error('min_relevance must be a number from 0, got ' || coalesce(min_relevance::varchar, 'NULL'))
        ELSE
            coalesce(
                count(DISTINCT CASE
                    WHEN
                        relevance >= min_relevance AND relevance::double <= 'inf'::double
                        AND rank >= 1 AND rank::double <= coalesce(k::double, 'inf'::double)
                        THEN subtopic
                END)
                / nullif(
                    count(DISTINCT CASE WHEN relevance >= min_relevance AND relevance::double <= 'inf'::double THEN subtopic END), 0
                ),
                0.0
            )::double
    END;
