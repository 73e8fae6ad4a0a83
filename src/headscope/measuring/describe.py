"""The manifest of a run: what its model, windows, settings and versions are."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import torch

from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.manifest import CorpusRecord, Manifest, ModelRecord, SiteRecord
from headscope.settings import Settings

_COMPUTING_PACKAGES = ("headscope", "torch", "transformers", "tokenizers", "nupunkt")
"""Packages whose version can change numbers."""


def describe_run(
    model: LoadedModel,
    corpus: CorpusRecord,
    settings: Settings,
    sites: Sequence[AttentionSite],
) -> Manifest:
    """The manifest of the run of a model over a corpus.

    Args:
        model: What reads the windows.
        corpus: Where the windows come from.
        settings: What is measured.
        sites: Which attention layers are measured.
    """
    return Manifest(
        model=ModelRecord(
            name=model.name,
            architecture=type(model.model).__name__,
            revision=model.revision,
            weights_hash=model.weights_hash,
            tokenizer_hash=model.tokenizer.fingerprint if model.tokenizer else "",
            dtype=str(model.dtype).removeprefix("torch."),
            device=str(model.device),
            parameters=model.n_parameters,
            sites=tuple(
                SiteRecord(s.stack, s.layer, s.name, s.heads, s.d_head, s.causal, s.tier)
                for s in sites
            ),
            residuals=model.check.residuals,
            flags=model.check.flags,
            stack_layers={
                stack: max(site.layer for site in model.sites if site.stack == stack)
                for stack in model.stacks
            },
        ),
        corpus=corpus,
        settings=settings,
        packages={name: version(name) for name in _COMPUTING_PACKAGES},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        threads=torch.get_num_threads(),
    )
