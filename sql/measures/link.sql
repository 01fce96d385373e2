-- Link prediction; formulas, rules and sources are in polars_rank/measures/link.py.
-- A judged table has a column more than these measures take: in place of `not_found`, without its name, its grades would
-- stand in for ranks. DuckDB takes the second form of a macro for such a call, and it refuses it.
-- The linter can't parse a second form.
-- noqa: disable=PRS

CREATE OR REPLACE MACRO rank._not_found_fault(not_found) AS
    CASE
        WHEN
            count(CASE WHEN not_found::varchar NOT IN ('zero', 'skip') AND try_cast(not_found AS double) IS NULL THEN 1 END) > 0
            THEN 'not_found must be ''zero'', ''skip'', a number or a column of numbers'
    END;

CREATE OR REPLACE MACRO rank._unnamed_fault(measure, instead) AS
    (
        measure || ' takes one column, the ranks of the true answers. For a judged table use ' || instead
        || '; for ranks to take where nothing was found, name the option: not_found := ...'
    )::double;

-- The rank, or what stands in for one that was not found.
CREATE OR REPLACE MACRO rank._place(rank, not_found) AS
    CASE
        WHEN rank.main._returned(rank) THEN rank::double
        WHEN try_cast(not_found AS double) BETWEEN 1 AND 'inf'::double THEN try_cast(not_found AS double)
    END;

CREATE OR REPLACE MACRO rank._mean_of_queries(value, rank, not_found) AS
    coalesce(
        sum(value)
        / nullif(count(CASE WHEN rank.main._returned(rank) OR not_found::varchar IS DISTINCT FROM 'skip' THEN 1 END), 0),
        0.0
    )::double;

CREATE OR REPLACE MACRO rank.mean_reciprocal_rank(rank, not_found := 'zero') AS
    rank.main._checked(
        rank.main._not_found_fault(not_found),
        rank.main._mean_of_queries(1 / rank.main._place(rank, not_found), rank, not_found)
    ),
    (rank, relevance double) AS rank.main._unnamed_fault('mean_reciprocal_rank', 'reciprocal_rank(rank, relevance)'),
    (rank, relevance boolean) AS rank.main._unnamed_fault('mean_reciprocal_rank', 'reciprocal_rank(rank, relevance)');

CREATE OR REPLACE MACRO rank.hits_at_k(rank, k := NULL, not_found := 'zero') AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._not_found_fault(not_found)),
        rank.main._mean_of_queries(
            CASE WHEN rank.main._returned(rank.main._place(rank, not_found), k) THEN 1.0 END, rank, not_found
        )
    ),
    (rank, k, relevance double) AS rank.main._unnamed_fault('hits_at_k', 'success(rank, relevance, k := ...)'),
    (rank, k, relevance boolean) AS rank.main._unnamed_fault('hits_at_k', 'success(rank, relevance, k := ...)');

CREATE OR REPLACE MACRO rank.mean_rank(rank, not_found := 'zero') AS
    rank.main._checked(
        rank.main._not_found_fault(not_found),
        rank.main._mean_of_queries(rank.main._place(rank, not_found), rank, not_found)
    ),
    (rank, relevance double) AS rank.main._unnamed_fault('mean_rank', 'reciprocal_rank(rank, relevance)'),
    (rank, relevance boolean) AS rank.main._unnamed_fault('mean_rank', 'reciprocal_rank(rank, relevance)');
