"""The manifest of a run: what its model, windows, settings and versions are."""

from collections.abc import Sequence
from datetime import UTC, datetime

import torch

from headscope.errors import SettingsError
from headscope.models.gated import fingerprint_of
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.gate_records import GateRecord, StudyRecord
from headscope.runs.manifest import (
    CorpusRecord,
    Manifest,
    ModelRecord,
    SiteRecord,
    computing_packages,
)
from headscope.settings import Settings

_NAMED = 6
"""Number of gated heads that the flag of a run names."""


def describe_run(
    model: LoadedModel,
    corpus: CorpusRecord,
    settings: Settings,
    sites: Sequence[AttentionSite],
    study: StudyRecord | None = None,
) -> Manifest:
    """The manifest of the run of a model over a corpus.

    Args:
        model: What reads the windows.
        corpus: Where the windows come from.
        settings: What is measured.
        sites: Which attention layers are measured.
        study: What is measured, in a study.
    """
    gates = describe_gates(model)
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
            flags=(*model.check.flags, *_gate_flags(gates)),
            stack_layers={
                stack: max(site.layer for site in model.sites if site.stack == stack)
                for stack in model.stacks
            },
        ),
        corpus=corpus,
        settings=settings,
        packages=computing_packages(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        threads=torch.get_num_threads(),
        gates=gates,
        study=study,
    )


def describe_gates(model: LoadedModel) -> tuple[GateRecord, ...]:
    """The gates of a model that are open here, sorted.

    Args:
        model: What is about to be run.
    """
    if len(model.open_gates) > 1:
        raise SettingsError(
            "gates: a run has the same gates for all of its texts; give one mapping, not a list"
        )
    return tuple(
        GateRecord(*head, None, fingerprint_of(gate))
        if isinstance(gate, torch.Tensor)
        else GateRecord(*head, gate, None)
        for head, gate in sorted(model.open_gates[0].items(), key=lambda item: item[0])
    )


def _gate_flags(gates: Sequence[GateRecord]) -> tuple[str, ...]:
    """A sentence for the readers of a run whose model was gated."""
    if not gates:
        return ()
    named = [
        f"{gate.stack} layer {gate.layer} head {gate.head} "
        + ("replaced" if gate.factor is None else f"times {gate.factor:g}")
        for gate in gates[:_NAMED]
    ]
    more = [f"and {len(gates) - _NAMED} more"] if len(gates) > _NAMED else []
    return (f"measured with {len(gates)} gated heads: {', '.join([*named, *more])}",)
