"""A finished lens study in the folder of a run: it needs no model, and nothing is trusted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.errors import RunError
from headscope.findings.lens.head_table import read_head_table
from headscope.findings.study_in_run import refuse_unfinished, study_in_run
from headscope.runs.files import read_json
from headscope.runs.folder import RunFolder

IN_RUN = "lens"
"""The folder of a run that holds the lens study of the same model, if there is one."""
RESULT = "study.json"
_OUTCOMES = ("causal", "masked", "seq2seq", "words", "distances")
_MOST_ROWS = 10_000
_LONGEST = 1000
_ENDS = ("value", "low", "high")
_OTHER_KEYS = ("stack", "layer", "unmasked", "probe")


@dataclass(frozen=True, eq=False, slots=True)
class LensInRun:
    """What a lens study found, as far as a run shows it."""

    values: Mapping[str, Any]
    """As `headscope lens --json` prints them, without heads."""
    heads: pd.DataFrame | None
    """A row per head, as in `lens.parquet`; None where heads were not switched off."""


def lens_of_run(run: RunFolder) -> LensInRun | None:
    """The finished lens study in a run folder; None if there is none.

    Args:
        run: The run. A study of another model in its folder is refused.
    """
    study = study_in_run(run, IN_RUN)
    if study is None:
        return None
    refuse_unfinished(study, "lens")
    values = read_json(study.path / RESULT, within=study.within)
    try:
        checked = _checked(values)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"{study.path / RESULT} is damaged; delete it and give the same lens command again"
        ) from error
    return LensInRun(
        checked, read_head_table(study.path, study.manifest.model, within=study.within)
    )


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """What pages show of a result; ValueError, KeyError or TypeError for anything else."""
    if values["outcome"] not in _OUTCOMES:
        raise ValueError("unknown outcome")
    linear = values.get("linear_distance")
    return {
        "model": _text(values["model"]),
        "corpus": _text(values["corpus"]),
        "outcome": values["outcome"],
        **{name: _count(values[name]) for name in ("windows", "documents", "positions")},
        "layers": [_layer(one) for one in _rows(values["layers"])],
        "by_frequency": [_bin(one) for one in _rows(values["by_frequency"])],
        "most_frequent_part": _interval(values["most_frequent_part"], optional=True),
        "linear_distance": None if linear is None else _scores(linear),
        "confused": [
            {
                "tokens": [_text(token) for token in _rows(one["tokens"])],
                "confusions": [_confusion(each) for each in _rows(one["confusions"])],
            }
            for one in _rows(values["confused"])
        ],
    }


def _layer(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"stack": _text(values["stack"]), "layer": _count(values["layer"])}
    found |= _scores(values)
    if "unmasked" in values:
        found["unmasked"] = _scores(values["unmasked"])
    if "probe" in values:
        probe = values["probe"]
        found["probe"] = _scores(probe)
        if "unmasked" in probe:
            found["probe"]["unmasked"] = _scores(probe["unmasked"])
    return found


def _scores(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those with a name of their own; readings below them are looked at by themselves."""
    return {_text(name): _interval(one) for name, one in values.items() if name not in _OTHER_KEYS}


def _bin(values: Mapping[str, Any]) -> dict[str, Any]:
    most = values["at_most"]
    return {
        "at_least": _count(values["at_least"]),
        "at_most": None if most is None else _count(most),
        "types": _count(values["types"]),
        "accuracy": [
            {"layer": _count(one["layer"]), **(_interval(one) or {})}
            for one in _rows(values["accuracy"])
        ],
    }


def _confusion(values: Mapping[str, Any]) -> dict[str, Any]:
    times, of = _count(values["times"]), _count(values["of"])
    if not 0 < times <= of:
        raise ValueError("more confusions than occurrences")
    texts = {name: _text(values[name]) for name in ("true", "taken_for")}
    return texts | {"times": times, "of": of}


def _interval(values: Any, *, optional: bool = False) -> dict[str, float | None] | None:
    if values is None and optional:
        return None
    return {end: _number(values[end]) for end in _ENDS}


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no number")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError("no count")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ValueError("no text")
    return value


def _rows(values: Any) -> list[Any]:
    if not isinstance(values, list) or len(values) > _MOST_ROWS:
        raise ValueError("no list")
    return values
