"""What a page says of each head of one text: its role there, its measures, where to begin."""

from typing import Any

import pandas as pd

from headscope.findings.roles import ROLES, assign_roles, role_order
from headscope.findings.striking import striking_heads
from headscope.pages.head_values import head_values, measure_facts, role_facts, shown_measures


def head_facts(heads: pd.DataFrame) -> dict[str, Any]:
    """The heads of one stack as JSON values, in the order of the table.

    `order` is the place of a head among those of its role, the clearest first. `opens` is the head
    that the page begins with, and why.

    Args:
        heads: The measures of each head on the text, as `View.heads`.
    """
    roles = assign_roles(heads)
    order = role_order(heads, roles)
    shown = shown_measures(heads)
    # On one text, traits that take the largest over tokens, such as a common token, are easily
    # complete by chance; the registry has the plainest traits first.
    plainest = [role.name for role in ROLES]
    striking = sorted(
        striking_heads(heads, most=len(ROLES)), key=lambda head: plainest.index(head.role.name)
    )[:1]
    there = heads.merge(
        roles[["layer", "head", "role", "others", "evidence"]], on=["layer", "head"]
    )
    return {
        "measures": measure_facts(shown),
        "roles": role_facts(roles),
        "facts": [
            {
                "layer": head["layer"],
                "head": head["head"],
                "role": head["role"],
                "others": head["others"],
                "evidence": head["evidence"],
                "order": place,
                "values": head_values(head, shown),
            }
            for head, place in zip(there.to_dict("records"), order, strict=True)
        ],
        "opens": [{"layer": head.layer, "head": head.head, "why": head.why} for head in striking],
    }
