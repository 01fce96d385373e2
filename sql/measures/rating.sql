-- Rating measures; formulas, rules and sources are in polars_rank/measures/rating.py.

CREATE OR REPLACE MACRO rank.mse(prediction, actual) AS
    avg((prediction::double - actual::double) ^ 2);

CREATE OR REPLACE MACRO rank.rmse(prediction, actual) AS
    sqrt(rank.main.mse(prediction, actual));

CREATE OR REPLACE MACRO rank.mae(prediction, actual) AS
    avg(abs(prediction::double - actual::double));
