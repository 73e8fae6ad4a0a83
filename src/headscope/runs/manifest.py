"""The manifest: what a run is, so that anyone can tell whether two runs may be compared.

Written before the first shard and never changed after. Its fields fall in two: those that change a
number (they must be equal for a run to be resumed or merged) and those that tell a reader more.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headscope.errors import RunError, SettingsError
from headscope.runs.files import write_whole
from headscope.settings import Settings

SCHEMA = 1
FILE_NAME = "manifest.json"


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


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run is."""

    model: ModelRecord
    corpus: CorpusRecord
    settings: Settings
    packages: dict[str, str]
    """Versions of headscope and of the packages that compute."""
    created: str
    threads: int
    schema: int = SCHEMA
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def shards(self) -> int:
        """Number of shards of the finished run."""
        return len(self.corpus.window_hashes)

    @property
    def stacks(self) -> tuple[str, ...]:
        """The attention stacks of the model, in its own order."""
        return tuple(dict.fromkeys(site.stack for site in self.model.sites))

    def write(self, folder: Path) -> None:
        """Put the manifest into a run folder."""
        values = asdict(self) | {"settings": self.settings.to_json()}
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        write_whole(folder / FILE_NAME, text.encode())

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """The manifest of a run folder."""
        path = folder / FILE_NAME
        if not path.is_file():
            raise RunError(f"{folder} is not a run: it has no {FILE_NAME}; make one with analyze")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            schema = values["schema"]
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is no manifest of headscope: {error}") from error
        if schema != SCHEMA:
            raise RunError(
                f"{path} has schema {schema}, this version of headscope reads schema {SCHEMA}; "
                "open it with the version that made it, or analyse the corpus again"
            )
        try:
            return cls._from_json(values)
        except (KeyError, TypeError, ValueError, SettingsError) as error:
            raise RunError(f"{path} is damaged: {error}") from error

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> "Manifest":
        model, corpus = values["model"], values["corpus"]
        return cls(
            **values
            | {
                "settings": Settings.from_json(values["settings"]),
                "model": ModelRecord(
                    **model
                    | {
                        "sites": tuple(SiteRecord(**site) for site in model["sites"]),
                        "flags": tuple(model["flags"]),
                    }
                ),
                "corpus": CorpusRecord(
                    **corpus
                    | {
                        "sources": tuple(corpus["sources"]),
                        "window_hashes": tuple(corpus["window_hashes"]),
                        "shard_texts": tuple(corpus["shard_texts"]),
                    }
                ),
            }
        )


def differences(one: Manifest, other: Manifest, *, corpus: bool) -> list[str]:
    """The fields that change numbers and differ, as `field: one, other`; none when alike.

    With `corpus`, the texts must be the same, too.
    """
    return [
        f"{name}: {ours} / {theirs}"
        for (name, ours), (_, theirs) in zip(
            _identity(one, corpus), _identity(other, corpus), strict=True
        )
        if ours != theirs
    ]


def _identity(manifest: Manifest, corpus: bool) -> list[tuple[str, Any]]:
    model = manifest.model
    fields: list[tuple[str, Any]] = [
        ("model architecture", model.architecture),
        ("model weights", model.weights_hash[:12]),
        ("tokenizer", model.tokenizer_hash[:12]),
        ("dtype", model.dtype),
        ("heads", [(site.stack, site.layer, site.heads) for site in model.sites]),
        *((f"setting {name}", value) for name, value in manifest.settings.to_json().items()),
        *((f"package {name}", version) for name, version in sorted(manifest.packages.items())),
    ]
    if corpus:
        record = manifest.corpus
        fields += [("corpus", record.hash[:12]), ("windows", record.windows)]
    return fields
