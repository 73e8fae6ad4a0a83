"""Nothing of others is opened around the gate: every call that opens a file is on this list."""

import ast
import os
from pathlib import Path

import pytest

import headscope as hs
from headscope.cli.look import _text
from headscope.errors import CorpusError, HeadscopeError
from headscope.segment.demo_weights import DEMO_WEIGHTS
from headscope.segment.sentences.weights import load_weights
from headscope.segment.topics.topic_net import load_topic_net

SOURCE = Path(hs.__file__).parent
OPENERS = {
    *("open", "read_text", "read_bytes", "fromfile", "memmap", "loadtxt", "genfromtxt"),
    *("ParquetFile", "read_table", "read_csv", "read_parquet", "dataset", "memory_map", "OSFile"),
    *("load_file", "safe_open", "from_pretrained", "load_dataset"),
    *("File", "open_dataset", "open_datatree", "open_zarr"),
}
"""Names of functions that open a file by its path, here or in the libraries that read files."""
OURS = ("read_bytes(", "RunFolder.open(", "self.open(", "source.open(")
"""Functions of headscope of such a name, which pass the gate themselves."""
ALLOWED = {
    # The gate.
    "system/untrusted.py": {"os.open(path, flags)"},
    # What is read is in memory already: the gate opened it.
    "findings/lens/head_table.py": {"pq.ParquetFile(pa.BufferReader(content))"},
    "runs/choice_files.py": {"pq.ParquetFile(pa.BufferReader(content))"},
    "runs/examples.py": {"pq.ParquetFile(pa.BufferReader(content))"},
    "runs/window_files.py": {"pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)"},
    "text/readers/parquet.py": {
        "pq.ParquetFile(stream)",
        "pq.ParquetFile(stream, metadata=parquet.metadata, read_dictionary=strings)",
    },
    # A library opens the path, whose checksum was read through the gate just before.
    "runs/parquet_files.py": {
        "ds.dataset([str(path) for path in files], format='parquet')",
        "pq.ParquetFile(pa.BufferReader(source) if isinstance(source, bytes) else source",
    },
    "runs/row_check.py": {"pq.ParquetFile(path)"},
    "runs/shards.py": {
        "pq.ParquetFile(rows)",
        "safetensors.numpy.load_file(self.path(number, 'safetensors'))",
    },
    "runs/results.py": {
        "h5netcdf.File(buffer, 'w')",
        "h5py.File(path)",
        "xr.open_dataset(path, group=stack, engine='h5netcdf')",
    },
    # The same, after `check_untrusted` or `model_file`.
    "intervene/stored_weights.py": {"load_file(path)"},
    "models/weight_files.py": {"safe_open(path, framework='pt', device='cpu')"},
    "segment/sentences/weights.py": {"load_file(check_untrusted(path / 'segmenter.safetensors'))"},
    "segment/topics/topic_net.py": {"load_file(check_untrusted(path / 'topics.safetensors'))"},
    # Cleaned copies in a temporary folder, tensors in memory, or what the user allows by name.
    "models/build.py": {"AutoConfig.from_pretrained", "family.from_pretrained(None"},
    "models/load.py": {
        "AutoConfig.from_pretrained(copy",
        "AutoModel.from_pretrained",
        "AutoTokenizer.from_pretrained",
    },
    "text/readers/hub.py": {"load_dataset("},
    # Files of the package, of the system, or of our own making.
    "kernels/cpu/compile_ahead.py": {"file.read_bytes()"},
    "pages/bundle_assets.py": {"files('headscope.pages')"},
    "pages/report/page.py": {"self.path.read_text(encoding='utf-8')"},
    "system/memory.py": {"Path('/proc/meminfo').read_text()"},
    "cli/app.py": {"os.open(os.devnull"},
    "models/quiet.py": {"os.open(os.devnull"},
    "measuring/workers/ray_actors.py": {"Path(os.devnull).open('w')"},
    # Written to, with their own guards against links and pipes.
    "findings/export.py": {"part.open('xb')"},
    "runs/files.py": {"temporary.open('xb')"},
    "system/unix.py": {"os.open(folder, os.O_RDONLY)"},
    "system/journal.py": {"os.open(path, os.O_WRONLY | os.O_APPEND | NOT_INHERITED | flags"},
}
"""The beginning of each call, by file."""


