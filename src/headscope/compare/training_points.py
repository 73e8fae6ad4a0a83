"""The step and the training that each run belongs to, from the names of folders or models."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headscope.errors import SettingsError
from headscope.run import Run

_SEED = re.compile(r"(seed[-_ ]?)(\d+)", re.IGNORECASE)
_STEP = re.compile(r"step[-_ ]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TrainingPoint:
    """A run as a checkpoint."""

    step: int
    training: int
    """Its seed, where names have one; otherwise, among the runs of a step, which of them it is."""


def points_asked(
    runs: Sequence[Run],
    steps: bool | Sequence[int],
    trainings: Sequence[int] | None,
    found: list[str],
) -> tuple[TrainingPoint, ...] | None:
    """The step and training of each run; None without steps.

    Args:
        runs: The runs.
        steps: As `compare` takes them.
        trainings: As `compare` takes them.
        found: Remarks; those about names are added.
    """
    if steps is False or (steps is not True and not steps):
        if trainings is not None:
            raise SettingsError("trainings: they are those of steps; give steps, too")
        return None
    if steps is True:
        points = training_points(runs)
        if points is None:
            points = points_of_steps(range(1, len(runs) + 1))
            found.append("no number in the names gives the steps: runs count in the order given")
    else:
        points = points_of_steps(steps)
    for name, numbers in {"steps": points, "trainings": trainings}.items():
        if numbers is not None and len(numbers) != len(runs):
            raise SettingsError(
                f"{name}: {len(numbers)} {name} for {len(runs)} runs; give one each"
            )
    if trainings is not None:
        steps_of_runs = [point.step for point in points]
        points = tuple(TrainingPoint(*one) for one in zip(steps_of_runs, trainings, strict=True))
    if len(set(points)) < len(points):
        raise SettingsError("trainings: two runs are of the same step of the same training")
    if any(point.step < 0 for point in points):
        raise SettingsError("steps: a step is negative; training begins at 0")
    return points


def points_of_steps(steps: Sequence[int]) -> tuple[TrainingPoint, ...]:
    """Runs of one step belong to different trainings, in the order given.

    >>> [point.training for point in points_of_steps([0, 0, 10, 10])]
    [0, 1, 0, 1]

    Args:
        steps: Of each run.
    """
    seen: Counter[int] = Counter()
    points = []
    for step in steps:
        points.append(TrainingPoint(step, seen[step]))
        seen[step] += 1
    return tuple(points)


def training_points(runs: Sequence[Run]) -> tuple[TrainingPoint, ...] | None:
    """The step and the seed of each run, from the names of run folders, or else of models.

    The names must be the same except for one number: `step-50`, `step-200`. Runs of several
    trainings have `seed` with another number, too, in the same name or in that of the folder
    around: `seed-0/step-50`, `tiny-seed1-step50`. None if neither kind of name is like that.

    Args:
        runs: The checkpoints of one or more trainings.
    """
    folders = [run.folder for run in runs]
    for names, around in (
        ([folder.name for folder in folders], [folder.parent.name for folder in folders]),
        ([run.manifest.model.name for run in runs], [""] * len(runs)),
    ):
        points = _points(names, around)
        if points is not None:
            return points
    return None


def _points(names: Sequence[str], around: Sequence[str]) -> tuple[TrainingPoint, ...] | None:
    found = [
        _SEED.search(name) or _SEED.search(other) for name, other in zip(names, around, strict=True)
    ]
    seeds = [0 if match is None else int(match[2]) for match in found]
    if any(match is None for match in found):
        seeds = [0] * len(names)
    bare = names if len(set(seeds)) < 2 else [_SEED.sub(r"\1", name) for name in names]
    steps = _steps(bare)
    if steps is None:
        return None
    points = tuple(TrainingPoint(*both) for both in zip(steps, seeds, strict=True))
    return points if len(set(points)) == len(points) and complete(points) else None


def _steps(names: Sequence[str]) -> list[int] | None:
    """The one number in which names differ; of equal names, the one after the word step."""
    if len({re.sub(r"\d+", "#", name) for name in names}) > 1:
        return None
    numbers = [[int(number) for number in re.findall(r"\d+", name)] for name in names]
    differing = [column for column in zip(*numbers, strict=True) if len(set(column)) > 1]
    if not differing:
        same = _STEP.search(names[0])
        return None if same is None else [int(same[1])] * len(names)
    return list(differing[0]) if len(differing) == 1 else None


def complete(points: Sequence[TrainingPoint]) -> list[int]:
    """The trainings that have a run of every step, in order.

    Args:
        points: Of all runs.
    """
    steps = {point.step for point in points}
    by_training: dict[int, set[int]] = {}
    for point in points:
        by_training.setdefault(point.training, set()).add(point.step)
    return sorted(training for training, there in by_training.items() if there == steps)
