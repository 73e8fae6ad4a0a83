"""A run that is resumed after something happened to it: refused by name, or with equal numbers."""

import random
import shutil

import pyarrow.parquet as pq
import pytest

import headscope as hs
from headscope.errors import HeadscopeError, RunError
from headscope.measuring.shard import measure_shard
from headscope.system.progress import Progress
from tests.attack.run_forgery import (
    WINDOW_CHANGES,
    change_json,
    change_table,
    list_column,
    one_value,
    put_receipts_right,
)
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert


@pytest.fixture(scope="module")
def model():
    return loaded(tiny_bert())


@pytest.fixture(scope="module")
def analyse(tmp_path_factory, model):
    corpus = tmp_path_factory.mktemp("corpus")
    for number, text in enumerate(TEXTS):
        (corpus / f"{number}.txt").write_text(text)

    def run(out, model=model, progress=False):
        return hs.analyze(
            model,
            corpus,
            out=out,
            window=16,
            min_tokens=4,
            shard_windows=4,
            nulls=0,
            minimal=True,
            report=False,
            progress=progress,
        )

    return run


@pytest.fixture(scope="module")
def finished(analyse, tmp_path_factory):
    return analyse(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished.folder, tmp_path / "run")


def test_a_run_is_not_resumed_with_other_weights(analyse, copied):
    (copied / "shards" / "00001.json").unlink()
    with pytest.raises(RunError, match=r"holds another run \(model weights: .* / .*choose another"):
        analyse(copied, loaded(tiny_bert(seed=1)))
    assert not (copied / "shards" / "00001.json").exists()


@pytest.mark.parametrize("how", ["a row twice", "a row missing", "a row in place of another"])
def test_windows_that_are_not_those_of_the_corpus_are_not_measured(analyse, copied, how):
    """Manifest, counts, checksums and receipts all fit: only the corpus tells."""
    change_table(copied / "windows" / "00001.parquet", WINDOW_CHANGES[how], random.Random(0))
    sizes = [pq.read_metadata(p).num_rows for p in sorted((copied / "windows").iterdir())]
    change_json(copied / "manifest.json", ("corpus", "shard_texts"), sizes)
    change_json(copied / "manifest.json", ("corpus", "windows"), sum(sizes))
    put_receipts_right(copied)
    (copied / "shards" / "00001.json").unlink()
    with pytest.raises(RunError, match="cutting them again gives different ones"):
        analyse(copied)


def test_a_token_that_the_model_does_not_have_is_refused_in_one_line(model, copied):
    change = list_column("token_ids", one_value(200))
    change_table(copied / "windows" / "00000.parquet", change, random.Random(0))
    put_receipts_right(copied)
    run = hs.open_run(copied).files
    with pytest.raises(RunError, match=r"a token 200, but .* knows 200"):
        measure_shard(run, model, model.sites_of(None), 0)


def test_a_run_folder_moved_while_it_runs_ends_in_one_line_and_can_be_resumed(
    analyse, tmp_path, finished
):
    out, moved = tmp_path / "run", tmp_path / "moved"

    class MovesTheFolder(Progress):
        def note(self, event, **facts):
            if event == "shard" and facts["number"] == 0:
                out.rename(moved)

    with pytest.raises(HeadscopeError, match=r"is gone; if it was moved"):
        analyse(out, progress=MovesTheFolder())
    assert not out.exists()
    run = analyse(moved)
    assert run.rows().to_table().equals(finished.rows().to_table())
    assert run.arrays.identical(finished.arrays)


def test_a_shard_of_the_untrained_model_is_measured_again(analyse, copied, model, finished):
    swapped = hs.open_run(copied)
    other = analyse(copied.parent / "untrained", model.untrained(0))
    for ending in ("json", "parquet", "safetensors"):
        shutil.copy(other.folder / "shards" / f"00000.{ending}", copied / "shards")
    with pytest.raises(RunError, match="belongs to another run"):
        swapped.rows()
    run = analyse(copied)
    assert run.rows().to_table().equals(finished.rows().to_table())
    assert run.arrays.identical(finished.arrays)
