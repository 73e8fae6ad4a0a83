"""A reach study in the folder of a run: roles, and a section of the report."""

import json
import shutil

import numpy as np
import pytest
import safetensors.numpy

import headscope as hs
from headscope.errors import RunError
from headscope.findings.reach.read import reach_of_run, read_reach
from headscope.run import open_run
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from tests.browser import open_page, sideways
from tests.faults.seed_files import KEPT

WORD_WIDTH = """section => {
  const th = section.querySelector("thead th"), range = document.createRange();
  range.selectNodeContents(th);
  return range.getClientRects().length > 1 ? Infinity : range.getBoundingClientRect().width;
}"""
"""Width of the first title, whose one word is to stand in one line."""
OPTIONS = {"window": 128, "windows": 20, "skip": ("shuffled", "untrained"), "progress": False}


@pytest.fixture(scope="module")
def studied(demo_run, tmp_path_factory):
    """A copy of the demo run with a study in it, and what the study found."""
    folder = tmp_path_factory.mktemp("studied") / "run"
    shutil.copytree(demo_run.folder, folder)
    found = hs.reach("demo", "demo", out=folder / "reach", layers=[1, 4], **OPTIONS)
    return open_run(folder), found


def test_a_study_is_read_without_its_model(studied):
    run, found = studied
    read = run.findings.reach
    assert read.about == found.about
    assert read.evidence.heads == list(found.evidence.heads)
    assert read.evidence.arrays.keys() == found.evidence.arrays.keys()
    for name, values in found.evidence.arrays.items():
        np.testing.assert_array_equal(read.evidence.arrays[name], values)


@pytest.fixture(scope="module")
def planted(studied, tmp_path_factory):
    """The same, with a head 4.3 that attends to phrases 64 tokens back and answers to them."""
    folder = tmp_path_factory.mktemp("planted") / "run"
    shutil.copytree(studied[0].folder, folder)
    study = RunFolder(folder / "reach", Manifest.read(folder / "reach"), folder)
    rng = np.random.default_rng(0)
    for number in range(study.manifest.shards):
        shard = study.shards.read(number)
        tokens = shard.arrays["repeats_again/tokens"][:, 1]
        size = shard.arrays["repeats_again/size"][:, 14, 1]  # row 14: twelve heads of layer 1, two
        noise = rng.normal(0, 0.02, (2, len(tokens)))
        shard.arrays["repeats_again/change"][:, 14, 1] = (0.9 + noise[0]) * size
        shard.arrays["repeats_before/change"][:, 14, 1] = 0
        shard.arrays["repeats_attention/first"][:, 14, 1] = (0.7 + noise[1]) * tokens
        shard.arrays["repeats_attention/control"][:, 14, 1] = 0.1 * tokens
        study.shards.write(number, shard)
    return open_run(folder)


def test_heads_that_look_up_are_among_the_roles_of_the_run(planted):
    strengths = planted.heads.set_index(["layer", "head"])["retrieval"]
    assert 0.5 < strengths[4, 3] < 0.6  # the attention, 0.6, to the lower end of its band
    assert (strengths.loc[[1, 4]].drop((4, 3)) == 0).all()
    assert strengths.loc[[2, 3, 5, 6]].isna().all()  # not measured
    roles = planted.roles.set_index(["layer", "head"])
    role = roles.loc[(4, 3)]
    assert "retrieval" in [role["role"], *role["others"].split(", ")]
    assert f"retrieval {strengths[4, 3]:.2f} (bar 0.10)" in role["evidence"]
    named = [roles["role"] == "retrieval", roles["others"].str.contains("retrieval")]
    assert (named[0] | named[1]).sum() == 1


def test_the_report_has_a_section_about_long_texts(planted, browser, tmp_path):
    run, found = planted, planted.findings.reach
    assert len(found.roles)
    address = run.report(tmp_path / "report.html").path.as_uri()
    opened = open_page(browser, address, width=390)
    page = opened.page
    section = page.locator("section[aria-labelledby=reach]")
    section.scroll_into_view_if_needed()
    opened.picture("report-reach-phone")
    # Context of this encoder is replaced beyond 8 and 32 tokens: nothing is shown of far use.
    pictures = section.locator("figure").all()
    assert [one.get_attribute("id") for one in pictures] == ["reach-curves", "reach-map"]
    cells = [row.split("\t") for row in section.locator("tbody tr").all_inner_texts()]
    assert [row[0] for row in cells] == ["1", "4"]
    reach = found.layers["reach"]
    assert [row[1] for row in cells] == ["-" if np.isnan(one) else f"{one:.0f}" for one in reach]
    assert section.locator("li").count() == len(found.roles)
    # The farthest distance at which this encoder's use of context was measured is named.
    assert "use of context and similarity at 32 to 47 tokens agree by" in section.inner_text()
    # No word of a title is broken, on a phone either.
    assert section.locator("thead th").first.bounding_box()["width"] >= section.evaluate(WORD_WIDTH)
    assert sideways(page) == []
    assert opened.complaints == []
    page.close()


def test_a_run_without_a_study_has_no_such_section(demo_run):
    assert demo_run.findings.reach is None
    assert "retrieval" not in demo_run.heads
    assert 'id="reach"' not in (demo_run.folder / "report.html").read_text()


def test_a_study_of_another_model_is_refused(studied, tmp_path):
    run, _ = studied
    folder = tmp_path / "other"
    shutil.copytree(run.folder, folder)
    path = folder / "manifest.json"
    values = json.loads(path.read_text())
    values["model"]["tokenizer_hash"] = "0" * 64
    path.write_text(json.dumps(values))
    with pytest.raises(RunError, match="move the study away"):
        reach_of_run(RunFolder.open(folder))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more/sums": np.zeros((2, 1))}, "does not fit the study"),
        ({"intact/counts": np.zeros((2, 3, 5))}, "does not fit the study"),
        ({"use/tokens": np.full((2, 13), np.inf)}, "does not fit the study"),
        (None, "is not finished"),
    ],
)
def test_a_damaged_study_is_refused_in_a_line(studied, tmp_path, change, words):
    run, _ = studied
    folder = tmp_path / "reach"
    shutil.copytree(run.folder / "reach", folder)
    study = RunFolder(folder, Manifest.read(folder))
    if change is None:
        study.shards.path(1, "json").unlink()
    else:
        shard = study.shards.read(1)
        shard.arrays.update(change)
        study.shards.write(1, shard)
        assert safetensors.numpy.load_file(study.shards.path(1, "safetensors"))
    with pytest.raises(RunError, match=words):
        read_reach(study)


@pytest.mark.parametrize("distances", ["1,x", "5", "8,4", "0,4", "1,4096", None, 7])
def test_damaged_distances_are_refused(studied, tmp_path, distances):
    run, _ = studied
    folder = tmp_path / "reach"
    shutil.copytree(run.folder / "reach", folder)
    path = folder / "manifest.json"
    values = json.loads(path.read_text())
    values["study"]["settings"]["distances"] = distances
    path.write_text(json.dumps(values))
    with pytest.raises(RunError, match="its distances"):
        read_reach(RunFolder(folder, Manifest.read(folder)))


def test_old_runs_have_no_study():
    for path in sorted(KEPT.iterdir()):
        if (path / "manifest.json").exists():
            assert open_run(path).findings.reach is None
