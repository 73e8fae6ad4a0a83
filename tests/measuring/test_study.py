"""Studies: resumed ones equal uninterrupted ones, others are refused, bad windows are named."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.errors import HeadscopeError, RunError
from headscope.findings.resampling.window_cells import documents_of, resample_windows
from headscope.measuring.study import run_study
from headscope.measuring.windows import CorpusRequest
from headscope.models.loaded import LoadedModel
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.windows import Window
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert

SETTINGS = Settings.of(window=16, min_tokens=4, shard_windows=3, batch_tokens=40)


@dataclass
class Sizes:
    """How long the last states of a window are, by the dimension; may fail after some windows."""

    model: LoadedModel
    name: str = "sizes"
    settings: dict = field(default_factory=lambda: {"power": 2.0})
    steps: int = 2
    fails_after: int = 10**6
    too_many: int = 10**6
    not_finite: str = "nowhere"
    seen: int = 0

    @property
    def cells(self):
        return {"tokens": (), "sizes": (24,)}

    def measure(self, windows: Sequence[Window], advance):
        if len(windows) > self.too_many:
            raise MemoryError
        self.seen += len(windows)
        if self.seen > self.fails_after:
            raise KeyboardInterrupt
        longest = max(window.n_tokens for window in windows)
        ids = np.zeros((len(windows), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : window.n_tokens] = window.token_ids
            mask[row, : window.n_tokens] = 1
        import torch

        states = self.model.last_states(torch.tensor(ids), torch.tensor(mask)).double().numpy()
        sizes = (states**2 * mask[..., None]).sum(1)
        tokens = mask.sum(1).astype(np.float64)
        for row, window in enumerate(windows):
            if self.not_finite in " ".join(window.tokens):
                sizes[row], tokens[row] = np.inf, np.nan
        advance(2 * len(windows))
        return {"tokens": tokens, "sizes": sizes}


class Steps(Progress):
    def __init__(self):
        self.total, self.done, self.said = 0, 0, []

    def stage(self, name, total=None, done=0):
        self.total, self.done = total, done

    def advance(self, steps=1):
        self.done += steps

    def say(self, message, kind="remark"):
        self.said.append(message)


@pytest.fixture(scope="module")
def model():
    return loaded(tiny_bert())


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text)
    return folder


def study(model, corpus, folder: Path, progress=None, settings=SETTINGS, **options):
    request = CorpusRequest((str(corpus),))
    made = Sizes(model, **options)
    return run_study(made, model, request, settings, folder, progress=progress or Progress())


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "shards").iterdir())}


def test_a_resumed_study_equals_an_uninterrupted_one(model, corpus, tmp_path):
    whole = study(model, corpus, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        study(model, corpus, tmp_path / "run", fails_after=5)
    assert 0 < len(bytes_of(tmp_path / "run")) < len(bytes_of(tmp_path / "whole"))
    progress = Steps()
    resumed = study(model, corpus, tmp_path / "run", progress)
    assert bytes_of(tmp_path / "run") == bytes_of(tmp_path / "whole")
    assert progress.done == progress.total == 2 * len(whole.windows)
    for name in whole.cells:
        assert np.array_equal(whole.cells[name], resumed.cells[name])
    events = [
        json.loads(line)["event"] for line in (tmp_path / "run/log.jsonl").read_text().splitlines()
    ]
    assert events.count("started") == 2
    assert "shard" in events


def test_every_window_has_its_own_numbers(model, corpus, tmp_path):
    table = study(model, corpus, tmp_path / "run")
    windows = [w for n in range(table.run.manifest.shards) for w in table.run.read_windows(n)]
    assert table.cells["tokens"].tolist() == [window.n_tokens for window in windows]
    assert len(set(documents_of(table.run, table.windows))) == len(TEXTS)


def test_a_damaged_shard_is_measured_again(model, corpus, tmp_path):
    study(model, corpus, tmp_path / "run")
    before = bytes_of(tmp_path / "run")
    (tmp_path / "run" / "shards" / "00001.safetensors").write_bytes(b"nonsense")
    progress = Steps()
    study(model, corpus, tmp_path / "run", progress)
    assert bytes_of(tmp_path / "run") == before
    assert "damaged" in progress.said[0]


def test_another_study_in_the_folder_is_refused(model, corpus, tmp_path):
    study(model, corpus, tmp_path / "run")
    before = bytes_of(tmp_path / "run")
    other = Settings.of(window=12, min_tokens=4, shard_windows=3, batch_tokens=40)
    for options in ({"settings": other}, {"name": "lengths"}):
        with pytest.raises(RunError, match="holds another run"):
            study(model, corpus, tmp_path / "run", **options)
    with pytest.raises(RunError, match="holds another run"):
        study(loaded(tiny_bert(seed=1)), corpus, tmp_path / "run")
    with model.gates({(1, 1): 0.0}), pytest.raises(RunError, match="gates"):
        study(model, corpus, tmp_path / "run")
    with pytest.raises(HeadscopeError, match=r"holds another run.*study"):
        hs.analyze(
            model,
            corpus,
            out=tmp_path / "run",
            window=16,
            min_tokens=4,
            shard_windows=3,
            batch_tokens=40,
            progress=False,
        )
    with pytest.raises(RunError, match="what headscope sizes measured"):
        hs.open_run(tmp_path / "run")
    assert bytes_of(tmp_path / "run") == before


def test_windows_that_cannot_be_measured_are_named_and_left_out(model, corpus, tmp_path):
    whole = study(model, corpus, tmp_path / "whole")
    table = study(model, corpus, tmp_path / "run", not_finite="cafés")
    assert len(table.left_out) >= 1
    assert {window.kind for window in table.left_out} == {"not finite"}
    kept = np.isin(whole.windows, table.windows)
    assert np.array_equal(whole.cells["sizes"][kept], table.cells["sizes"])
    assert len(table.windows) + len(table.left_out) == len(whole.windows)


def test_batches_that_do_not_fit_are_halved(model, corpus, tmp_path):
    whole = study(model, corpus, tmp_path / "whole")
    progress = Steps()
    table = study(model, corpus, tmp_path / "run", progress, too_many=1)
    np.testing.assert_allclose(table.cells["sizes"], whole.cells["sizes"], rtol=1e-4)
    assert progress.done == progress.total
    with pytest.raises(RunError, match="no window could be measured"):
        study(model, corpus, tmp_path / "none", too_many=0)


@pytest.mark.parametrize("wrong", ["rows", "shape", "dtype", "infinite", "name"])
def test_forged_shards_are_refused(model, corpus, tmp_path, wrong):
    """Their receipts fit."""
    table = study(model, corpus, tmp_path / "run")
    shard = table.run.shards.read(0)
    rows, arrays = shard.rows, dict(shard.arrays)
    if wrong == "rows":
        rows = rows.slice(1)
    elif wrong == "shape":
        arrays["sizes"] = arrays["sizes"][:, :-1]
    elif wrong == "dtype":
        arrays["tokens"] = arrays["tokens"].astype(np.float32)
    elif wrong == "infinite":
        arrays["tokens"] = arrays["tokens"] + np.inf
    else:
        arrays["more"] = arrays["tokens"]
    table.run.shards.write(0, type(shard)(rows, arrays, shard.left_out))
    with pytest.raises(RunError, match="shard 0"):
        study(model, corpus, tmp_path / "run")


def test_a_manifest_with_a_nonsensical_study_is_refused(model, corpus, tmp_path):
    study(model, corpus, tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    written = json.loads(path.read_text())
    for wrong in (7, {}, {"name": "../x", "settings": {}}, {"name": "x", "settings": {"a": [1]}}):
        path.write_text(json.dumps({**written, "study": wrong}))
        with pytest.raises(RunError, match="is damaged: study"):
            study(model, corpus, tmp_path / "run")
    shutil.rmtree(tmp_path / "run")


def test_ratios_are_those_of_plain_loops():
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(12), 3)
    above = rng.normal(1.0, 0.3, (36, 4))
    below = rng.integers(5, 20, 36).astype(np.float64)
    above[3, 2] = np.nan
    ratios = resample_windows(above, below[:, None], documents, seed=1)
    for cell in range(4):
        known = [w for w in range(36) if above[w, cell] == above[w, cell]]
        expected = sum(above[w, cell] for w in known) / sum(below[w] for w in known)
        assert ratios.values[cell] == pytest.approx(expected, rel=1e-12)
        interval = ratios.intervals()[cell]
        assert interval.low < expected < interval.high
    assert ratios.documents == 12
    assert ratios.above_zero().all()
    assert not resample_windows(-above, below[:, None], documents, seed=1).above_zero().any()


def test_reliability_is_what_other_documents_would_give():
    """Cells with a true spread and a noise that give a known correlation of repeated studies."""
    rng = np.random.default_rng(0)
    cells, documents = 400, 40
    truth = rng.normal(0, 1, cells)
    for noise, expected in ((1.0, 40 / 41), (6.0, 40 / 76), (3.0, 40 / 49)):
        values = truth + rng.normal(0, noise, (documents, cells))
        ratios = resample_windows(values, np.ones((documents, 1)), np.arange(documents), seed=0)
        assert ratios.reliability() == pytest.approx(expected, abs=0.07)
    few = resample_windows(np.ones((3, 4)), np.ones((3, 1)), np.arange(3), seed=0)
    assert np.isnan(few.reliability())
