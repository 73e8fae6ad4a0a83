"""Hostile clients of `headscope serve`: unfinished, oversized, malformed and simultaneous requests.

After each attack an honest request must still be answered, within seconds.
"""

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import uvicorn

from headscope.models.loaded import LoadedModel
from headscope.serve.app import MOST_BYTES, make_app
from headscope.serve.connections import GuardedConnection
from headscope.serve.model_queue import ModelQueue
from headscope.serve.server import HOST, MOST_CONNECTIONS
from tests.attack.case import Case
from tests.compare.tiny_bert import loaded, tiny_bert
from tests.faults.mutate import ODD_VALUES, mutated, random_text

CATEGORY = "server"
TEXT = "The cat sat on the mat. The dog, however, did not sit on it!"
HONEST_S = 10.0
"""Maximum time for an honest request, with 503 tried again as its answer says."""

Attack = Callable[[int, random.Random], None]


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many attacks on a server; the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many.
        folder: An empty folder.
    """
    _model()  # before processes are forked
    for place in range(number):
        attack = ATTACKS[place % len(ATTACKS)]
        name = f"{seed}-{place}: {attack.__name__}"
        yield Case(name, partial(_attack, attack, f"{seed}-{place}"))


@cache
def _model() -> LoadedModel:
    return loaded(tiny_bert())


def _attack(attack: Attack, seed: str) -> None:
    queue = ModelQueue({"tiny": "tiny"}, max_tokens=32)
    queue._loaded, queue._loaded_name = _model(), "tiny"
    if attack is hostile_model:
        queue.models = {"tiny": "tiny", "hostile": "/dev/null"}
    config = uvicorn.Config(
        make_app(queue),
        port=0,
        log_level="error",
        http=GuardedConnection,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    attack(port, random.Random(seed))
    if attack is hostile_model:  # it took the place of the good one, which has no files
        queue._loaded, queue._loaded_name = _model(), "tiny"
    _expect_an_answer(port)


def _expect_an_answer(port: int) -> None:
    until = time.monotonic() + HONEST_S
    status = 503
    while status == 503 and time.monotonic() < until:
        status = _ask(port, _post({"model": "tiny", "text": TEXT}))
        time.sleep(0.05)
    assert status == 200, f"an honest request was answered with {status}"


def _post(question: Any, **headers: str) -> bytes:
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    lines = {"Host": HOST, "Content-Type": "application/json", "Connection": "close"}
    lines |= {"Content-Length": str(len(body))}
    named = "".join(f"{name}: {value}\r\n" for name, value in (lines | headers).items())
    return f"POST /look HTTP/1.1\r\n{named}\r\n".encode("latin-1", "replace") + body


def _ask(port: int, request: bytes, patience_s: float = HONEST_S) -> int:
    """The status of the answer; 0 if there is none within some seconds."""
    answer = b""
    with (
        socket.create_connection((HOST, port), timeout=patience_s) as connection,
        suppress(OSError),
    ):
        connection.sendall(request)
        while piece := connection.recv(1 << 16):
            answer += piece
    status, _, rest = answer.partition(b"\r\n")
    assert b"Traceback" not in rest
    number = int(status.split()[1]) if status.startswith(b"HTTP/1.1 ") else 0
    assert number != 500, rest[:500]
    return number


def unfinished(port: int, chance: random.Random) -> None:
    """Many connections whose requests never arrive."""
    whole = _post({"model": "tiny", "text": TEXT})
    with ExitStack() as stack:
        for _ in range(chance.choice([1, 70, 150])):
            connection = stack.enter_context(socket.create_connection((HOST, port)))
            with suppress(OSError):
                connection.sendall(whole[: chance.randrange(len(whole))])
        _expect_an_answer(port)


def unread(port: int, chance: random.Random) -> None:
    """Many requests whose answers nobody reads."""
    request = chance.choice([b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", _post({"model": "x"})])
    with ExitStack() as stack:
        for _ in range(chance.choice([5, 80])):
            connection = stack.enter_context(socket.create_connection((HOST, port)))
            connection.setblocking(False)
            with suppress(OSError):
                connection.send(request * chance.choice([1, 50]))
        _expect_an_answer(port)


def odd_question(port: int, chance: random.Random) -> None:
    """JSON of all kinds in place of a question."""
    for _ in range(4):
        value, other = chance.choice(ODD_VALUES), chance.choice(ODD_VALUES)
        question = chance.choice(
            [value, {"model": value, "text": other}, {"model": "tiny", "text": value}]
        )
        assert _ask(port, _post(question)) in (200, 400, 413, 422)


def odd_text(port: int, chance: random.Random) -> None:
    """Texts up to the limit of a request, made of one thing or of anything."""
    piece = chance.choice(["a ", "a", ".", " ", "\n", "🙂", "\u0301", "\u202e", "[SEP]", "Mr. "])
    size = chance.choice([10, 1000, MOST_BYTES // 2])
    text = random_text(chance) if chance.random() < 0.3 else piece * (size // len(piece.encode()))
    text = text.encode("utf-8", "replace").decode()
    assert _ask(port, _post({"model": "tiny", "text": text})) in (200, 413, 422)


def damaged(port: int, chance: random.Random) -> None:
    """A good request with bytes flipped, cut, doubled or replaced."""
    for _ in range(4):
        _ask(port, mutated(_post({"model": "tiny", "text": TEXT}), chance), patience_s=0.5)


def odd_headers(port: int, chance: random.Random) -> None:
    """Lengths that lie, hosts of others, headers without end."""
    question = {"model": "tiny", "text": TEXT}
    for headers in (
        {"Content-Length": chance.choice(["-1", "9" * 30, "nan", "0", "1e3"])},
        {"Host": chance.choice(["evil.example", "", "127.0.0.1.evil.example", "\xff"])},
        {"X-Long": "x" * chance.choice([1000, 100_000])},
        {"Content-Type": chance.choice(["text/plain", "", "application/json;" * 100])},
        {"Transfer-Encoding": chance.choice(["chunked", "gzip", "chunked, chunked"])},
        {"Upgrade": "websocket", "Connection": "Upgrade"},
        {"Expect": "100-continue"},
    ):
        _ask(port, _post(question, **headers), patience_s=0.5)


def other_paths(port: int, chance: random.Random) -> None:
    """Paths and methods that there are none of."""
    for _ in range(4):
        path = chance.choice(["/../../etc/passwd", "/%00", "/look", "/" + "x" * 9000, "*", "//"])
        method = chance.choice(["GET", "PUT", "TRACE", "CONNECT", "OPTIONS", "X" * 1000])
        lines = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        status = _ask(port, lines.encode(), patience_s=0.5)
        assert status != 200 or (method, path) == ("GET", "//")


def hostile_model(port: int, chance: random.Random) -> None:
    """A model on offer that cannot be loaded."""
    assert _ask(port, _post({"model": "hostile", "text": TEXT})) == 422


def crowd(port: int, chance: random.Random) -> None:
    """Many requests at once."""
    threads = [
        threading.Thread(target=_ask, args=(port, _post({"model": "tiny", "text": TEXT})))
        for _ in range(chance.choice([10, 100]))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


ATTACKS: list[Attack] = [
    unfinished,
    unread,
    odd_question,
    odd_text,
    damaged,
    odd_headers,
    other_paths,
    hostile_model,
    crowd,
]
