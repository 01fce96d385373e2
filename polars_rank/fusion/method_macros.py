"""SQL macros named after the methods: each calls rank.fuse with the options that the method reads."""

import re

from polars_rank.fusion.methods import BY_SCORE, METHODS, OWN_NORMALIZATION
from polars_rank.fusion.trained import TRAINED

# Options that only some methods read; a macro lists them first, in this order.
_READ_BY = {
    "fitted": TRAINED,
    "weights": METHODS,
    "k": ("rrf",),
    "weighting": ("rrf",),
    "gamma": ("comb_gmnz",),
    "sigma": ("logn_isr",),
    "phi": ("rbc",),
    **dict.fromkeys(("normalize", "on_constant", "ddof"), {*BY_SCORE, "segfuse"} - {*OWN_NORMALIZATION}),
    "half_window": ("slidefuse",),
}


def create_method_macros(text: str) -> str:
    """CREATE statements of the macros; `text` holds that of rank.fuse, which defines the defaults."""
    (signature,) = re.findall(r"MACRO rank\.fuse\(([^()]*)\)", text)
    _runs, _method, *options = re.split(r",\s+", signature.strip())
    defaults = dict(option.split(" := ") for option in options)
    ordered = {name: defaults[name] for name in (*_READ_BY, *defaults)}
    return "\n".join(
        _method_macro(
            method, {name: ordered[name] for name in ordered if method in _READ_BY.get(name, METHODS)}
        )
        for method in METHODS
    )


def _method_macro(method: str, defaults: dict[str, str]) -> str:
    parameters = "".join(f", {name} := {default}" for name, default in defaults.items())
    passed = "".join(f", {name} := {name}" for name in defaults)
    return (
        f"CREATE OR REPLACE MACRO rank.{method}(runs{parameters}) AS TABLE "
        f"FROM rank.fuse(runs, method := '{method}'{passed});"
    )
