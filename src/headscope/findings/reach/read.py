"""A finished reach study, read from its folder: it needs no model, and nothing is trusted."""

import re
from itertools import pairwise

import numpy as np

from headscope.errors import RunError
from headscope.findings.reach.evidence import GROUPS, VARIANTS, ReachEvidence
from headscope.findings.reach.places import repeat_distances
from headscope.findings.reach.result import ReachResult
from headscope.findings.study_in_run import (
    Arrays,
    refuse_unfinished,
    study_in_run,
    study_shard,
)
from headscope.runs.folder import RunFolder

IN_RUN = "reach"
"""The folder of a run that holds the reach study of the same model, if there is one."""

_AGAIN = "give the same reach command again"
_SIMILARITY = r"(intact|spliced|shuffled|untrained_\d{1,9}/(intact|spliced))"
_REPEATS = r"repeats_(again|before)"


def reach_of_run(run: RunFolder) -> ReachResult | None:
    """The finished reach study in a run folder; None if there is none.

    Args:
        run: The run. A study of another model in its folder is refused.
    """
    study = study_in_run(run, IN_RUN)
    return None if study is None else read_reach(study)


def read_reach(run: RunFolder) -> ReachResult:
    """What a finished reach study found, once its files are shown to fit its manifest.

    Args:
        run: The folder of the study.
    """
    refuse_unfinished(run, "reach")
    manifest = run.manifest
    assert manifest.study is not None
    window = manifest.settings.window_tokens
    edges = _edges(run, manifest.study.settings.get("distances"), window)
    stack = manifest.stacks[0]
    heads = [
        (stack, site.layer, head)
        for site in manifest.model.sites
        if site.stack == stack
        for head in range(1, site.heads + 1)
    ]
    shapes = _Shapes(len(heads), len(edges) - 1, len(repeat_distances(window)))
    shards = [study_shard(run, number, IN_RUN, shapes.fit) for number in range(manifest.shards)]
    names = set(shards[0][1])
    if any(set(arrays) != names for _, arrays in shards) or not shapes.needed <= names:
        raise RunError(f"{run.shards.folder} has shards that do not fit each other; {_AGAIN}")
    evidence = ReachEvidence.of_windows(
        heads,
        edges,
        window,
        np.concatenate([windows for windows, _ in shards]),
        {name: np.concatenate([arrays[name] for _, arrays in shards]) for name in sorted(names)},
    )
    about = {
        "folder": str(run.path),
        "model": manifest.model.name,
        "corpus": list(manifest.corpus.sources),
        "window": window,
        "documents": 2 * evidence.units,
        "seed": manifest.settings.seed,
        "distances": list(edges),
        "left_out": len(run.left_out),
    }
    return ReachResult(evidence, about)


def _edges(run: RunFolder, text: object, window: int) -> tuple[int, ...]:
    parts = text.split(",") if isinstance(text, str) else []
    edges = tuple(int(part) for part in parts if re.fullmatch(r"[0-9]{1,9}", part))
    rising = all(low < high for low, high in pairwise(edges))
    if len(edges) != len(parts) or len(edges) < 2 or not rising or not 1 <= edges[0] < edges[-1]:
        raise RunError(f"{run.path}: its distances are damaged; take a whole copy of the study")
    if edges[-1] > window:
        raise RunError(f"{run.path}: its distances exceed its windows; take a whole copy of it")
    return edges


class _Shapes:
    """The shape of each array of a study for one window, by name."""

    needed = frozenset(
        f"{name}/{kind}" for name in ("intact", "spliced") for kind in ("sums", "counts")
    )

    def __init__(self, rows: int, bins: int, distances: int) -> None:
        self._known = {
            rf"{_SIMILARITY}/sums": (len(VARIANTS), len(GROUPS), rows, bins),
            rf"{_SIMILARITY}/counts": (len(GROUPS), bins),
            r"use/(change|size)": (rows, bins),
            r"(use|loss)/tokens": (bins,),
            r"loss/increase": (bins,),
            rf"{_REPEATS}/(change|size)": (rows, distances),
            rf"{_REPEATS}/tokens": (distances,),
            r"repeats_attention/(first|control)": (rows, distances),
        }

    def fit(self, arrays: Arrays, windows: int) -> bool:
        """Whether arrays have known names, and the shapes that this number of windows gives."""
        return all(
            (shape := self._of(name)) is not None and values.shape == (windows, *shape)
            for name, values in arrays.items()
        )

    def _of(self, name: str) -> tuple[int, ...] | None:
        """The shape; None for a name that no study has."""
        return next((s for known, s in self._known.items() if re.fullmatch(known, name)), None)
