"""The manifest: what a run is, so that anyone can tell whether two runs may be compared.

It is written before the first shard and never changed. Some of its fields change numbers, and must
be equal for a run to be resumed or merged; the others are for readers.
"""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headscope.errors import RunError, SettingsError, in_one_line
from headscope.runs.files import read_json, write_whole
from headscope.runs.records import (
    CorpusRecord,
    ModelRecord,
    SiteRecord,
    corpus_record,
    model_record,
    package_versions,
)
from headscope.settings import Settings

__all__ = ["SCHEMA", "CorpusRecord", "Manifest", "ModelRecord", "SiteRecord", "differences"]

SCHEMA = 2
"""The version of the run format that is written: docs/run-format.md says what changed when."""
READABLE = (1, 2)
"""The versions that are read. Older runs can be opened and merged, but not resumed: new shards
would be of another version than the manifest says."""
FILE_NAME = "manifest.json"


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

    def stack_shape(self, stack: str) -> tuple[list[int], int]:
        """The layer numbers of a stack, and the number of heads of its widest layer."""
        sites = [site for site in self.model.sites if site.stack == stack]
        return [site.layer for site in sites], max(site.heads for site in sites)

    def reads_shifted(self, stack: str) -> bool:
        """Whether a stack reads the window after a start token: decoders of encoder-decoders."""
        return reads_shifted(self.stacks, stack)

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
        values = read_json(path)
        _refuse_unreadable(path, values.get("schema"))
        try:
            return cls._from_json(values)
        except (KeyError, TypeError, ValueError, SettingsError) as error:
            raise RunError(
                f"{path} is damaged: {in_one_line(error)}; take a whole copy of the run, or "
                "analyse the corpus again"
            ) from error

    @classmethod
    def _from_json(cls, values: dict[str, Any]) -> "Manifest":
        created, notes = values["created"], values.get("notes", {})
        threads = values["threads"]
        if not (isinstance(created, str) and isinstance(notes, dict) and isinstance(threads, int)):
            raise ValueError("created, notes or threads: of a wrong type")
        return cls(
            model=model_record(values["model"]),
            corpus=corpus_record(values["corpus"]),
            settings=Settings.from_json(values["settings"]),
            packages=package_versions(values["packages"]),
            created=created,
            threads=threads,
            schema=values["schema"],
            notes=notes,
        )


def reads_shifted(stacks: Collection[str], stack: str) -> bool:
    """Whether a stack of a model reads the window after a start token, one place to the right.

    The decoder of an encoder-decoder does, in its own attention and in its queries across.
    """
    return "encoder" in stacks and stack in ("decoder", "cross")


def _refuse_unreadable(path: Path, schema: object) -> None:
    if schema in READABLE and type(schema) is int:
        return
    if isinstance(schema, int) and schema > SCHEMA:
        raise RunError(
            f"{path} has schema {schema}, this version of headscope reads up to {SCHEMA}; open it "
            "with a newer headscope: pip install --upgrade headscope"
        )
    raise RunError(
        f"{path} is not a manifest of headscope: its schema is {str(schema)[:20]}; make a run with "
        "analyze"
    )


def differences(one: Manifest, other: Manifest, *, corpus: bool) -> list[str]:
    """The fields that change numbers and differ, as `field: one / other`.

    With `corpus`, the corpus must be the same, too.
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
