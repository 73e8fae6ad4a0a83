"""Texts that cannot be measured: named, left out of every number, counted; the run goes on."""

import json

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import MeasurementError
from headscope.models.loaded import LoadedModel
from headscope.text.corpus import read_corpus
from tests.cli.conftest import command
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert
from tests.demo_texts import QUICK

__all__ = ["command"]  # a fixture

POISON = "z"
OPTIONS = {
    **QUICK,
    "permutations": 0,
    "min_tokens": 4,
    "window": 64,
    "id_column": "id",
    "shard_windows": 6,
}
GOOD = [
    {"id": f"good-{place}", "text": " ".join([text] * (1 + place % 2))}
    for place, text in enumerate(TEXTS * 3)
]
BAD = [{"id": f"bad-{place}", "text": f"{text} {POISON}"} for place, text in enumerate(TEXTS[:3])]


def write_corpus(path, documents):
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def poisoned(value: float, layer: int) -> LoadedModel:
    """A model that writes `value` behind a layer wherever one certain token stands."""
    model = loaded(tiny_bert())
    (poison,) = model.tokenizer.encode(POISON).token_ids
    seen = []

    def remember(module, args, kwargs):
        seen[:] = [kwargs["input_ids"]]

    def spoil(module, args, output):
        hidden = output[0] if isinstance(output, tuple) else output
        hidden[seen[0] == int(poison)] = value

    model.model.register_forward_pre_hook(remember, with_kwargs=True)
    spoiled = model.model.embeddings if layer == 0 else model.model.encoder.layer[layer - 1]
    spoiled.register_forward_hook(spoil)
    return model


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """The run over the good texts alone, by a model that is in order."""
    folder = tmp_path_factory.mktemp("without")
    corpus = write_corpus(folder / "texts.jsonl", GOOD)
    return hs.analyze(loaded(tiny_bert()), corpus, out=folder / "run", **OPTIONS)


def assert_same_numbers(run: hs.Run, other: hs.Run) -> None:
    assert set(run.arrays.variables) == set(other.arrays.variables)
    for name, array in run.arrays.data_vars.items():
        np.testing.assert_allclose(
            array, other.arrays[name], rtol=2e-4, atol=2e-4, equal_nan=True, err_msg=name
        )


@pytest.mark.parametrize(("value", "layer"), [(float("nan"), 0), (float("inf"), 1), (1e38, 1)])
def test_texts_that_give_nan_or_infinity_are_named_and_change_no_number(
    without, tmp_path, value, layer
):
    """Behind layer 1: then its numbers are measured before the text is known to be bad."""
    documents = [*GOOD[:2], BAD[0], *GOOD[2:9], BAD[1], *GOOD[9:], BAD[2]]
    corpus = write_corpus(tmp_path / "texts.jsonl", documents)
    run = hs.analyze(poisoned(value, layer), corpus, out=tmp_path / "run", **OPTIONS)
    assert [text.document for text in run.left_out] == ["bad-0", "bad-1", "bad-2"]
    windows = run.windows().to_table(columns=["document"])["document"].to_pylist()
    assert [windows[text.text] for text in run.left_out] == ["bad-0", "bad-1", "bad-2"]
    assert {text.kind for text in run.left_out} == {"not finite"}
    assert f"layer {layer + 1} (encoder) writes NaN" in run.left_out[0].reason
    measured = set(run.rows().to_table(columns=["text"])["text"].to_pylist())
    assert len(measured) == len(GOOD)
    assert_same_numbers(run, without)


@pytest.mark.long
def test_a_shard_of_bad_texts_alone_is_no_hindrance(without, tmp_path, capsys):
    """The first shard, from which others take the shape of the table."""
    corpus = write_corpus(tmp_path / "texts.jsonl", [*BAD, *BAD, *GOOD])
    options = OPTIONS | {"progress": True, "nulls": 3, "null_seeds": 2}
    run = hs.analyze(poisoned(float("nan"), 0), corpus, out=tmp_path / "run", **options)
    assert len(run.left_out) == 6
    assert_same_numbers(run, without)
    said = capsys.readouterr().err
    assert "left out window 0 of document 'bad-0': layer 1 (encoder) writes NaN" in said
    assert "left out 1 more windows" in said
    page = run.report().path.read_text()
    assert "6 (6 not finite) windows" in page
    assert "bad-2" in page
    run.stability()
    run.claims()


