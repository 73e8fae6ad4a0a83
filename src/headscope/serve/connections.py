"""Connections that ask nothing give way: no number of them keeps others from being answered.

All requests come from this machine, so that clients cannot be told apart by their address. What
counts is what a connection does: while its request is on the way, or after it was answered, it may
be closed in favour of a newer one; once its request has arrived, it is answered.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""Maximum time for the headers of a request to arrive, in seconds."""
SENDING_S = 30.0
"""Maximum time for an answer to be read, once all of it is written."""


class GuardedConnection(H11Protocol):
    """A connection with limits of time and number; see uvicorn's own for the parameters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        """When it last began to wait for a request, on the loop's clock."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for headers; the connection that has waited longest gives way.

        Args:
            transport: The connection.
        """
        super().connection_made(transport)
        self._begin_to_wait()
        limit = self.limit_concurrency
        while limit is not None and len(self.connections) >= limit:
            others = [
                other
                for other in self.connections
                if isinstance(other, GuardedConnection) and other is not self and other.gives_way
            ]
            if not others:
                break  # all are being answered: this one is told that the server is busy
            min(others, key=lambda other: other.idle_since).end()

    @property
    def gives_way(self) -> bool:
        """Whether no complete request waits for its answer here."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def end(self) -> None:
        """Close the connection now, whatever is still to be sent."""
        self.connections.discard(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; the wait ends with the last of the headers.

        Args:
            data: Part of a request.
        """
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_wait()  # the time for the body is limited by who reads it

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, unless it is here already."""
        self._begin_to_wait()
        super().on_response_complete()
        if not self.cycle.response_complete:
            self._end_wait()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection; what its client does not read is dropped in the end."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(SENDING_S, self.end)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tidy up.

        Args:
            exc: Why it was lost; None if it was closed.
        """
        self._end_wait()
        super().connection_lost(exc)

    def _begin_to_wait(self) -> None:
        self._end_wait()
        self.idle_since = self.loop.time()
        self._timer = self.loop.call_later(HEADERS_S, self.end)

    def _end_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
