"""robustness/: what is written comes back; what is damaged is refused in one line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from headscope.errors import RunError
from headscope.runs.choice_files import (
    FILES,
    FOLDER,
    ChoiceTables,
    choices_are_whole,
    read_choices,
    write_choices,
)
from headscope.runs.manifest import Manifest
from headscope.runs.sample_receipt import RECEIPT
from headscope.settings import SIMILARITY_VARIANTS, SWEEP_ATTENTION

HEADS = {"encoder": (2, 3), "decoder": (2,)}
"""Heads of each layer."""


def two_stacks() -> Manifest:
    """The manifest of a kept run, with layers of different widths."""
    manifest = Manifest.read(Path(__file__).parent / "kept" / "schema-3")
    site = manifest.model.sites[0]
    sites = tuple(
        replace(site, stack=stack, layer=layer, heads=heads)
        for stack, layers in HEADS.items()
        for layer, heads in enumerate(layers, 1)
    )
    return replace(manifest, model=replace(manifest.model, sites=sites))


MANIFEST = two_stacks()
RULES = tuple(map(str, dict.fromkeys(MANIFEST.settings.every_rule)))


@pytest.fixture
def tables() -> ChoiceTables:
    rng = np.random.default_rng(0)

    def cells(units: int, *choices: int, names=("pairs", "other")) -> dict[str, np.ndarray]:
        return {name: rng.random((3, units, *choices)).astype(np.float32) for name in names}

    return ChoiceTables(
        windows=np.array([1, 3, 5]),
        similarities=SIMILARITY_VARIANTS,
        rules=RULES,
        thresholds=SWEEP_ATTENTION,
        heads={stack: cells(sum(heads), 3, len(RULES)) for stack, heads in HEADS.items()},
        layers={stack: cells(len(heads), 3, len(RULES)) for stack, heads in HEADS.items()},
        attention={
            stack: cells(len(heads), len(SWEEP_ATTENTION)) for stack, heads in HEADS.items()
        },
    )


def test_tables_come_back_as_they_were_written(tmp_path, tables):
    tables.heads["encoder"]["other"][1, 2, 0, 1] = np.nan
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    back = read_choices(tmp_path, MANIFEST, within=tmp_path)
    assert back.windows.tolist() == [1, 3, 5]
    assert back.similarities == tables.similarities
    assert back.rules == tables.rules
    assert back.thresholds == tables.thresholds
    for name in ("heads", "layers", "attention"):
        for stack in HEADS:
            ours, theirs = getattr(tables, name)[stack], getattr(back, name)[stack]
            assert ours.keys() == theirs.keys()
            for column, values in ours.items():
                np.testing.assert_array_equal(theirs[column], values)


def test_every_row_says_what_it_is_about(tmp_path, tables):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    frame = pq.read_table(tmp_path / FOLDER / "heads.parquet").to_pandas()
    row = frame.query(
        "text == 3 and stack == 'encoder' and layer == 2 and head == 3 "
        "and similarity == 'cosine' and pair_rule == 'max:0.3'"
    )
    assert row["pairs"].tolist() == [
        tables.heads["encoder"]["pairs"][1, 4, 2, RULES.index("max:0.3")]
    ]
    frame = pq.read_table(tmp_path / FOLDER / "attention.parquet").to_pandas()
    row = frame.query(
        "text == 5 and stack == 'decoder' and layer == 1 and attention_threshold == 0.3"
    )
    assert row["other"].tolist() == [
        tables.attention["decoder"]["other"][2, 0, SWEEP_ATTENTION.index(0.3)]
    ]


def test_a_run_without_tables_has_none(tmp_path):
    assert read_choices(tmp_path, MANIFEST, within=tmp_path) is None
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3, 5], within=tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_damaged_tables_are_refused_in_one_line(tmp_path, tables, name, damage):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    assert choices_are_whole(tmp_path, MANIFEST, [1, 3, 5], within=tmp_path)
    path = tmp_path / FOLDER / name
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content if damage == "flipped" else content[:-5])
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3, 5], within=tmp_path)
    with pytest.raises(RunError, match=f"{name}.*delete that folder") as refused:
        read_choices(tmp_path, MANIFEST, within=tmp_path)
    assert "\n" not in str(refused.value)


def test_a_damaged_receipt_is_refused_and_measured_again(tmp_path, tables):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    (tmp_path / FOLDER / RECEIPT).write_text('{"windows": [4')
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3, 5], within=tmp_path)
    with pytest.raises(RunError) as refused:
        read_choices(tmp_path, MANIFEST, within=tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("windows", [1, 3]),
        ("windows", "all"),
    ],
)
def test_a_receipt_that_does_not_fit_its_tables_is_refused_in_one_line(
    tmp_path, tables, key, value
):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    receipt = tmp_path / FOLDER / RECEIPT
    receipt.write_text(json.dumps(json.loads(receipt.read_text()) | {key: value}))
    with pytest.raises(RunError, match="cannot be read") as refused:
        read_choices(tmp_path, MANIFEST, within=tmp_path)
    assert "\n" not in str(refused.value)


def test_tables_of_other_windows_do_not_count(tmp_path, tables):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3, 6], within=tmp_path)
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3], within=tmp_path)


def test_tables_without_a_receipt_do_not_count(tmp_path, tables):
    write_choices(tmp_path, MANIFEST, tables, within=tmp_path)
    (tmp_path / FOLDER / RECEIPT).unlink()
    assert not choices_are_whole(tmp_path, MANIFEST, [1, 3, 5], within=tmp_path)
    assert read_choices(tmp_path, MANIFEST, within=tmp_path) is None
