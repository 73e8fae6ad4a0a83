"""What SECURITY.md promises of files from elsewhere: models, runs and corpora."""

import ast
import gzip
import io
import json
import shutil
import sys
import time
from pathlib import Path

import h5py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headscope as hs
from headscope.errors import CorpusError, HeadscopeError, ModelError, RunError
from headscope.measuring.reduce import reduce_run
from headscope.runs.files import MOST_JSON_BYTES
from headscope.runs.lock import only_writer
from headscope.text.corpus import read_corpus
from headscope.text.readers import parquet
from tests.faults.seed_files import KEPT
from tests.faults.subject import save_model

SOURCE = Path(hs.__file__).parent
DANGEROUS_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


def test_nothing_in_the_package_unpickles_or_runs_text_as_code():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None)
                names = [module or ""] if module else [alias.name for alias in node.names]
                found += [(path.name, n) for n in names if n.split(".")[0] in DANGEROUS_MODULES]
            elif isinstance(node, ast.Call):
                owner = getattr(getattr(node.func, "value", None), "id", "")
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
                # model.eval() and re.compile() are others of that name.
                if (
                    name in DANGEROUS_CALLS
                    and owner in ("", "os", "builtins")
                    and not (isinstance(node.func, ast.Attribute) and owner == "")
                ):
                    found.append((path.name, name))
                if name == "load" and owner in ("torch", "np", "numpy", "yaml"):
                    found.append((path.name, f"{owner}.load"))
    assert found == []


EVIL = """
import pathlib
pathlib.Path({marker!r}).touch()
from transformers import BertConfig, BertModel
class EvilConfig(BertConfig):
    model_type = "evil"
class EvilModel(BertModel):
    config_class = EvilConfig
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("saved"))


@pytest.mark.parametrize("model_type", ["evil", "bert"])
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_that_comes_with_a_model_is_not_run(saved, tmp_path, model_type, file):
    folder, marker = tmp_path / "model", tmp_path / "the code was run"
    shutil.copytree(saved, folder)
    (folder / "evil.py").write_text(EVIL.format(marker=str(marker)))
    values = json.loads((folder / file).read_text())
    values["auto_map"] = {
        "AutoConfig": "evil.EvilConfig",
        "AutoModel": "evil.EvilModel",
        "AutoTokenizer": ["evil.EvilModel", "evil.EvilModel"],
    }
    if file == "config.json":
        values["model_type"] = model_type
    (folder / file).write_text(json.dumps(values))
    if file == "config.json" and model_type == "evil":
        with pytest.raises(ModelError):
            hs.load_model(folder)
    else:
        hs.load_model(folder)
    assert not marker.exists()
    assert "evil" not in sys.modules


@pytest.fixture
def run_folder(tmp_path):
    return Path(shutil.copytree(KEPT / "schema-2", tmp_path / "run"))


@pytest.mark.parametrize("stack", ["../../outside", "/etc", "a/b", "..", "", "x\0", "<b>"])
def test_names_in_a_manifest_that_would_lead_elsewhere_are_refused(run_folder, stack):
    """Stacks name the files of figures."""
    path = run_folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for site in manifest["model"]["sites"]:
        site["stack"] = stack
    path.write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="plain word"):
        hs.open_run(run_folder)


def test_a_link_in_place_of_the_lock_is_not_followed(run_folder, tmp_path):
    """Opening a folder from elsewhere for writing must not empty one of our files."""
    precious = tmp_path / "precious"
    precious.write_text("content")
    (run_folder / ".lock").symlink_to(precious)
    with pytest.raises(HeadscopeError, match=r"\.lock is a link"), only_writer(run_folder):
        pass
    assert precious.read_text() == "content"


def test_a_link_in_place_of_a_result_is_refused_by_name(run_folder, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("content")
    for name in ("results.nc", "report.html"):
        (run_folder / name).unlink(missing_ok=True)
        (run_folder / name).symlink_to(precious)
    run = hs.open_run(run_folder)
    with pytest.raises(HeadscopeError, match=r"results\.nc is a link"):
        reduce_run(run.files)
    with pytest.raises(HeadscopeError, match=r"report\.html is a link"):
        run.report()
    assert precious.read_text() == "content"


def test_arrays_that_claim_any_size_are_not_unpacked(run_folder):
    """A few kilobytes on disk, a terabyte in memory; no receipt that would tell."""
    (run_folder / "results.json").unlink(missing_ok=True)
    with h5py.File(run_folder / "results.nc", "a") as file:
        file["encoder"].create_dataset("bomb", (10**6, 10**6), "u1", chunks=(1000, 1000))
    started = time.monotonic()
    with pytest.raises(RunError, match=r"results\.nc cannot be read"):
        hs.open_run(run_folder).heads  # noqa: B018  reading it is the point
    assert time.monotonic() - started < 60


def test_a_manifest_that_claims_any_size_is_refused(run_folder):
    path = run_folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for field, value in (("heads", 10**9), ("layer", 10**9)):
        changed = json.loads(json.dumps(manifest))
        changed["model"]["sites"][0][field] = value
        path.write_text(json.dumps(changed))
        with pytest.raises(RunError, match=rf"model\.sites\.{field}"):
            hs.open_run(run_folder)
    manifest["corpus"]["windows"] = 10**12
    path.write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="do not fit together"):
        hs.open_run(run_folder)


def test_a_manifest_of_any_length_is_not_read(tmp_path):
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(MOST_JSON_BYTES + 1)  # takes no room on the disk
    with pytest.raises(RunError, match="too large"):
        hs.open_run(tmp_path)


def parquet_bytes(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def test_a_gzipped_table_cannot_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "MAX_UNPACKED_BYTES", 1 << 20)
    path = tmp_path / "bomb.parquet.gz"
    path.write_bytes(gzip.compress(bytes(8 << 20)))
    with pytest.raises(CorpusError, match="unpacks to more than"):
        list(read_corpus([path]))


def repeated_text(path: Path, times: int) -> Path:
    """A table that stores a text of 1 MiB once, and repeats it."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * times), ["a" * (1 << 20)])
    path.write_bytes(parquet_bytes(pa.table({"text": texts})))
    assert path.stat().st_size < 1 << 20
    return path


def test_a_text_repeated_in_a_table_takes_its_room_once(tmp_path):
    path = repeated_text(tmp_path / "repeated.parquet", 60)
    before = pa.total_allocated_bytes()
    for document in read_corpus([path]):
        assert len(document.text) == 1 << 20
        assert pa.total_allocated_bytes() - before < 32 << 20


def test_a_table_that_repeats_a_text_for_ever_is_refused(tmp_path):
    """50 GB of text in a file of a few kilobytes."""
    path = repeated_text(tmp_path / "bomb.parquet", 50_000)
    with pytest.raises(CorpusError, match="beyond 64 MiB, at most 200 times the size"):
        next(read_corpus([path]))
