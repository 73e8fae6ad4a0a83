"""The live page: what it answers, what it refuses, and what it does when too many ask."""

import asyncio
import copy
import ipaddress
import json
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx2
import pytest
import uvicorn
from starlette.testclient import TestClient

import headscope as hs
from headscope.errors import SettingsError
from headscope.pages.viewer.page import viewer_payload
from headscope.serve import app, connections, model_queue
from headscope.serve.app import MOST_BYTES, make_app
from headscope.serve.connections import GuardedConnection
from headscope.serve.model_queue import WAITING, ModelQueue, Sentences
from headscope.serve.server import HOST, MOST_CONNECTIONS, _listen, local_models, serve
from tests.browser import open_page, sideways

TEXT = "The cat sat on the mat. The dog saw the cat, and the cat ran away!"
SERVE = """
import signal, sys
from headscope.cli import main
# As in a terminal: what a shell starts in the background has Ctrl-C switched off.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["headscope", "serve", "--port", "0"]
main()
"""


@pytest.fixture(scope="module")
def queue(demo_model):
    return ModelQueue({"demo": "demo"}, max_tokens=64)


@pytest.fixture(scope="module")
def client(queue):
    with TestClient(make_app(queue), base_url="http://127.0.0.1") as client:
        yield client


@contextmanager
def running(queue):
    """The address of a real server, with the limits that the command sets."""
    config = uvicorn.Config(
        make_app(queue),
        port=0,
        log_level="error",
        http=GuardedConnection,
        limit_concurrency=MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            pass
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def ask(client, text, model="demo", **options):
    return client.post("/look", json={"model": model, "text": text}, **options)


def test_an_answer_is_what_the_page_of_the_text_would_hold(client, demo_model):
    answer = ask(client, TEXT)
    assert answer.status_code == 200
    view = hs.look(demo_model, TEXT)
    found = answer.json()
    split = found.pop("split")
    assert found.pop("whole_tokens") == len(view.tokens)
    assert found == json.loads(json.dumps(viewer_payload(view.matrices())))
    assert "".join(split["texts"]) == TEXT
    assert split["by"] in ("heads", "rules")


def test_long_texts_are_cut_off_at_the_limit(client):
    found = ask(client, "word " * 500).json()
    assert len(found["stacks"][0]["tokens"]) == 64
    assert found["whole_tokens"] == 502


def test_progress_says_what_is_being_done(client, queue, demo_model, monkeypatch):
    said = []

    def say(*_, **__):
        said.append(client.get("/progress").json())
        return demo_model

    monkeypatch.setattr(queue, "_loaded", None)
    monkeypatch.setattr(model_queue, "load_model", say)
    monkeypatch.setattr(model_queue, "sentences_of", lambda *_: say() and Sentences("rules", ()))
    assert ask(client, TEXT).status_code == 200
    demo = {"model": "demo"}
    assert said == [{"what": "loading"} | demo, {"what": "reading"} | demo]
    assert client.get("/progress").json() == {"what": "nothing", "model": ""}


@pytest.mark.parametrize(
    ("request_options", "status", "says"),
    [
        ({"json": {"model": "demo", "text": "x" * MOST_BYTES}}, 413, "at most 64 kB"),
        ({"json": {"model": "../etc", "text": TEXT}}, 422, "not on offer"),
        ({"json": {"model": "demo", "text": " "}}, 422, "empty"),
        ({"json": {"model": "demo", "text": "word"}}, 422, "one token"),
        ({"json": {"model": "demo"}}, 400, "a model and a text"),
        ({"json": {"model": "demo", "text": 7}}, 400, "must be Unicode strings"),
        ({"json": [1, 2]}, 400, "a model and a text"),
        (
            {"content": b"\xff{", "headers": {"Content-Type": "application/json"}},
            400,
            "a model and a text",
        ),
        ({"data": {"model": "demo", "text": TEXT}}, 415, "send JSON"),
        (
            {"content": b"[" * 60_000, "headers": {"Content-Type": "application/json"}},
            400,
            "a model and a text",
        ),
        (
            {
                "content": b'{"model": "demo", "text": "half a sign: \\ud800"}',
                "headers": {"Content-Type": "application/json"},
            },
            400,
            "must be Unicode strings",
        ),
    ],
)
def test_what_is_no_question_is_refused_in_words(client, request_options, status, says):
    answer = client.post("/look", **request_options)
    assert answer.status_code == status
    assert says in answer.json()["error"]


def test_a_body_without_a_stated_length_is_cut_off_at_the_limit(client):
    def endless():
        for _ in range(1000):
            yield b" " * 1024

    headers = {"Content-Type": "application/json"}
    assert client.post("/look", content=endless(), headers=headers).status_code == 413


def test_a_body_that_does_not_arrive_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr(app, "LONGEST_S", 0.05)

    async def slow():
        yield b'{"model": '
        await asyncio.sleep(5)

    async def ask_slowly():
        transport = httpx2.ASGITransport(client.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as asking:
            headers = {"Content-Type": "application/json"}
            return await asking.post("/look", content=slow(), headers=headers)

    # In a thread: where a browser is open, this one has an event loop already.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, ask_slowly()).result().status_code == 408


def test_the_server_listens_on_this_machine_alone():
    with _listen(0) as listener:
        assert ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def test_other_names_of_this_machine_are_not_answered(client):
    """A page of another site may point its own name here."""
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_the_page_comes_with_a_policy(client):
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"


def test_200_requests_at_once_all_get_an_answer(queue):
    with running(queue) as address, ThreadPoolExecutor(50) as pool:

        def one(_):
            return httpx2.post(
                f"{address}/look", json={"model": "demo", "text": TEXT}, timeout=60
            ).status_code

        answers = Counter(pool.map(one, range(200)))
        assert set(answers) <= {200, 503}
        assert sum(answers.values()) == 200
        assert answers[200] >= WAITING
        assert one(None) == 200, "and it goes on"


UNFINISHED = {
    "nothing": b"",
    "headers": b"POST /look HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "body": b"POST /look HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 1000\r\n\r\n{",
    "unread answers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20,
}


@pytest.fixture(scope="module")
def command(nursery):
    """The address of the command itself, which sets the limits."""
    process = nursery.start(SERVE, [])
    said = process.said / "out"
    while "\n" not in said.read_text() and process.poll() is None:
        time.sleep(0.02)
    yield said.read_text().split()[1].rstrip("/")
    process.signal(signal.SIGINT)
    ended = process.wait()
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
def test_connections_that_ask_nothing_do_not_keep_others_from_being_answered(command, sent):
    port = int(command.rsplit(":", 1)[1])
    with ExitStack() as idle:
        for _ in range(MOST_CONNECTIONS + 70):
            connection = idle.enter_context(socket.create_connection((HOST, port)))
            connection.sendall(sent)
        time.sleep(0.2)
        for _ in range(5):
            assert httpx2.get(command, timeout=60).status_code == 200
            answer = httpx2.post(f"{command}/look", json={"model": "demo", "text": " "}, timeout=60)
            assert answer.status_code == 422, "read, and answered in words"


def closed_after_s(connection: socket.socket) -> float:
    """When the server closes a connection to which nothing more is sent than a byte at a time."""
    started = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() - started < 20:
        try:
            connection.sendall(b"x")
            if not connection.recv(1):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - started


def test_headers_that_do_not_arrive_are_not_waited_for(queue, monkeypatch):
    """Not at the start of a connection, nor after an answer; a byte now and then is no progress."""
    monkeypatch.setattr(connections, "HEADERS_S", 0.5)
    with running(queue) as address:
        port = int(address.rsplit(":", 1)[1])
        for before in (b"", UNFINISHED["headers"], b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET"):
            with socket.create_connection((HOST, port)) as connection:
                connection.sendall(before)
                assert closed_after_s(connection) < 10
        assert httpx2.get(address, timeout=60).status_code == 200


def test_all_connections_in_use_means_busy(queue, monkeypatch):
    """None is given up while its request is being answered."""
    asked, go_on = threading.Semaphore(0), threading.Event()
    monkeypatch.setattr(model_queue, "WAITING", MOST_CONNECTIONS)

    class Waiting(ModelQueue):
        def look(self, model, text):
            asked.release()
            go_on.wait(60)
            raise SettingsError("done")

    slow = Waiting({"demo": "demo"}, max_tokens=16)
    body = b'{"model": "demo", "text": "x"}'
    request = (
        b"POST /look HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    ) + body
    with running(slow) as address, ExitStack() as stack:
        stack.callback(go_on.set)
        port = int(address.rsplit(":", 1)[1])
        made = []
        for _ in range(MOST_CONNECTIONS - 1):
            made.append(stack.enter_context(socket.create_connection((HOST, port))))
            made[-1].sendall(request)
        for _ in range(40):  # as many as the thread pool of the server takes
            assert asked.acquire(timeout=60)
        assert httpx2.get(address, timeout=60).status_code == 503
        go_on.set()
        for connection in made:
            assert connection.recv(12) == b"HTTP/1.1 422"


def test_a_model_that_fails_in_any_way_is_an_answer_in_words(client, queue, monkeypatch, capfd):
    for failure in (TypeError("a\nhead"), RecursionError(), MemoryError(), KeyError("hidden_size")):

        def load(name, failure=failure):
            raise failure

        monkeypatch.setattr(queue, "_loaded", None)
        monkeypatch.setattr(model_queue, "load_model", load)
        answer = ask(client, TEXT)
        assert answer.status_code == 422
        assert type(failure).__name__ in answer.json()["error"]
        assert "\n" not in answer.json()["error"]
    assert "Traceback" not in capfd.readouterr().err


def test_the_limit_of_tokens_holds_for_sentences_too(queue, monkeypatch):
    read = []
    monkeypatch.setattr(
        model_queue, "sentences_of", lambda model, text: read.append(text) or Sentences("rules", ())
    )
    tokens = queue.look("demo", TEXT * 500).view.tokens
    assert len(tokens) == 64
    assert (TEXT * 500).startswith(read[0])
    assert len(hs.load_model("demo").tokenizer.encode(read[0]).ends) == 64 - 2
    queue.look("demo", TEXT)
    assert read[1] == TEXT


def test_one_model_at_a_time_is_in_memory(monkeypatch, demo_model):
    loads = []

    def load(name):
        assert queue._loaded is None, "the old one is let go before a new one is loaded"
        loads.append(name)
        return copy.copy(demo_model)

    monkeypatch.setattr(model_queue, "load_model", load)
    queue = ModelQueue({"one": "one", "two": "two"}, max_tokens=32)
    for name in ("one", "one", "two", "one"):
        queue.look(name, TEXT)
    assert loads == ["one", "two", "one"]


def test_the_live_page_shows_a_text_that_is_typed(browser, queue):
    with running(queue) as address:
        opened = open_page(browser, address)
        opened.viewer_is_quiet()
        assert opened.page.locator(".head-cell").count() == 72
        opened.page.fill("#hs-text", "<script>alert(1)</script> is a text. So is this one.")
        opened.page.click("#hs-ask")
        opened.page.wait_for_selector(".token:text-is('script') >> nth=0")
        assert opened.page.locator("#hs-sentences li").count() == 2
        opened.picture("serve")
        opened.page.fill("#hs-text", "word")
        opened.page.click("#hs-ask")
        opened.page.wait_for_selector("#hs-status[data-kind=error]")
        assert "one token" in opened.page.inner_text("#hs-status")
        assert opened.dialogs == []
        assert {request.removeprefix(address) for request in opened.requests} <= {
            "/",
            "/look",
            "/progress",
        }
        # The browser itself logs that an answer was an error.
        assert all("422" in complaint for complaint in opened.complaints)
        opened.page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_live_page_says_what_is_stale_cut_or_empty(browser, queue, monkeypatch, width, scheme):
    go_on = threading.Event()
    go_on.set()
    look = queue.look

    def slow_look(*question):
        queue.doing = model_queue.Doing("loading", "demo")
        go_on.wait(60)
        return look(*question)

    monkeypatch.setattr(queue, "look", slow_look)
    with running(queue) as address:
        opened = open_page(browser, address, width=width, scheme=scheme)
        page = opened.page
        opened.viewer_is_quiet()
        assert page.is_hidden("#hs-cut")
        page.fill("#hs-text", "many words " * 100)
        assert "stale" in page.get_attribute("#hs-answer", "class"), "it belongs to another text"
        assert "press Look" in page.inner_text("#hs-status")
        go_on.clear()
        page.click("#hs-ask")
        page.wait_for_selector("#hs-status:text('loading demo')")
        assert page.is_visible("#hs-progress")
        opened.picture(f"serve-waiting-{width}")
        go_on.set()
        page.wait_for_selector("#hs-cut:text('it has 202 tokens, and the first 64 are shown')")
        assert page.get_attribute("#hs-answer", "class") == ""
        assert page.is_hidden("#hs-progress")
        opened.viewer_is_quiet()
        opened.picture(f"serve-cut-{width}")
        page.fill("#hs-text", "  ")
        page.click("#hs-ask")
        assert "the text is empty" in page.inner_text("#hs-status")
        assert "stale" in page.get_attribute("#hs-answer", "class")
        page.fill("#hs-text", "many words " * 100)
        assert page.get_attribute("#hs-answer", "class") == "", "what was shown belongs to it again"
        assert sideways(page) == []
        assert opened.complaints == []
        page.close()


def test_models_on_offer_are_those_named_the_demo_and_the_cached(tmp_path):
    for name, files in {"a/whole": ("config.json", "model.safetensors"), "a/part": ()}.items():
        folder = tmp_path / f"models--{name.replace('/', '--')}" / "snapshots" / ("0" * 40)
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).write_text("{}")
    folder = tmp_path / "models--a--whole" / "snapshots" / ("0" * 40)
    cached = {"a/whole": str(folder)}
    assert local_models(["./mine"], tmp_path) == {"./mine": "./mine", "demo": "demo"} | cached
    # A cached model that is named, too, is not looked for on the hub.
    assert local_models(["a/whole"], tmp_path) == {"demo": "demo"} | cached
    assert local_models([], tmp_path / "nowhere") == {"demo": "demo"}


def test_a_port_that_is_taken_is_refused(queue):
    with running(queue) as address, pytest.raises(SettingsError, match="--port"):
        serve(["demo"], port=int(address.rsplit(":", 1)[1]))
    with pytest.raises(SettingsError, match="max tokens"):
        serve(["demo"], max_tokens=1)
