"""The measures of heads as data for the scripts of pages."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from headscope.findings.roles import ROLES
from headscope.measures import MEASURES, Measure
from headscope.measures.signal import SIGNAL_MEASURES, SignalMeasure


def shown_measures(heads: pd.DataFrame) -> list[Measure | SignalMeasure]:
    """The measures that at least one head of a table has.

    Args:
        heads: A column per measure.
    """
    return [
        measure
        for measure in (*MEASURES, *SIGNAL_MEASURES)
        if measure.name in heads and heads[measure.name].notna().any()
    ]


def measure_facts(measures: Sequence[Measure | SignalMeasure]) -> list[dict[str, str]]:
    """What a page says about each measure.

    Args:
        measures: In the order in which pages show them.
    """
    return [
        {
            "name": measure.name,
            "title": measure.title,
            "unit": measure.unit,
            "definition": measure.definition,
            "misleads": measure.misleads,
        }
        for measure in measures
    ]


def role_facts(roles: pd.DataFrame) -> list[dict[str, str]]:
    """What a page says about each role that a head of a table has.

    Args:
        roles: A column `role`.
    """
    return [
        {"name": role.name, "words": role.words, "meaning": role.meaning}
        for role in ROLES
        if (roles["role"] == role.name).any()
    ]


def head_values(
    head: Mapping[Hashable, Any], measures: Sequence[Measure | SignalMeasure]
) -> list[list[float | None]]:
    """Each measure of a head with its expectation.

    Args:
        head: A row of the table of heads.
        measures: Which, in order.
    """
    return [
        [json_number(head[one.name]), json_number(head.get(f"{one.name}_expected", math.nan))]
        for one in measures
    ]


def json_number(value: float) -> float | None:
    """A number for JSON, with four significant digits; None if it is not finite.

    Args:
        value: Any number.
    """
    return float(f"{value:.4g}") if math.isfinite(value) else None
