"""signal/: what is written comes back; what is damaged or does not fit is refused in one line."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from headscope.errors import RunError
from headscope.measures.signal import SUMS, distance_bins
from headscope.runs.manifest import SCHEMA, Manifest
from headscope.runs.sample_receipt import RECEIPT
from headscope.runs.signal_files import (
    FILE,
    FOLDER,
    REDUNDANCY,
    SignalSums,
    read_signal,
    signal_is_whole,
    write_signal,
)

MANIFEST = Manifest.read(Path(__file__).parent / "kept" / f"schema-{SCHEMA}")
HEADS = sum(site.heads for site in MANIFEST.model.sites)
SIZES = {
    **{"group": 20, "head": HEADS, "relation": 3, "labels": 2, "side": 2, "d_head": 4},
    "bin": distance_bins(MANIFEST.settings.window_tokens),
}


def random_sums():
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.random([SIZES[axis] for axis in axes])
        for name, axes in {**SUMS, **REDUNDANCY}.items()
    }
    arrays["written"][:, 0] = np.nan
    return SignalSums(np.array([0, 2]), {"encoder": arrays})


def read(folder):
    return read_signal(folder, MANIFEST, within=folder)


def rewritten(folder, change):
    """The sums changed, with a receipt that fits them."""
    path = folder / FOLDER / FILE
    arrays = safetensors.numpy.load(path.read_bytes())
    change(arrays)
    path.write_bytes(safetensors.numpy.save(arrays))
    receipt = json.loads((folder / FOLDER / RECEIPT).read_text())
    receipt[FILE] = sha256(path.read_bytes()).hexdigest()
    (folder / FOLDER / RECEIPT).write_text(json.dumps(receipt))


def test_sums_come_back_as_they_were_written(tmp_path):
    sums = random_sums()
    write_signal(tmp_path, MANIFEST, sums, within=tmp_path)
    back = read(tmp_path)
    assert back.windows.tolist() == [0, 2]
    assert back.stacks["encoder"].keys() == sums.stacks["encoder"].keys()
    for name, values in sums.stacks["encoder"].items():
        np.testing.assert_array_equal(back.stacks["encoder"][name], values)
    assert signal_is_whole(tmp_path, MANIFEST, [0, 2], within=tmp_path)
    assert not signal_is_whole(tmp_path, MANIFEST, [0, 1], within=tmp_path)


def test_no_folder_is_no_signal_and_no_receipt_is_not_whole(tmp_path):
    assert read(tmp_path) is None
    write_signal(tmp_path, MANIFEST, random_sums(), within=tmp_path)
    (tmp_path / FOLDER / RECEIPT).unlink()
    assert read(tmp_path) is None
    assert not signal_is_whole(tmp_path, MANIFEST, [0, 2], within=tmp_path)


def test_damage_and_other_runs_are_refused(tmp_path):
    write_signal(tmp_path, MANIFEST, random_sums(), within=tmp_path)
    other = replace(MANIFEST, packages={**MANIFEST.packages, "torch": "0"})
    with pytest.raises(RunError, match="belongs to another run"):
        read_signal(tmp_path, other, within=tmp_path)
    path = tmp_path / FOLDER / FILE
    path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(RunError, match=r"is damaged.*analyze"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda a: a.pop("encoder/cosine"), "encoder/cosine"),
        (lambda a: a.update({"encoder/more": np.zeros(2)}), "unknown array"),
        (lambda a: a.update({"encoder/cosine": a["encoder/cosine"][:, 1:]}), "shape"),
        (lambda a: a.update({"encoder/pairs": -a["encoder/pairs"]}), "negative"),
        (lambda a: a["encoder/cosine"].fill(np.nan), "not finite"),
        (lambda a: a["encoder/write_length"].fill(np.inf), "not finite"),
        (lambda a: a.update({"encoder/pairs": a["encoder/pairs"].astype("f4")}), "type"),
    ],
)
def test_sums_that_do_not_fit_the_model_are_refused(tmp_path, change, complaint):
    write_signal(tmp_path, MANIFEST, random_sums(), within=tmp_path)
    rewritten(tmp_path, change)
    with pytest.raises(RunError, match=complaint) as refusal:
        read(tmp_path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("windows", [[], [2, 0], [0, 10**6], [0, "1"], None, [0, 0]])
def test_windows_that_the_run_does_not_have_are_refused(tmp_path, windows):
    write_signal(tmp_path, MANIFEST, random_sums(), within=tmp_path)
    path = tmp_path / FOLDER / RECEIPT
    path.write_text(json.dumps(json.loads(path.read_text()) | {"windows": windows}))
    with pytest.raises(RunError, match="names"):
        read(tmp_path)
