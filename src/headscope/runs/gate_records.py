"""What a manifest records of gates and of studies, and how untrusted JSON becomes such a record."""

import math
from dataclasses import dataclass
from typing import Any

from headscope.runs.records import MOST_HEADS, _Object, _plain_word


@dataclass(frozen=True, slots=True)
class GateRecord:
    """A head that was gated while the run was measured."""

    stack: str
    layer: int
    head: int
    """From 1, like the layer."""
    factor: float | None
    """What its output was multiplied by; None if it was replaced."""
    replaced_by: str | None
    """SHA-256 of what it was made to write instead."""


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a folder holds instead of a run: a study, such as what each head costs."""

    name: str
    settings: dict[str, str | int | float | bool | None]
    """What changes its numbers, besides the settings that a run has."""


def gate_records(values: Any) -> tuple[GateRecord, ...]:
    """The gates of a manifest; ValueError says what is wrong with them."""
    if not isinstance(values, list):
        raise ValueError("gates: is no list")
    return tuple(_gate(value) for value in values)


def _gate(values: Any) -> GateRecord:
    gate = _Object("gates", values, GateRecord)
    factor: Any = gate.values["factor"]
    replaced_by = None if gate.values["replaced_by"] is None else gate.digest("replaced_by")
    if (factor is None) == (replaced_by is None):
        raise ValueError("gates: needs either a factor or what replaces the head")
    if factor is not None and not (type(factor) in (int, float) and math.isfinite(factor)):
        raise ValueError("gates.factor: is no finite number")
    return GateRecord(
        stack=_plain_word("gates.stack", gate.text("stack")),
        layer=gate.whole("layer", 1, MOST_HEADS),
        head=gate.whole("head", 1, MOST_HEADS),
        factor=None if factor is None else float(factor),
        replaced_by=replaced_by,
    )


def study_record(values: Any) -> StudyRecord | None:
    """The study of a manifest; ValueError says what is wrong with it."""
    if values is None:
        return None
    study = _Object("study", values, StudyRecord)
    settings = study.mapping("settings", str | int | float | bool | None)
    if any(isinstance(value, float) and not math.isfinite(value) for value in settings.values()):
        raise ValueError("study.settings: has a number that is not finite")
    return StudyRecord(_plain_word("study.name", study.text("name")), settings)
