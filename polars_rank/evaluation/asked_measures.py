"""The measures that a call of `evaluate` asks for: names and expressions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.core.frames import OURS
from polars_rank.evaluation.shared_plan import is_flat
from polars_rank.measures.names import Call, expand, parse

Calls = Mapping[str, Call | pl.Expr]

JUDGED_ONLY = f"{OURS}rank among judged"
"""The column with the ranks of measures that are asked for with ``judged_only=True``."""


def read_measures(
    measures: str | pl.Expr | Sequence[str | pl.Expr], convention: str | None
) -> dict[str, Call | pl.Expr]:
    """Measures by the names of their columns; a name of trec_eval may stand for several."""
    single = isinstance(measures, str | pl.Expr) or not isinstance(measures, Iterable)
    given: Any = [measures] if single else measures
    calls: dict[str, Call | pl.Expr] = {}
    for each in given:
        if not isinstance(each, str | pl.Expr):
            example = "'nDCG@10' or rank.ndcg(k=10)"
            raise TypeError(f"measures must be names or expressions, such as {example}; got {each!r}")
        texts = expand(each, convention=convention) if isinstance(each, str) else [each.meta.output_name()]
        for name in texts:
            if name in calls:
                raise ValueError(f"measures names {name!r} twice; give it once, or another .alias(...)")
            calls[name] = _of_judged_table(name, convention) if isinstance(each, str) else each
    if not calls:
        raise ValueError("measures is empty; name at least one, such as 'nDCG@10'")
    return calls


def _of_judged_table(name: str, convention: str | None) -> Call:
    """Parse a measure; refuse one that takes one row per query, since a judged table has one per item."""
    call = parse(name, convention=convention)
    if any(parameter.default is parameter.empty for parameter in call.measure.parameters.values()):
        raise ValueError(
            f"measure {name!r} takes one row a query, the rank of its answer; a judged table wants 'RR', "
            f"'success' or the like. On such rows, use the expression: rank.{call.measure.name}(\"rank\")"
        )
    return call


def columns_read(calls: Calls) -> set[str]:
    """Columns that the measures read, by the names of their arguments."""
    return {
        name
        for call in calls.values()
        for name in (call.measure.columns if isinstance(call, Call) else call.meta.root_names())
    }


def needs_judgements(call: Call | pl.Expr) -> bool:
    """Whether a ranking without a judged row has no value; expressions are recognized by their names."""
    if isinstance(call, Call):
        return call.measure.needs_judgements
    renamed = call.meta.output_name() != call.meta.undo_aliases().meta.output_name()
    names = [each.meta.output_name() for each in (call, *(call.meta.pop() if renamed else []))]
    for name in names:
        try:
            return parse(name).measure.needs_judgements
        except ValueError:
            continue
    return False


def judged_rows_suffice(call: Call | pl.Expr) -> bool:
    """Whether the judged rows and the number of returned rows are enough for the value."""
    if not isinstance(call, Call) or call.judged_only:
        return False
    return is_flat(call) or call.measure.ignores_unjudged


def expression_of(call: Call | pl.Expr, columns: Mapping[str, str]) -> pl.Expr:
    """Expression of a measure over the columns of a judged table."""
    if isinstance(call, pl.Expr):
        return call
    rank = JUDGED_ONLY if call.judged_only else columns["rank"]
    return call.expression(**{**columns, "rank": rank})
