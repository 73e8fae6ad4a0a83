"""What a manifest records of the model and of the texts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteRecord:
    """One attention module of the model: a layer of a stack."""

    stack: str
    layer: int
    """From 1, within its stack."""
    name: str
    heads: int
    d_head: int
    causal: bool
    tier: str
    """How its heads were read: interface, function-mode or projection."""


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """The model of a run."""

    name: str
    architecture: str
    revision: str | None
    weights_hash: str
    tokenizer_hash: str
    dtype: str
    device: str
    parameters: int
    sites: tuple[SiteRecord, ...]
    """The attention modules that were measured."""
    residuals: dict[str, float | None]
    """What the self-check on load found, relative; None where a check does not apply."""
    flags: tuple[str, ...]
    """What holds of the head outputs but not of the model's use of them, in words."""


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """The texts of a run."""

    sources: tuple[str, ...]
    columns: dict[str, str | None]
    """Which columns of a table held text, id and label."""
    documents: int
    """Documents that were read to make the windows."""
    hash: str
    """SHA-256 over ids, texts and gold sentences of those documents."""
    windows: int
    window_hashes: tuple[str, ...]
    """SHA-256 of each file in `windows/`, one per shard."""
    shard_texts: tuple[int, ...]
    """Windows of each shard."""
    texts_asked: int | None
    """The limit that was asked for; None for the whole corpus."""
