"""Runs at an address: fetched through fsspec, read like a folder, never written."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pandas as pd
import pytest

import headscope as hs
from headscope.errors import RunError


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def address(request, verdict_run):
    """The same run at addresses of three kinds."""
    folder = verdict_run.folder
    if request.param == "file":
        yield f"file://{folder}"
    elif request.param == "memory":
        store = fsspec.filesystem("memory")
        store.put(str(folder), "/stored", recursive=True)
        yield "memory://stored"
        store.rm("/stored", recursive=True)
    else:
        handler = partial(Quiet, directory=folder)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}/"
            server.shutdown()


@pytest.mark.parametrize("address", ["file", "memory", "http"], indirect=True)
def test_a_run_at_an_address_says_what_the_folder_says(address, verdict_run):
    run = hs.open_run(address)
    assert repr(run).startswith(f"Run('{address.rstrip('/')}")
    pd.testing.assert_frame_equal(run.heads, verdict_run.heads)
    assert len(run.untrained) == len(verdict_run.untrained) > 0
    for null, ours in zip(run.untrained, verdict_run.untrained, strict=True):
        pd.testing.assert_frame_equal(null.heads, ours.heads)
    assert run.rows().to_table().equals(verdict_run.rows().to_table())
    assert run.windows().to_table().equals(verdict_run.windows().to_table())
    with pytest.raises(RunError, match="can only be read; say where to write the report"):
        run.report()


@pytest.mark.parametrize("address", ["memory"], indirect=True)
def test_a_run_at_an_address_has_its_verdicts_in_a_report(address, verdict_run, tmp_path):
    run = hs.open_run(address)
    assert [v.status for v in run.claims()] == [v.status for v in verdict_run.claims()]
    assert run.report(tmp_path / "report.html").path.exists()


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("memory://nothing", r"no run at memory://nothing: it has no manifest\.json"),
        ("nosuch://bucket/run", "cannot open nosuch://bucket/run"),
    ],
)
def test_an_address_without_a_run_is_refused(address, says):
    with pytest.raises(RunError, match=says):
        hs.open_run(address)


def test_names_that_the_other_side_makes_up_are_not_fetched(verdict_run):
    store = fsspec.filesystem("memory")
    store.put(str(verdict_run.folder), "/odd", recursive=True)
    store.pipe("/odd/windows/evil.parquet", b"x")
    store.pipe("/odd/.bashrc", b"x")
    run = hs.open_run("memory://odd")
    store.rm("/odd", recursive=True)
    names = {path.name for path in run.folder.rglob("*") if path.is_file()}
    assert not names & {"evil.parquet", ".bashrc"}
