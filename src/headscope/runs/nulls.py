"""Whether the runs of untrained models inside a run belong to it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headscope.errors import RunError
from headscope.runs.manifest import Manifest, differences


def refuse_foreign_nulls(trained: Manifest, nulls: Mapping[Path, Manifest]) -> None:
    """Refuse runs of another model, of other settings or versions, and weights that occur twice.

    Args:
        trained: The manifest of the run that they are in.
        nulls: Their folders and manifests.
    """
    seen = {trained.model.weights_hash: "the trained model"}
    for path, manifest in nulls.items():
        own = trained
        if manifest.settings.permutations == 0:
            # Labels are not permuted for untrained models; before version 3, they were.
            own = replace(trained, settings=replace(trained.settings, permutations=0))
        reasons = differences(own, manifest, corpus=False, weights=False)
        if manifest.corpus.windows > trained.corpus.windows:
            reasons.append("it has more windows")
        weights = manifest.model.weights_hash
        if weights in seen:
            reasons.append(f"it has the weights of {seen[weights]}")
        if reasons:
            raise RunError(
                f"{path} belongs to another run ({'; '.join(reasons)}); delete that folder and run "
                "the same analyze command again"
            )
        seen[weights] = path.name