def test_info_and_analyze_count_the_texts_left_out(command, tmp_path):
    corpus = write_corpus(tmp_path / "texts.jsonl", [*GOOD, BAD[1]])
    run = hs.analyze(poisoned(float("nan"), 0), corpus, out=tmp_path / "run", **OPTIONS)
    told = command("info", run.folder).out
    assert "1 (1 not finite) windows" in told
    assert "document 'bad-1'" in told
    told = command("info", run.folder, "--json").out
    assert json.loads(told)["left out"][0]["document"] == "bad-1"


def test_merging_keeps_the_names_of_texts_left_out(without, tmp_path):
    corpus = write_corpus(tmp_path / "bad.jsonl", [BAD[0], *({**d, "id": "x"} for d in GOOD[:3])])
    other = hs.analyze(poisoned(float("nan"), 0), corpus, out=tmp_path / "other", **OPTIONS)
    # The same weights, but for what hooks do, which no hash can see.
    merged = hs.merge([without.folder, other.folder], tmp_path / "merged", report=False)
    assert [(text.text, text.document) for text in merged.left_out] == [(len(GOOD), "bad-0")]
    texts = merged.rows().to_table(columns=["text"])["text"].to_pylist()
    assert sorted(set(texts)) == [*range(len(GOOD)), *range(len(GOOD) + 1, len(GOOD) + 4)]


def test_a_run_without_a_single_good_text_fails_and_says_why(tmp_path):
    corpus = write_corpus(tmp_path / "texts.jsonl", BAD)
    with pytest.raises(MeasurementError, match=r"no window of the run .*bad-0.*dtype=.float32"):
        hs.analyze(poisoned(float("nan"), 0), corpus, out=tmp_path / "run", **OPTIONS)


SHORT_OF_MEMORY = """
import json, re, resource, sys
from pathlib import Path
import torch
import headscope as hs
from tests.faults.test_texts_left_out import OPTIONS, hungry
corpus, out = sys.argv[1:]
model = hungry()
options = OPTIONS | {"window": 128, "shard_windows": 100, "batch_tokens": 100_000}
hs.analyze(model, corpus, out=Path(out) / "warm", **options | {"texts": 1})
now = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 400 * 2**20, -1))
hs.analyze(model, corpus, out=Path(out) / "run", **options)
"""


def hungry() -> LoadedModel:
    """A model whose memory grows with the square of the length: 200 MB for texts of 40 tokens."""
    model = loaded(tiny_bert())

    def eat(module, args, output):
        hidden = output[0] if isinstance(output, tuple) else output
        batch, tokens, _ = hidden.shape
        torch.ones(batch * tokens**2, 32768)

    model.model.encoder.layer[0].register_forward_hook(eat)
    return model


def test_a_batch_too_large_for_memory_is_halved_and_a_text_too_large_left_out(nursery, tmp_path):
    """Memory is really limited, and allocations really fail."""
    long = {"id": "long", "text": " ".join(TEXTS)}
    corpus = write_corpus(tmp_path / "texts.jsonl", [*GOOD[:4], long, *GOOD[4:]])
    ended = nursery.run(SHORT_OF_MEMORY, [corpus, tmp_path])
    assert ended.code == 0, ended.err
    run = hs.open_run(tmp_path / "run")
    (left_out,) = run.left_out
    assert (left_out.document, left_out.kind, left_out.text) == ("long", "memory", 4)
    assert "tokens" in left_out.reason
    assert len(set(run.rows().to_table(columns=["text"])["text"].to_pylist())) == len(GOOD)
    assert len(list(read_corpus([corpus]))) == len(GOOD) + 1
