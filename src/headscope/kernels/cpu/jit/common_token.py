"""The token that most pairs of a head have in common, and how many lie in its context (compiled).

Given the pairs of the run's own rule, one after the other; gives the common token of a head and a
window. Pairs of one token with itself are set aside.
"""

from typing import Any

from headscope.kernels.cpu.jit.decorators import inner
from headscope.kernels.cpu.jit.layout import Ints, Task, Truths

CONTEXT_TOKENS = 5
"""A token lies in the context of another one if it is at most this far from an occurrence of it."""


@inner
def count_distinct(
    i: int, j: int, first: Ints, counted: Truths, partners: Ints, near: Ints
) -> None:
    """Count a pair for both of its tokens, at their first places, unless they are one token.

    `partners` counts pairs; `near` counts those whose other element lies in the token's context.
    """
    one, other = first[i], first[j]
    if one == other:
        return
    partners[one] += 1
    partners[other] += 1
    near[one] += _occurs_around(one, j, first, counted)
    near[other] += _occurs_around(other, i, first, counted)


@inner
def _occurs_around(token: int, place: int, first: Ints, counted: Truths) -> Any:
    """1 if a token, named by its first place, occurs in the context of a place; else 0."""
    found = False
    for k in range(max(0, place - CONTEXT_TOKENS), min(len(first), place + CONTEXT_TOKENS + 1)):
        found |= (first[k] == token) & counted[k]
    return 1 if found else 0


@inner
def find_common(window: int, head: int, task: Task) -> None:
    """Write the token that is in the most pairs, the first among equals, and its counts."""
    partners, row = task.scratch.partners, task.outputs.common[window, head]
    most, common = 0, -1
    for place in range(len(partners)):
        if partners[place] > most:
            most, common = partners[place], place
    row[0], row[1] = common, most
    row[2] = task.scratch.near[common] if common >= 0 else 0
