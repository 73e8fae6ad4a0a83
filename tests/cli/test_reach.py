"""What `headscope reach` prints, where only some of the layers reach."""

from dataclasses import replace

import pytest

from headscope.cli.reach import ReachOutput, _print
from headscope.reach.reach import Reach
from tests.reach.built_models import copying_and_reading_model, random_windows, reach_of


@pytest.fixture(scope="module")
def found() -> Reach:
    windows = random_windows(20, 256, seed=8, distance=70)
    result = reach_of(copying_and_reading_model(), windows, skip=("shuffled", "untrained"))
    about = {"model": "built", "documents": 20, "window": 256, "folder": "FOLDER"}
    return Reach(result.evidence, about)


def test_layers_without_reach_have_a_dash_and_heads_are_named_with_evidence(found, capsys):
    layers = found.layers
    layers.loc[0, ["reach", "half", "most"]] = 48.0
    layers["decay"] = ["power law", None]
    assert layers["decay"].isna().tolist() == [False, True]
    _print(found, ReachOutput())
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if line.strip()[:2] in ("1 ", "2 ")]
    assert rows[0][:2] == ["1", "48"]
    assert rows[0][-2:] == ["power", "law"]
    assert rows[1][-1] == "-"
    assert "heads that look up what came before, layer.head: 1.1\n" in said
    assert f"the clearest, 1.1: {found.roles['evidence'].iloc[0]}" in said
    assert "heads that follow what others looked up, layer.head: 2.1\n" in said
    assert said.endswith("folder  FOLDER\n")


def test_of_fewer_than_twenty_documents_nothing_is_said_about_heads(found, capsys):
    arrays = {name: values[:9] for name, values in found.evidence.arrays.items()}
    few = Reach(replace(found.evidence, arrays=arrays), found.about)
    _print(few, ReachOutput())
    said = capsys.readouterr().out.splitlines()
    assert said[-2].startswith("fewer than 20 documents answer nothing")
    assert said[-1] == "folder  FOLDER"
    assert not [line for line in said if "heads" in line or "agrees" in line]
