"""A lens study in the folder of a run: columns of its heads, and a section of the report."""

import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headscope as hs
from headscope.errors import RunError
from headscope.findings.lens.in_run import lens_of_run
from headscope.run import open_run
from headscope.runs.folder import RunFolder
from tests.browser import open_page
from tests.intervene.small_models import write_model
from tests.lens.texts import OPTIONS, write_texts


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """A run of a random masked language model with a study of the lens and of heads in it."""
    folder = tmp_path_factory.mktemp("studied")
    model, corpus = write_model("bert-masked", folder / "model"), write_texts(folder)
    options = {**OPTIONS, "positions": 3}
    run = hs.analyze(
        model, corpus, out=folder / "run", window=12, min_tokens=6, nulls=0, progress=False
    )
    found = hs.lens(model, corpus, out=run.folder / "lens", heads=True, **options)
    return open_run(run.folder), found


def test_heads_of_a_run_have_what_guesses_lose_without_them(studied):
    run, found = studied
    columns = [
        f"{reading}_{effect}"
        for reading in ("lens", "lens_unmasked")
        for effect in ("entropy_increase", "loss_increase", "kl")
    ]
    keys = ["stack", "layer", "head"]
    assert [name for name in run.heads if name.startswith("lens_")] == columns
    joined = run.heads.sort_values(keys).set_index(keys)[columns]
    own = found.heads.sort_values(keys).set_index(keys)[columns]
    pd.testing.assert_frame_equal(joined, own, check_index_type=False)
    assert {"write_strength", "mean_distance"} <= set(run.heads)
    assert len(run.roles) == len(run.heads)


def test_the_report_has_a_section_about_what_layers_know(studied, browser, tmp_path):
    run, found = studied
    opened = open_page(browser, run.report(tmp_path / "report.html").path.as_uri(), width=390)
    section = opened.page.locator("section[aria-labelledby=lens]")
    section.scroll_into_view_if_needed()
    opened.picture("report-lens-phone")
    pictures = [one.get_attribute("id") for one in section.locator("figure").all()]
    assert {"lens-layers", "lens-frequency", "lens-heads", "lens-roles"} <= set(pictures)
    cells = [row.split("\t") for row in section.locator("tbody tr").all_inner_texts()]
    assert [row[0] for row in cells] == ["0", "1", "2"]
    entropy = [layer.readings["lens"]["entropy"].value for layer in found.layers]
    assert [row[1] for row in cells] == [f"{value:.2f}" for value in entropy]


def test_runs_without_a_study_have_no_section(demo_run):
    assert demo_run.findings.lens is None
    assert not any(name.startswith("lens_") for name in demo_run.heads)
    assert 'id="lens"' not in demo_run.report().path.read_text()


def damaged(studied, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(studied[0].folder, folder)
    return RunFolder.open(folder), folder / "lens"


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "<script>"},
        {"layers": [{"stack": "encoder", "layer": -1}]},
        {"layers": [{"stack": "encoder", "layer": 1, "entropy": {"value": "1"}}]},
        {"layers": {"stack": "encoder"}},
        {"positions": True},
        {"confused": [{"tokens": [1], "confusions": []}]},
        {"model": "m" * 2000},
    ],
)
def test_a_damaged_result_is_refused(change, studied, tmp_path):
    run, study = damaged(studied, tmp_path)
    values = json.loads((study / "study.json").read_text())
    (study / "study.json").write_text(json.dumps(values | change))
    with pytest.raises(RunError, match=r"study.json is damaged; delete it"):
        lens_of_run(run)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.assign(head=table["head"] + 4),
        lambda table: pd.concat([table, table]),
        lambda table: table.assign(lens_kl=np.inf),
        lambda table: table.assign(lens_kl="1"),
        lambda table: table.assign(other=1.0),
        lambda table: table.drop(columns="stack"),
    ],
)
def test_a_damaged_table_of_heads_is_refused(change, studied, tmp_path):
    run, study = damaged(studied, tmp_path)
    table = change(pd.read_parquet(study / "lens.parquet"))
    table = table.astype({name: "int32" for name in ("layer", "head") if name in table})
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), study / "lens.parquet")
    with pytest.raises(RunError, match=r"lens.parquet cannot be read"):
        lens_of_run(run)


def test_unfinished_studies_and_those_of_other_models_are_refused(studied, tmp_path):
    run, study = damaged(studied, tmp_path)
    next((study / "shards").glob("*.json")).unlink()
    with pytest.raises(RunError, match="is not finished"):
        lens_of_run(run)
    manifest = json.loads((study / "manifest.json").read_text())
    manifest["model"]["name"] = "another"
    (study / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="is a study of another"):
        lens_of_run(run)
