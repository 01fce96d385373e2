-- Checks of options, as in polars_rank/measures/options.py.

-- A fault is NULL or the text that refuses the value; `_checked` gives the value of the measure or raises
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

-- Names of columns, in lower case: a list or one text; COLUMNS([…]) reads them when it plans.
CREATE OR REPLACE MACRO rank._names(names, otherwise := []) AS
    [
        lower(x) FOR x IN CASE
            WHEN names IS NULL THEN otherwise::varchar[]
            WHEN typeof(names) LIKE '%[]' THEN try_cast(names AS varchar[])
            ELSE [names::varchar]
        END
    ];

CREATE OR REPLACE MACRO rank._names_fault(option, names) AS
    CASE
        WHEN names IS NOT NULL
            THEN rank.main._fault(
                try_cast(names::varchar AS varchar[]) IS NOT NULL,
                option || ' must be a list of columns, as ' || option || ' := [''day'']',
                names
            )
    END;

CREATE OR REPLACE MACRO rank._switch_fault(option, value) AS
    rank.main._fault(
        list_contains(['true', 'false', '1', '0'], lower(value::varchar)), option || ' must be true or false', value
    );

-- The first name that is not among the columns; NULL if all are there.
CREATE OR REPLACE MACRO rank._missing(names, columns) AS
    [coalesce(x, 'NULL') FOR x IN rank.main._names(names) IF NOT coalesce(list_contains(columns, x), FALSE)][1];
