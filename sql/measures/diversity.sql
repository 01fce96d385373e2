-- Diversity measures; formulas, rules and sources are in polars_rank/measures/diversity.py.

CREATE OR REPLACE MACRO rank._num_subtopics(relevance, subtopic, min_relevance) AS
    count(DISTINCT CASE WHEN rank.main._relevant(relevance, min_relevance) THEN subtopic END);

-- Places that are read: k, or as many as items were returned.
CREATE OR REPLACE MACRO rank._num_places(rank, k) AS
    coalesce(k::double, count(DISTINCT CASE WHEN rank.main._returned(rank) THEN rank END));

-- In a list sorted by topic and place, a topic's items are a run: from the place where the topic changes to the next
-- such place. Each item gets the number of items of its topic and how many of them are above it.
CREATE OR REPLACE MACRO rank._within_topics(found) AS
    [
        flatten([
            [
                [
                    struct_pack(place := x['found'][start + above]['place'], above := above, items := items)
                    FOR above IN range(items)
                ]
                FOR items IN [coalesce(x['starts'][run + 1], len(x['found']) + 1) - start]
            ][1]
            FOR start, run IN x['starts']
        ])
        FOR x IN [
            [
                struct_pack(
                    found := row,
                    starts := [i FOR item, i IN row IF item['topic'] IS DISTINCT FROM row[i - 1]['topic']]
                )
                FOR row IN [list_sort(found)]
            ][1]
        ]
    ][1];

-- Relevant items in the top k of a ranking, with how many of their subtopic are above.
CREATE OR REPLACE MACRO rank._novel(rank, relevance, subtopic, k, min_relevance) AS
    rank.main._within_topics(
        list(struct_pack(topic := subtopic, place := rank::double)) FILTER (
            subtopic IS NOT NULL AND rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank, k)
        )
    );

-- The novelty of a ranking, discounted by the logarithm of the place, by the place, and by a power.
CREATE OR REPLACE MACRO rank._novel_dcg(rank, relevance, subtopic, k, alpha, min_relevance) AS
    list_sum([
        (1 - alpha::double) ^ x['above'] / log2(x['place'] + 1)
        FOR x IN rank.main._novel(rank, relevance, subtopic, k, min_relevance)
    ]);

CREATE OR REPLACE MACRO rank._novel_err(rank, relevance, subtopic, k, alpha, min_relevance) AS
    list_sum([
        (1 - alpha::double) ^ x['above'] / x['place']
        FOR x IN rank.main._novel(rank, relevance, subtopic, k, min_relevance)
    ]);

CREATE OR REPLACE MACRO rank._novel_rbp(rank, relevance, subtopic, persistence, alpha, min_relevance) AS
    list_sum([
        (1 - alpha::double) ^ x['above'] * persistence::double ^ (x['place'] - 1)
        FOR x IN rank.main._novel(rank, relevance, subtopic, NULL, min_relevance)
    ]);

-- Nothing out of nothing is 0.
CREATE OR REPLACE MACRO rank._share(gained, most) AS
    coalesce(gained / nullif(most, 0), 0.0)::double;

CREATE OR REPLACE MACRO rank._novelty_fault(k, alpha, min_relevance) AS
    coalesce(
        rank.main._k_fault(k),
        rank.main._share_fault('alpha', alpha),
        rank.main._min_relevance_fault(min_relevance)
    );

CREATE OR REPLACE MACRO rank.alpha_dcg(rank, relevance, subtopic, k := NULL, alpha := 0.5, min_relevance := 1) AS
    rank.main._checked(
        rank.main._novelty_fault(k, alpha, min_relevance),
        rank.main._share(
            rank.main._novel_dcg(rank, relevance, subtopic, k, alpha, min_relevance),
            rank.main._num_subtopics(relevance, subtopic, min_relevance) * list_sum([
                (1 - alpha::double) ^ (i - 1) / log2(i + 1)
                FOR i IN range(1, rank.main._num_places(rank, k)::bigint + 1)
            ])
        )
    );

