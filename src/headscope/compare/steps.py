"""Training steps: runs in an order, placed by the number in their names."""

import re
from collections.abc import Sequence

from headscope.run import Run


def training_steps(runs: Sequence[Run]) -> tuple[int, ...] | None:
    """The step of each run, from the names of the run folders, or else of the models.

    The names must be alike but for one number that differs from run to run: `step-50`, `step-200`.
    None where neither the one nor the other are.
    """
    for names in ([run.folder.name for run in runs], [run.manifest.model.name for run in runs]):
        steps = _number_that_differs(names)
        if steps is not None:
            return steps
    return None


def _number_that_differs(names: Sequence[str]) -> tuple[int, ...] | None:
    numbers = [[int(number) for number in re.findall(r"\d+", name)] for name in names]
    if len({re.sub(r"\d+", "#", name) for name in names}) > 1:
        return None
    differing = [column for column in zip(*numbers, strict=True) if len(set(column)) > 1]
    if len(differing) != 1 or len(set(differing[0])) < len(names):
        return None
    return tuple(differing[0])
