"""Without what only Unix has: a corpus is analysed, the run resumed, and looked at."""

import subprocess
import sys
from pathlib import Path

import headscope
from headscope.system import unix
from tests.faults.subject import save_model, write_corpus

ELSEWHERE = """
import ctypes, os, sys
# What these libraries do on other systems is their business: they have their own builds there.
import filelock, numba, torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertModel, PreTrainedModel
sys.modules["fcntl"] = sys.modules["resource"] = None  # importing them is an ImportError
library = ctypes.CDLL
class NoLibrary(library):
    def __init__(self, name, *rest, **options):
        if name is None:
            raise OSError("no C library of this name")
        super().__init__(name, *rest, **options)
ctypes.CDLL = NoLibrary
del os.O_NOFOLLOW, os.O_CLOEXEC
import headscope as hs
from headscope.system import unix
assert unix.fcntl is None and unix.NO_FOLLOW == 0
model, corpus, out = sys.argv[1:]
options = dict(window=32, min_tokens=4, shard_windows=8, nulls=2, null_seeds=2, minimal=True)
run = hs.analyze(model, corpus, out=out, progress=False, **options)
(run.folder / "shards" / "00001.json").unlink()
again = hs.analyze(model, corpus, out=out, progress=False, **options)
assert again.heads.equals(run.heads) and again.shards_done == again.manifest.shards
assert hs.look(model, "The cat sat on the mat.").attention.shape[0] == 2
"""


def test_a_corpus_is_analysed_without_what_only_unix_has(tmp_path):
    model, corpus = save_model(tmp_path / "model"), write_corpus(tmp_path / "corpus.jsonl")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE, model, corpus, tmp_path / "run"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "run" / "report.html").exists()


def test_no_other_module_names_what_only_unix_has():
    source = Path(headscope.__file__).parent
    for path in source.rglob("*.py"):
        if path != Path(unix.__file__):
            text = path.read_text()
            for name in ("fcntl", "CDLL", "import resource", "O_NOFOLLOW", "O_CLOEXEC", "Signals("):
                assert name not in text, (path, name)