WRITERS = {
    *("write_text", "write_bytes", "save_file", "save_pretrained", "savefig", "to_csv"),
    *("to_parquet", "copyfile", "copytree", "move", "rename", "unlink", "rmtree", "rmdir", "touch"),
    *("symlink_to", "hardlink_to", "chmod"),
}
"""Names of functions that write or delete a file by its path."""
WRITES = {
    # The gate for files of a run, whose names and folders were checked just before.
    "runs/files.py": {"path.unlink()"},
    "runs/own_files.py": {"shutil.rmtree(path)", "entry.unlink(missing_ok=True)"},
    "runs/lock.py": {"folder.rmdir()"},
    # Into a folder of our own making, which nobody else knows: a temporary one, or one beside the
    # model that is written.
    "intervene/pruned_folder.py": {
        "(smaller / 'README.md').write_text",
        "shutil.rmtree(smaller)",
        "shutil.copyfile(real, folder / entry.name)",
        "(folder / CONFIG).write_text",
        "(folder / MARK).write_text",
        "model.model.save_pretrained(scratch)",
        "part.chmod(493)",
        "out.rmdir()",
        "shutil.rmtree(part, ignore_errors=True)",
    },
    "intervene/stored_weights.py": {
        "save_file(tensors, folder / path.name",
        "(folder / path.name).chmod(420)",
        "(folder / INDEX).write_text",
    },
    "models/small_files.py": {"(copy / CONFIG).write_text", "(copy / name).write_bytes"},
    "measuring/workers/exchange.py": {
        "(folder / name).unlink()",
        "(folder / window_file(number)).unlink()",
    },
    # In our own cache, which nobody else may write to.
    "kernels/cpu/compile_ahead.py": {"mark.touch()"},
    # In memory, or a link that is deleted and not followed.
    "pages/figures/write.py": {"figure.savefig(buffer"},
    "findings/export.py": {"part.unlink(missing_ok=True)"},
}
"""The same for calls that write: all others use `write_whole`, which follows no link."""


def openers() -> list[tuple[str, str]]:
    """File and text of each call that opens a file."""
    return _calls(OPENERS)


def _calls(names: set[str]) -> list[tuple[str, str]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
            said = ast.unparse(node)
            if name in names and not said.startswith(OURS):
                found.append((path.relative_to(SOURCE).as_posix(), said))
    return found


def test_no_reader_goes_around_the_gate():
    around = [
        (file, said)
        for file, said in openers()
        if not said.startswith(tuple(ALLOWED.get(file, ())))
    ]
    assert around == [], "open it by headscope.system.untrusted, or say here why not"


def test_no_writer_goes_around_the_gate():
    around = [
        (file, said)
        for file, said in _calls(WRITERS)
        if not said.startswith(tuple(WRITES.get(file, ())))
    ]
    assert around == [], "write it by headscope.runs.files, or say here why not"


@pytest.mark.parametrize(("names", "allowed"), [(OPENERS, ALLOWED), (WRITERS, WRITES)])
def test_the_list_names_nothing_that_is_gone(names, allowed):
    found = _calls(names)
    for file, calls in allowed.items():
        for call in calls:
            assert any(where == file and said.startswith(call) for where, said in found), call


@pytest.mark.parametrize("name", ["segmenter.json", "segmenter.safetensors", "topics.json"])
def test_saved_weights_replace_a_link_and_do_not_follow_it(tmp_path, name):
    victim, folder = tmp_path / "thesis.txt", tmp_path / "weights"
    victim.write_text("Years of work.")
    folder.mkdir()
    (folder / name).symlink_to(victim)
    load_weights(DEMO_WEIGHTS).save(folder)
    load_topic_net(DEMO_WEIGHTS).save(folder)
    assert victim.read_text() == "Years of work."
    assert not (folder / name).is_symlink()
    assert load_weights(folder).model == load_weights(DEMO_WEIGHTS).model


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_a_text_that_is_no_file_is_refused_without_waiting(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(HeadscopeError, match="not a regular file"):
        _text(None, Path(name))


def test_a_text_is_read_as_before(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("Zwei Zeilen,\r\nüber alles.".encode())
    assert _text(None, path) == "Zwei Zeilen,\nüber alles."
    path.write_bytes(b"\xff")
    with pytest.raises(CorpusError, match="not UTF-8"):
        _text(None, path)


@pytest.mark.parametrize("name", ["segmenter.json", "segmenter.safetensors"])
@pytest.mark.parametrize("content", ["pipe", b"[]", b"[" * 100_000])
def test_segmenters_of_others_are_read_through_the_gate(tmp_path, name, content):
    _refuses(load_weights, tmp_path, ["segmenter.json", "segmenter.safetensors"], name, content)


@pytest.mark.parametrize("name", ["topics.json", "topics.safetensors"])
@pytest.mark.parametrize("content", ["pipe", b"[]", b"[" * 100_000])
def test_topic_networks_of_others_are_read_through_the_gate(tmp_path, name, content):
    _refuses(load_topic_net, tmp_path, ["topics.json", "topics.safetensors"], name, content)


def _refuses(load, folder: Path, names: list[str], spoilt: str, content: str | bytes) -> None:
    for name in names:
        if name != spoilt:
            (folder / name).write_bytes((DEMO_WEIGHTS / name).read_bytes())
        elif isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            os.mkfifo(folder / name)
    with pytest.raises(
        HeadscopeError, match="not a regular file" if content == "pipe" else str(folder)
    ):
        load(folder)
