"""The manifest: what a run is, so that anyone can tell whether two runs may be compared.

It is written before the first shard and never changed. Some of its fields change numbers, and must
be equal for a run to be resumed or merged; the others are for readers.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict, astuple, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headscope.errors import RunError, SettingsError, in_one_line
from headscope.runs.files import is_there, read_json, write_whole
from headscope.runs.gate_records import GateRecord, StudyRecord, gate_records, study_record
from headscope.runs.records import (
    SHA256,
    CorpusRecord,
    ModelRecord,
    SiteRecord,
    corpus_record,
    model_record,
    package_versions,
)
from headscope.settings import Settings

__all__ = ["SCHEMA", "CorpusRecord", "Manifest", "ModelRecord", "SiteRecord", "differences"]

SCHEMA = 4
"""The version of the run format that is written: docs/run-format.md says what changed when."""
READABLE = (1, 2, 3, 4)
"""The versions that are read. Older runs can be opened and merged, but not resumed: new shards
would be of another version than the manifest says."""
RECEIPTS_SINCE = 3
"""The first version whose receipts name their run, and whose measures are defined as now."""
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
    gates: tuple[GateRecord, ...] = ()
    """The heads that were gated; none in most runs, and in all older ones."""
    study: StudyRecord | None = None
    """What was measured instead of a run, if the folder holds a study."""

    @property
    def shards(self) -> int:
        """Number of shards of the finished run."""
        return len(self.corpus.window_hashes)

    @property
    def columns_version(self) -> int:
        """The version of the shards' columns: only runs of one such version can be merged."""
        return max(self.schema, 2)  # version 2 added no columns

    @property
    def stacks(self) -> tuple[str, ...]:
        """The attention stacks of the model, in its own order."""
        return tuple(dict.fromkeys(site.stack for site in self.model.sites))

    def stack_shape(self, stack: str) -> tuple[list[int], int]:
        """The layer numbers of a stack, and the number of heads of its widest layer."""
        sites = [site for site in self.model.sites if site.stack == stack]
        return [site.layer for site in sites], max(site.heads for site in sites)

    def layers_of(self, stack: str) -> int:
        """Number of layers of a stack, measured or not; in older runs, the last one measured."""
        last = max(self.stack_shape(stack)[0])
        return (self.model.stack_layers or {}).get(stack, last)

    def reads_shifted(self, stack: str) -> bool:
        """Whether a stack reads the window after a start token: decoders of encoder-decoders."""
        return reads_shifted(self.stacks, stack)

    @property
    def digest(self) -> str:
        """SHA-256 over all that decides the numbers of the run: receipts name it.

        Weights tell the trained model from an untrained one, and untrained ones of different seeds
        from each other. A new setting changes the digest of every run: raise `SCHEMA` with it.
        """
        corpus = self.corpus
        decisive = {
            "identity": _identity(self),
            "corpus": [corpus.hash, corpus.window_hashes, corpus.shard_texts],
        }
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def write(self, folder: Path, *, within: Path | None = None) -> None:
        """Put the manifest into a run folder.

        Args:
            folder: The run folder.
            within: The run folder that this one lies in, if any.
        """
        values = asdict(self) | {"settings": self.settings.to_json()}
        text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
        write_whole(folder / FILE_NAME, text.encode(), within=within or folder)

    @classmethod
    def read(cls, folder: Path, *, within: Path | None = None) -> "Manifest":
        """The manifest of a run folder.

        Args:
            folder: The run folder.
            within: The run folder that this one lies in, if any.
        """
        path = folder / FILE_NAME
        if not is_there(path, within=within or folder):
            raise RunError(f"{folder} is not a run: it has no {FILE_NAME}; make one with analyze")
        values = read_json(path, within=within or folder)
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
        if not (isinstance(created, str) and isinstance(notes, dict) and type(threads) is int):
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
            gates=gate_records(values.get("gates", [])),
            study=study_record(values.get("study")),
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


def computing_packages() -> dict[str, str]:
    """The versions of the packages that can change numbers."""
    names = ("headscope", "torch", "transformers", "tokenizers", "nupunkt")
    return {name: version(name) for name in names}


def differences(one: Manifest, other: Manifest, *, corpus: bool, weights: bool = True) -> list[str]:
    """The fields that change numbers and differ, as `field: one / other`.

    Args:
        one: A manifest.
        other: Another.
        corpus: Whether the corpus must be the same.
        weights: Whether the weights must be the same.
    """
    ours, theirs = _identity(one), _identity(other)
    if corpus:
        ours |= {"corpus": one.corpus.hash, "windows": one.corpus.windows}
        theirs |= {"corpus": other.corpus.hash, "windows": other.corpus.windows}
    return [
        f"{name}: {_brief(ours.get(name))} / {_brief(theirs.get(name))}"
        for name in ours | theirs
        if ours.get(name) != theirs.get(name) and (weights or name != "model weights")
    ]


def _identity(manifest: Manifest) -> dict[str, Any]:
    """The fields that change numbers, apart from the corpus."""
    model = manifest.model
    return {
        "model architecture": model.architecture,
        "model weights": model.weights_hash,
        "tokenizer": model.tokenizer_hash,
        "dtype": model.dtype,
        "heads": [(site.stack, site.layer, site.heads) for site in model.sites],
        **{f"setting {name}": value for name, value in manifest.settings.to_json().items()},
        **{f"package {name}": number for name, number in sorted(manifest.packages.items())},
        # Only where there are any, so that the digests of other runs stay what they were.
        **({"study": asdict(manifest.study)} if manifest.study else {}),
        **({"gates": [list(astuple(gate)) for gate in manifest.gates]} if manifest.gates else {}),
    }


def _brief(value: Any) -> str:
    """A value as it is shown to people: of a digest, the first digits."""
    text = str(value)
    return text[:12] if SHA256.fullmatch(text) else text[:200]
