"""MODEL@REVISION: revisions of a model in the hub's cache, without a network."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest
import torch

import headscope as hs
from headscope.errors import ModelError
from headscope.models.source import find_model
from tests.models.families import FAMILIES, build
from tests.text.tiny_tokenizers import word_level

COMMITS = {"main": "a" * 40, "step1000": "b" * 40, "refs/pr/1": "b" * 40}
"""The commits that branches and tags of the cached model are at."""
NAME = "nobody/tiny"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub cache as huggingface_hub lays it out, with two commits of one model."""
    folder = tmp_path_factory.mktemp("hub") / "models--nobody--tiny"
    for commit, scale in {"a" * 40: 1.0, "b" * 40: 2.0}.items():
        model = build(FAMILIES[0])
        with torch.no_grad():
            model.get_input_embeddings().weight.mul_(scale)
        model.save_pretrained(folder / "snapshots" / commit)
        word_level().save_pretrained(folder / "snapshots" / commit)
    for ref, commit in COMMITS.items():
        path = folder / "refs" / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(commit)
    return folder.parent


@pytest.fixture(autouse=True)
def offline(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What HF_HUB_CACHE and HF_HUB_OFFLINE=1 set."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def test_revisions_of_a_model_load_apart() -> None:
    main, plain, later, same = (
        hs.load_model(name)
        for name in (f"{NAME}@main", NAME, f"{NAME}@step1000", f"{NAME}@{'b' * 40}")
    )
    assert main.weights_hash == plain.weights_hash
    assert later.weights_hash == same.weights_hash != main.weights_hash
    assert (later.name, later.revision) == (f"{NAME}@step1000", "b" * 40)
    assert (plain.name, plain.revision) == (NAME, "a" * 40)


def test_a_branch_may_have_slashes() -> None:
    assert find_model(f"{NAME}@refs/pr/1").path.name == "b" * 40


def test_the_manifest_has_the_revision(tmp_path: Path) -> None:
    run = hs.analyze(
        f"{NAME}@step1000",
        [{"text": "the cat sat on the mat " * 3}],
        window=16,
        min_tokens=4,
        nulls=0,
        out=tmp_path / "run",
        report=False,
        progress=False,
    )
    model = hs.open_run(run.folder).manifest.model
    assert (model.name, model.revision) == (f"{NAME}@step1000", "b" * 40)


def test_a_folder_with_an_at_sign_is_a_folder(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cache / "models--nobody--tiny" / "snapshots" / ("a" * 40)
    shutil.copytree(snapshot, tmp_path / "nobody" / "tiny@step1000")
    monkeypatch.chdir(tmp_path)
    for spec in ("nobody/tiny@step1000", "./nobody/tiny@step1000", Path("nobody/tiny@step1000")):
        found = find_model(spec)
        assert (found.name, found.revision) == ("tiny@step1000", None)
        assert found.path == tmp_path / "nobody" / "tiny@step1000"


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        (f"{NAME}@step2000", r"nobody/tiny@step2000 is not on this machine"),
        (f"{NAME}@", "names no revision after @"),
        ("demo@main", "the demo model has one version"),
        ("./nobody/tiny@step1000", "no such folder"),
        ("a/b/c@main", "no such folder"),
        ("no name!@main", "'no name!' is not a model name"),
    ],
)
def test_what_names_no_revision_is_refused(spec: str, match: str) -> None:
    with pytest.raises(ModelError, match=match):
        find_model(spec)
