"""The web application: a page with the models, `/look`, which shows a text, and `/progress`."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict

from anyio import fail_after, to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from headscope.errors import HeadscopeError
from headscope.pages.document import as_script_data, make_page
from headscope.pages.viewer.page import viewer_payload
from headscope.serve.model_queue import BusyError, ModelQueue

MOST_BYTES = 64 * 1024
"""Maximum size of a request."""
LONGEST_S = 10
"""Maximum time for a request to arrive, in seconds."""

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def make_app(queue: ModelQueue) -> Starlette:
    """The application that answers requests with a queue.

    Args:
        queue: The models on offer.
    """
    page = make_page(
        "serve.html.jinja",
        title="headscope",
        styles=("base", "viewer", "serve"),
        script="page_serve",
        data={"models": list(queue.models), "max_tokens": queue.max_tokens},
        values={"models": list(queue.models)},
        connects=True,
    )
    policy = f"{page.policy}; frame-ancestors 'none'"

    async def show_page(_: Request) -> Response:
        headers = {"Content-Security-Policy": policy} | SAFE_HEADERS
        return HTMLResponse(page.encode(), headers=headers)

    async def show_progress(_: Request) -> Response:
        return JSONResponse(asdict(queue.doing), headers=SAFE_HEADERS)

    async def look_at(request: Request) -> Response:
        question = await _question(request)
        with queue.place():
            return await to_thread.run_sync(_answer, queue, question)

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/progress", show_progress),
            Route("/look", _answering_errors(look_at), methods=["POST"]),
        ],
        # Another site may point its own host name at this machine (DNS rebinding): refuse those.
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", "[::1]"])
        ],
    )


class RefusedError(HeadscopeError):
    """A request that cannot be answered."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def _question(request: Request) -> tuple[str, str]:
    """The model and the text of a request."""
    # A page of another site can send plain forms, but not JSON.
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise RefusedError(415, "send JSON: a model and a text")
    try:
        with fail_after(LONGEST_S):
            body = await _body(request)
    except TimeoutError as error:
        raise RefusedError(408, f"the text did not arrive within {LONGEST_S} s") from error
    try:
        values = json.loads(body)
        model, text = values["model"], values["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RefusedError(400, "send JSON: a model and a text") from error
    if not isinstance(model, str) or not isinstance(text, str) or not _is_unicode(text):
        raise RefusedError(400, "model and text must be Unicode strings")
    return model, text


def _is_unicode(text: str) -> bool:
    """Whether a text can be encoded: JSON can contain lone surrogates, which cannot."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


async def _body(request: Request) -> bytes:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise RefusedError(
                413, f"the text is too long: at most {MOST_BYTES // 1024} kB; shorten it"
            )
    return body


def _answer(queue: ModelQueue, question: tuple[str, str]) -> Response:
    answer = queue.look(*question)
    payload = viewer_payload(answer.view.matrices()) | {
        "split": asdict(answer.sentences),
        "whole_tokens": answer.tokens,
    }
    content = as_script_data(payload)
    return Response(str(content), media_type="application/json", headers=SAFE_HEADERS)


def _answering_errors(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint, with errors turned into answers that say what is wrong."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except BusyError as error:
            return _error(503, error, {"Retry-After": "2"})
        except RefusedError as error:
            return _error(error.status, error)
        except HeadscopeError as error:
            return _error(422 if error.exit_code == 2 else 500, error)
        except ClientDisconnect as error:  # nobody is there to read this
            return _error(400, error)

    return answer


def _error(status: int, error: Exception, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": str(error)}, status, headers=SAFE_HEADERS | (headers or {}))
