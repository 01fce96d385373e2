-- Pieces that the macros share. Each is called with catalogue and schema, rank.main._returned(…): such a call is found
-- under any USE, and a column called rank does not hide it. `install` writes the names of the place it installs to.

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

-- Bad options. A fault is NULL or the text that refuses the value; `_checked` gives the value of the measure or raises
-- the first fault. The text is raised by a cast to double: error() is volatile, and DuckDB forbids volatile expressions
-- in an alias that is used again, in QUALIFY and in the ORDER BY of a window. For constant options nothing is left of
-- it in the plan.
CREATE OR REPLACE MACRO rank._checked(fault, value) AS
    CASE WHEN fault IS NOT NULL THEN fault::double ELSE value END;

CREATE OR REPLACE MACRO rank._fault(is_valid, rule, value) AS
    CASE WHEN NOT coalesce(is_valid, FALSE) THEN rule || ', got ' || coalesce(value::varchar, 'NULL') END;

CREATE OR REPLACE MACRO rank._k_fault(k) AS
    CASE
        WHEN k IS NOT NULL
            THEN rank.main._fault(
                try_cast(k AS double) >= 1 AND try_cast(k AS double) % 1 = 0, 'k must be a whole number of at least 1', k
            ) || '; use NULL for the whole list'
    END;

CREATE OR REPLACE MACRO rank._word_fault(option, value, words) AS
    rank.main._fault(
        list_contains(words, value::varchar),
        option || ' must be one of ''' || array_to_string(words, ''', ''') || '''',
        value
    );

CREATE OR REPLACE MACRO rank._min_relevance_fault(min_relevance) AS
    rank.main._fault(
        try_cast(min_relevance AS double) BETWEEN 0 AND 'inf'::double, 'min_relevance must be a number from 0', min_relevance
    );

CREATE OR REPLACE MACRO rank._persistence_fault(persistence) AS
    rank.main._fault(
        try_cast(persistence AS double) >= 0 AND try_cast(persistence AS double) < 1,
        'persistence must be from 0 and below 1',
        persistence
    );

CREATE OR REPLACE MACRO rank._positive_fault(option, value) AS
    rank.main._fault(
        try_cast(value AS double) > 0 AND try_cast(value AS double) < 'inf'::double,
        option || ' must be a number above 0',
        value
    );

CREATE OR REPLACE MACRO rank._share_fault(option, value) AS
    rank.main._fault(try_cast(value AS double) BETWEEN 0 AND 1, option || ' must be a number from 0 to 1', value);

CREATE OR REPLACE MACRO rank._empty_fault(empty) AS
    CASE WHEN empty IS NOT NULL THEN rank.main._fault(try_cast(empty AS double) IS NOT NULL, 'empty must be a number or NULL', empty) END;

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
-- The names in a list, in lower case: none where there is no list, and where there is something else.
CREATE OR REPLACE MACRO rank._names(names) AS
    [lower(x) FOR x IN coalesce(try_cast(names::varchar AS varchar[]), [])];

CREATE OR REPLACE MACRO rank._names_fault(option, names) AS
    CASE
        WHEN names IS NOT NULL
            THEN rank.main._fault(
                try_cast(names::varchar AS varchar[]) IS NOT NULL,
                option || ' must be a list of columns, as ' || option || ' := [''day'']',
                names
            )
    END;
