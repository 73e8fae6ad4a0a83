"""What a manifest records of model and corpus, and how untrusted JSON becomes such a record.

A manifest decides how much memory is allocated, which files are opened, and how files are named. So
every value is validated: numbers have bounds, and names that become part of a path are plain
words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


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


MOST = 2**53
"""The largest whole number: beyond it, JSON is read differently by different programs."""
MOST_HEADS = 2**15 - 1
"""Of a layer, and layers of a stack: shards store both in 16 bits."""

_STACK = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def model_record(values: Any) -> ModelRecord:
    """The model of a manifest; ValueError says what is wrong with it."""
    model = _Object("model", values, ModelRecord)
    sites = tuple(_site(site) for site in model.items("sites"))
    if not sites:
        raise ValueError("model.sites: is empty")
    if len({(site.stack, site.layer) for site in sites}) < len(sites):
        raise ValueError("model.sites: has a layer twice")
    return ModelRecord(
        name=model.text("name"),
        architecture=model.text("architecture"),
        revision=model.text_or_none("revision"),
        weights_hash=model.text("weights_hash"),
        tokenizer_hash=model.text("tokenizer_hash"),
        dtype=model.text("dtype"),
        device=model.text("device"),
        parameters=model.whole("parameters"),
        sites=sites,
        residuals=model.mapping("residuals", int | float | None),
        flags=tuple(_text("model.flags", flag) for flag in model.items("flags")),
    )


def corpus_record(values: Any) -> CorpusRecord:
    """The corpus of a manifest; ValueError says what is wrong with it."""
    corpus = _Object("corpus", values, CorpusRecord)
    hashes = corpus.items("window_hashes")
    if not all(isinstance(value, str) and _SHA256.fullmatch(value) for value in hashes):
        raise ValueError("corpus.window_hashes: not all are SHA-256 digests")
    shard_texts = tuple(
        _whole("corpus.shard_texts", windows, 1) for windows in corpus.items("shard_texts")
    )
    windows = corpus.whole("windows", 1)
    if len(shard_texts) != len(hashes) or sum(shard_texts) != windows:
        raise ValueError("corpus: windows, window_hashes and shard_texts do not fit together")
    asked = corpus.values["texts_asked"]
    return CorpusRecord(
        sources=tuple(_text("corpus.sources", source) for source in corpus.items("sources")),
        columns=corpus.mapping("columns", str | None),
        documents=corpus.whole("documents"),
        hash=corpus.text("hash"),
        windows=windows,
        window_hashes=tuple(hashes),
        shard_texts=shard_texts,
        texts_asked=None if asked is None else _whole("corpus.texts_asked", asked, 1),
    )


def package_versions(values: Any) -> dict[str, str]:
    """The versions of a manifest; ValueError says what is wrong with them."""
    return _mapping("packages", values, str)


def _site(values: Any) -> SiteRecord:
    site = _Object("model.sites", values, SiteRecord)
    stack = site.text("stack")
    if not _STACK.fullmatch(stack):
        # It names groups of results.nc and the files of figures.
        raise ValueError(f"model.sites.stack: {stack[:40]!r} is no plain word")
    return SiteRecord(
        stack=stack,
        layer=site.whole("layer", 1, MOST_HEADS),
        name=site.text("name"),
        heads=site.whole("heads", 1, MOST_HEADS),
        d_head=site.whole("d_head", 1),
        causal=bool(site.values["causal"]),
        tier=site.text("tier"),
    )


class _Object:
    """A JSON object with the fields of a record, neither more nor fewer."""

    def __init__(self, name: str, values: Any, record: type) -> None:
        wanted = {field.name for field in fields(record)}
        if not isinstance(values, dict) or set(values) != wanted:
            raise ValueError(f"{name}: is no object of {', '.join(sorted(wanted))}")
        self.name, self.values = name, values

    def text(self, field: str) -> str:
        return _text(f"{self.name}.{field}", self.values[field])

    def text_or_none(self, field: str) -> str | None:
        return None if self.values[field] is None else self.text(field)

    def whole(self, field: str, least: int = 0, most: int = MOST) -> int:
        return _whole(f"{self.name}.{field}", self.values[field], least, most)

    def items(self, field: str) -> list[Any]:
        values = self.values[field]
        if not isinstance(values, list):
            raise ValueError(f"{self.name}.{field}: is no list")
        return values

    def mapping(self, field: str, types: Any) -> dict[str, Any]:
        return _mapping(f"{self.name}.{field}", self.values[field], types)


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
