-- Which rows count, as in polars_rank/measures/rows.py: pieces that the macros share. Each is called with catalogue and
-- schema, rank.main._returned(…): such a call is found under any USE, and a column called rank does not hide it. `install`
-- writes the names of the place it installs to.

-- NaN is greater than any number, so it is kept out by <= 'inf'. Whole numbers know no NaN: their type is known to the
-- planner, which leaves out the comparison and with it the cast of every row.
-- A null may pass: this stands beside a comparison, which it fails.
CREATE OR REPLACE MACRO rank._is_number(x) AS
    typeof(x) LIKE '%INT%' OR x::double <= 'inf'::double;

CREATE OR REPLACE MACRO rank._returned(rank, k := NULL) AS
    rank >= 1 AND CASE WHEN k IS NULL THEN rank.main._is_number(rank) ELSE rank <= k END;

-- With _relevant(relevance, 0): judged.
CREATE OR REPLACE MACRO rank._relevant(relevance, min_relevance) AS
    relevance >= min_relevance AND rank.main._is_number(relevance);

-- CASE within count, not FILTER: see dcg.
CREATE OR REPLACE MACRO rank._num_returned(rank, k := NULL) AS
    count(CASE WHEN rank.main._returned(rank, k) THEN 1 END);

CREATE OR REPLACE MACRO rank._num_relevant(relevance, min_relevance) AS
    count(CASE WHEN rank.main._relevant(relevance, min_relevance) THEN 1 END);

-- Relevant items returned at a rank of at most k.
CREATE OR REPLACE MACRO rank._hits(rank, relevance, k, min_relevance) AS
    count(CASE WHEN rank.main._relevant(relevance, min_relevance) AND rank.main._returned(rank, k) THEN 1 END);

-- `empty` where no row is relevant; the value is 0 there already. A constant empty := 0.0 lets the planner drop the test.
-- Not a count: dropped beside other aggregates, it ends a correlated subquery in an internal error of DuckDB.
CREATE OR REPLACE MACRO rank._unless_empty(is_relevant, empty, value) AS
    CASE
        WHEN NOT coalesce(try_cast(empty AS double) = 0, FALSE) AND NOT coalesce(bool_or(is_relevant), FALSE) THEN empty::double
        ELSE value
    END;

-- A grade above max_relevance anywhere in the group: the value is NaN, never a plausible number.
CREATE OR REPLACE MACRO rank._nan_above(relevance, max_relevance, value) AS
    CASE
        WHEN coalesce(bool_or(relevance::double > max_relevance AND rank.main._is_number(relevance)), FALSE)
            THEN 'nan'::double
        ELSE value
    END;

-- From the next place on, decay ^ (place - 1) is 0 in floating point.
CREATE OR REPLACE MACRO rank._places_above_zero(decay) AS
    CASE WHEN decay = 0 THEN 1 WHEN decay = 1 THEN 'inf'::double ELSE ceil(746 / -ln(decay::double)) END;