CREATE OR REPLACE MACRO rank.alpha_ndcg(
    rank, relevance, subtopic, ideal_rank, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    rank.main._checked(
        rank.main._novelty_fault(k, alpha, min_relevance),
        rank.main._share(
            rank.main._novel_dcg(rank, relevance, subtopic, k, alpha, min_relevance),
            rank.main._novel_dcg(ideal_rank, relevance, subtopic, k, alpha, min_relevance)
        )
    );

CREATE OR REPLACE MACRO rank.err_ia(rank, relevance, subtopic, k := NULL, alpha := 0.5, min_relevance := 1) AS
    rank.main._checked(
        rank.main._novelty_fault(k, alpha, min_relevance),
        rank.main._share(
            rank.main._novel_err(rank, relevance, subtopic, k, alpha, min_relevance),
            rank.main._num_subtopics(relevance, subtopic, min_relevance) * list_sum([
                (1 - alpha::double) ^ (i - 1) / i
                FOR i IN range(1, rank.main._num_places(rank, k)::bigint + 1)
            ])
        )
    );

CREATE OR REPLACE MACRO rank.nerr_ia(
    rank, relevance, subtopic, ideal_rank, k := NULL, alpha := 0.5, min_relevance := 1
) AS
    rank.main._checked(
        rank.main._novelty_fault(k, alpha, min_relevance),
        rank.main._share(
            rank.main._novel_err(rank, relevance, subtopic, k, alpha, min_relevance),
            rank.main._novel_err(ideal_rank, relevance, subtopic, k, alpha, min_relevance)
        )
    );

CREATE OR REPLACE MACRO rank.nrbp(
    rank, relevance, subtopic, persistence := 0.5, alpha := 0.5, min_relevance := 1
) AS
    rank.main._checked(
        coalesce(rank.main._persistence_fault(persistence), rank.main._novelty_fault(NULL, alpha, min_relevance)),
        rank.main._share(
            (1 - (1 - alpha::double) * persistence::double)
            * rank.main._novel_rbp(rank, relevance, subtopic, persistence, alpha, min_relevance),
            rank.main._num_subtopics(relevance, subtopic, min_relevance)
        )
    );

CREATE OR REPLACE MACRO rank.nnrbp(
    rank, relevance, subtopic, ideal_rank, persistence := 0.5, alpha := 0.5, min_relevance := 1
) AS
    rank.main._checked(
        coalesce(rank.main._persistence_fault(persistence), rank.main._novelty_fault(NULL, alpha, min_relevance)),
        rank.main._share(
            rank.main._novel_rbp(rank, relevance, subtopic, persistence, alpha, min_relevance),
            rank.main._novel_rbp(ideal_rank, relevance, subtopic, persistence, alpha, min_relevance)
        )
    );

CREATE OR REPLACE MACRO rank.ap_ia(rank, relevance, subtopic, min_relevance := 1) AS
    rank.main._checked(
        rank.main._min_relevance_fault(min_relevance),
        rank.main._share(
            list_sum([
                (x['above'] + 1) / x['place'] / x['items']
                FOR x IN rank.main._within_topics(
                    list(struct_pack(
                        topic := subtopic,
                        place := CASE WHEN rank.main._returned(rank) THEN rank::double ELSE 'inf' END
                    )) FILTER (subtopic IS NOT NULL AND rank.main._relevant(relevance, min_relevance))
                )
            ]),
            rank.main._num_subtopics(relevance, subtopic, min_relevance)
        )
    );

CREATE OR REPLACE MACRO rank.p_ia(rank, relevance, subtopic, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        rank.main._novelty_fault(k, 0, min_relevance),
        rank.main._share(
            count(CASE
                WHEN rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank, k) THEN subtopic
            END),
            rank.main._num_subtopics(relevance, subtopic, min_relevance) * rank.main._num_places(rank, k)
        )
    );

CREATE OR REPLACE MACRO rank.subtopic_recall(rank, relevance, subtopic, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        rank.main._novelty_fault(k, 0, min_relevance),
        rank.main._share(
            count(DISTINCT CASE
                WHEN rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank, k) THEN subtopic
            END),
            rank.main._num_subtopics(relevance, subtopic, min_relevance)
        )
    );
