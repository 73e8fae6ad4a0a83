"""What a manifest records of model and corpus, and how untrusted JSON becomes such a record.

A manifest decides how much memory is allocated, which files are opened, and how files are named. So
every value is validated: numbers have bounds, and names that become part of a path are plain
words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, cast, get_args

SampleKind = Literal["all", "random", "first"]
"""How the windows of a run were taken from its corpus."""


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
    """What the self-check noted about the model, in words."""
    stack_layers: dict[str, int] | None = None
    """Number of layers of each stack of the model, measured or not; None in runs of versions 1
    and 2."""


@dataclass(frozen=True, slots=True)
class CorpusRecord:
    """The corpus of a run."""

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
    """The maximum number of windows that was asked for; None for the whole corpus."""
    sample: SampleKind | None = None
    """How the windows were taken. This field and those below are None in runs of versions 1 and 2,
    which recorded none of them."""
    windows_available: int | None = None
    """Windows of the whole corpus; None where not all of it was tokenised."""
    documents_sampled: int | None = None
    """Documents that have windows in the run."""
    duplicates: int | None = None
    """Documents that were read and are copies of an earlier one."""
    duplicates_sampled: int | None = None
    """Documents that have windows in the run and are copies of an earlier one that has."""


MOST = 2**53
"""The largest whole number: beyond it, JSON is read differently by different programs."""
MOST_HEADS = 2**15 - 1
"""Of a layer, and layers of a stack: shards store both in 16 bits."""

_LATER_COUNTS = ("windows_available", "documents_sampled", "duplicates", "duplicates_sampled")
"""Numbers that a manifest of versions 1 and 2 does not have."""

_STACK = re.compile(r"[a-z][a-z0-9_]{0,31}")
SHA256 = re.compile(r"[0-9a-f]{64}")


def model_record(values: Any) -> ModelRecord:
    """The model of a manifest; ValueError says what is wrong with it."""
    model = _Object("model", values, ModelRecord, later=("stack_layers",))
    sites = tuple(_site(site) for site in model.items("sites"))
    if not sites:
        raise ValueError("model.sites: is empty")
    if len({(site.stack, site.layer) for site in sites}) < len(sites):
        raise ValueError("model.sites: has a layer twice")
    if any(a.stack == b.stack and a.layer > b.layer for a, b in pairwise(sites)):
        raise ValueError("model.sites: layers are not in order")
    return ModelRecord(
        name=model.text("name"),
        architecture=model.text("architecture"),
        revision=model.text_or_none("revision"),
        weights_hash=model.digest("weights_hash"),
        # A model of no text has no tokenizer.
        tokenizer_hash=model.text("tokenizer_hash") and model.digest("tokenizer_hash"),
        dtype=model.text("dtype"),
        device=model.text("device"),
        parameters=model.whole("parameters"),
        sites=sites,
        residuals=model.numbers_or_none("residuals"),
        flags=tuple(_text("model.flags", flag) for flag in model.items("flags")),
        stack_layers=_stack_layers(model.values["stack_layers"], sites),
    )


def _stack_layers(values: Any, sites: tuple[SiteRecord, ...]) -> dict[str, int] | None:
    if values is None:
        return None
    layers = _mapping("model.stack_layers", values, int)
    for stack in {site.stack for site in sites}:
        last = max(site.layer for site in sites if site.stack == stack)
        _whole(f"model.stack_layers.{stack}", layers.get(stack), last, MOST_HEADS)
    return layers


def corpus_record(values: Any) -> CorpusRecord:
    """The corpus of a manifest; ValueError says what is wrong with it."""
    corpus = _Object("corpus", values, CorpusRecord, later=("sample", *_LATER_COUNTS))
    hashes = corpus.items("window_hashes")
    if not all(isinstance(value, str) and SHA256.fullmatch(value) for value in hashes):
        raise ValueError("corpus.window_hashes: not all are SHA-256 digests")
    shard_texts = tuple(
        _whole("corpus.shard_texts", windows, 1) for windows in corpus.items("shard_texts")
    )
    windows = corpus.whole("windows", 1)
    if len(shard_texts) != len(hashes) or sum(shard_texts) != windows:
        raise ValueError("corpus: windows, window_hashes and shard_texts do not fit together")
    if not corpus.items("sources"):
        raise ValueError("corpus.sources: is empty")
    sample = corpus.text_or_none("sample")
    if sample not in (None, *get_args(SampleKind)):
        raise ValueError(f"corpus.sample: is none of {', '.join(get_args(SampleKind))}")
    return CorpusRecord(
        sources=tuple(_text("corpus.sources", source) for source in corpus.items("sources")),
        columns=corpus.mapping("columns", str | None),
        documents=corpus.whole("documents"),
        hash=corpus.digest("hash"),
        windows=windows,
        window_hashes=tuple(hashes),
        shard_texts=shard_texts,
        texts_asked=corpus.whole_or_none("texts_asked", 1),
        sample=cast("SampleKind | None", sample),
        **{name: corpus.whole_or_none(name) for name in _LATER_COUNTS},
    )


def package_versions(values: Any) -> dict[str, str]:
    """The versions of a manifest; ValueError says what is wrong with them."""
    return _mapping("packages", values, str)


def _site(values: Any) -> SiteRecord:
    site = _Object("model.sites", values, SiteRecord)
    return SiteRecord(
        # It names groups of results.nc and the files of figures.
        stack=_plain_word("model.sites.stack", site.text("stack")),
        layer=site.whole("layer", 1, MOST_HEADS),
        name=site.text("name"),
        heads=site.whole("heads", 1, MOST_HEADS),
        d_head=site.whole("d_head", 1),
        causal=site.boolean("causal"),
        tier=site.text("tier"),
    )


class _Object:
    """A JSON object with the fields of a record, neither more nor fewer.

    Fields that came `later` may be absent, and are None then.
    """

    def __init__(self, name: str, values: Any, record: type, later: tuple[str, ...] = ()) -> None:
        wanted = {field.name for field in fields(record)}
        if not isinstance(values, dict) or set(values) | set(later) != wanted:
            raise ValueError(f"{name}: is no object of {', '.join(sorted(wanted))}")
        self.name, self.values = name, dict.fromkeys(later) | values

    def text(self, field: str) -> str:
        return _text(f"{self.name}.{field}", self.values[field])

    def digest(self, field: str) -> str:
        value = self.text(field)
        if not SHA256.fullmatch(value):
            raise ValueError(f"{self.name}.{field}: is no SHA-256 digest")
        return value

    def boolean(self, field: str) -> bool:
        value = self.values[field]
        if not isinstance(value, bool):
            raise ValueError(f"{self.name}.{field}: is neither true nor false")
        return value

    def text_or_none(self, field: str) -> str | None:
        return None if self.values[field] is None else self.text(field)

    def whole(self, field: str, least: int = 0, most: int = MOST) -> int:
        return _whole(f"{self.name}.{field}", self.values[field], least, most)

    def whole_or_none(self, field: str, least: int = 0) -> int | None:
        return None if self.values[field] is None else self.whole(field, least)

    def items(self, field: str) -> list[Any]:
        values = self.values[field]
        if not isinstance(values, list):
            raise ValueError(f"{self.name}.{field}: is no list")
        return values

    def numbers_or_none(self, field: str) -> dict[str, float | None]:
        values = self.mapping(field, int | float | None)
        if any(isinstance(value, bool) for value in values.values()):
            raise ValueError(f"{self.name}.{field}: has values of a wrong type")
        return values

    def mapping(self, field: str, types: Any) -> dict[str, Any]:
        return _mapping(f"{self.name}.{field}", self.values[field], types)


def _plain_word(name: str, stack: str) -> str:
    if not _STACK.fullmatch(stack):
        raise ValueError(f"{name}: {stack[:40]!r} is no plain word")
    return stack


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: is no text")
    return value


def _whole(name: str, value: Any, least: int = 0, most: int = MOST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name}: is no whole number from {least} to {most}")
    return value


def _mapping(name: str, values: Any, types: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping) or not all(isinstance(v, types) for v in values.values()):
        raise ValueError(f"{name}: has values of a wrong type")
    return dict(values)
