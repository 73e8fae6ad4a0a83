"""Corpora that are Python objects: lists of texts, tables, datasets; and what is refused."""

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headscope as hs
from headscope.errors import CorpusError
from headscope.text.corpus import read_corpus
from headscope.text.in_memory import Sources, corpus_sources, names_source
from headscope.text.readers.columns import Columns
from tests.compare.tiny_bert import TEXTS, tiny_bert, tokenizer_of_all
from tests.nursery import FRESH

QUICK = {"min_tokens": 2, "nulls": 0, "report": False, "progress": False, "permutations": 0}


@pytest.fixture(scope="module")
def model():
    return hs.load_model(tiny_bert(), tokenizer=tokenizer_of_all())


def texts_of(corpus, **columns):
    return [document.text for document in read_corpus(corpus, Columns(**columns))]


def tables():
    rows = {"name": list("abcdef"), "body": TEXTS}
    return {
        "pandas": pd.DataFrame(rows, index=range(10, 16)),
        "pyarrow": pa.table(rows),
        "datasets": datasets.Dataset.from_dict(rows),
        "streaming dataset": datasets.Dataset.from_dict(rows).to_iterable_dataset(),
        "dicts": [{"name": n, "body": t} for n, t in zip(*rows.values(), strict=True)],
    }


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "datasets", "streaming dataset", "dicts"])
def test_a_table_of_any_library_is_its_column_of_texts(kind):
    documents = list(read_corpus(tables()[kind], Columns(text="body", id="name")))
    assert [document.text for document in documents] == TEXTS
    assert [document.id for document in documents] == list("abcdef")
    with pytest.raises(CorpusError, match="no column 'text'; its columns are: 'name', 'body'"):
        texts_of(tables()[kind])


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, iter])
def test_texts_in_any_sequence_are_texts(make):
    assert texts_of(make(TEXTS)) == TEXTS


def test_missing_texts_of_a_table_are_left_out_like_empty_ones():
    frame = pd.DataFrame({"text": ["one", None, float("nan"), pd.NA, "two"]})
    assert texts_of(frame) == ["one", "two"]
    assert texts_of(frame["text"]) == ["one", "two"]


def test_a_text_in_chinese_has_no_white_space_and_is_a_text():
    assert texts_of(["今天天气很好。", "猫坐在垫子上。"]) == ["今天天气很好。", "猫坐在垫子上。"]


def test_names_are_known_by_what_exists_and_what_looks_like_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd name").write_text("A text.")
    names = ["demo", "-", "hf:a/b", "odd name", "gone.txt", "my gone.CSV.gz", "a/b", r"a\b"]
    assert [name for name in names if not names_source(name)] == []
    texts = ["Some text.", "either/or is a choice", "word", "", "x" * 5000, "a\0b", "One\ntwo.txt"]
    assert [text for text in texts if names_source(text)] == []


def test_a_list_of_names_is_read_as_files_and_a_missing_one_is_refused(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"The text of {name[0]}.")
    assert texts_of([tmp_path / "a.txt", str(tmp_path / "b.txt")]) == [
        "The text of a.",
        "The text of b.",
    ]
    with pytest.raises(CorpusError, match=r"no such file or folder: no file\.txt"):
        texts_of(["no file.txt"])
    with pytest.raises(CorpusError, match=r"no such file.*a text itself into a list: \[text\]"):
        texts_of("A single text is the name of a source.")
    # What a command was given is a name, whatever it looks like.
    with pytest.raises(CorpusError, match="no such file or folder: Some text"):
        texts_of(Sources(["Some text"]))


@pytest.mark.parametrize(
    ("corpus", "says"),
    [
        (None, "the corpus is a NoneType; pass the name of a source"),
        (3, "the corpus is an int"),
        ([], "the corpus is an empty list"),
        (["A text.", None], "item 2 of the corpus is a NoneType"),
        (["A text.", "demo"], "mixes names and texts: 'demo' names a source, 'A text.' does not"),
        ({"train": [], "test": []}, "a dict of 'train', 'test'; pass one of its values"),
        (b"A text.", "the corpus is a bytes"),
    ],
)
def test_what_is_no_corpus_is_refused_with_the_way_out(corpus, says):
    with pytest.raises(CorpusError, match=says):
        corpus_sources(corpus)


def test_a_split_of_a_dataset_has_to_be_chosen():
    splits = datasets.DatasetDict(train=datasets.Dataset.from_dict({"text": TEXTS}))
    with pytest.raises(CorpusError, match="dict of 'train'"):
        corpus_sources(splits)


def test_columns_of_a_list_of_texts_are_refused():
    with pytest.raises(CorpusError, match="have no id and no label"):
        texts_of(TEXTS, id="name")


def test_a_run_over_a_list_equals_one_over_the_same_texts_in_a_file(model, tmp_path):
    frame = pd.DataFrame({"body": TEXTS})
    frame.to_json(tmp_path / "texts.jsonl", orient="records", lines=True)
    file = hs.analyze(
        model, tmp_path / "texts.jsonl", text_column="body", out=tmp_path / "f", **QUICK
    )
    listed = hs.analyze(model, TEXTS, out=tmp_path / "l", **QUICK)
    table = hs.analyze(model, frame, text_column="body", out=tmp_path / "t", **QUICK)
    for run in (listed, table):
        pd.testing.assert_frame_equal(run.heads, file.heads)
    assert listed.manifest.corpus.sources == ("6 texts in memory",)
    assert table.manifest.corpus.sources == ("6 rows in memory",)


def test_the_same_texts_are_the_same_run_and_others_another(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = hs.analyze(model, TEXTS, **QUICK)
    again = hs.analyze(model, tuple(TEXTS), **QUICK)
    other = hs.analyze(model, TEXTS[::-1], **QUICK)
    assert first.folder == again.folder != other.folder
    assert again.manifest.created == first.manifest.created, "it was resumed, not made anew"
    with pytest.raises(hs.HeadscopeError, match="holds another run"):
        hs.analyze(model, TEXTS[::-1], out=first.folder, **QUICK)


CALLS = """
import headscope as hs
import torch
model = hs.load_model("demo")
segmenter = hs.Segmenter(model)
for call in (
    lambda: hs.look(model, ["One text.", "Another."]),
    lambda: hs.look(model, None),
    lambda: hs.look(model, torch.tensor([101, 102])),
    lambda: hs.look(model, b"Some text."),
    lambda: hs.look(model, "Some text.", pairs=0.01),
    lambda: hs.look(model, "Some text.", layers=3),
    lambda: hs.look(model, "Some text.", window="8"),
    lambda: hs.analyze(model, pairs=0.01),
    lambda: hs.analyze(model, layers=3),
    lambda: hs.analyze(model, texts="100"),
    lambda: hs.analyze(model, window=64.5),
    lambda: hs.analyze(model, attention_threshold="0.3"),
    lambda: hs.analyze(model, minimal="yes"),
    lambda: hs.analyze(model, None),
    lambda: hs.analyze(None, "demo"),
    lambda: hs.look(torch.nn.Linear(2, 2), "Some text."),
    lambda: hs.look(model.model, "Some text."),
    lambda: hs.look(model.model, "Some text.", tokenizer="bert"),
    lambda: hs.look(model, "Some text.", tokenizer=object()),
    lambda: segmenter.split(None),
    lambda: segmenter.split(["A text.", 3]),
    lambda: hs.match_heads(model, model, "Some text."),
):
    try:
        call()
        print("NOT REFUSED")
    except Exception as error:
        print(type(error).__name__, str(error), sep=": ")
"""

SAID = """
CorpusError: the text is a list, not a string; pass one text at a time
CorpusError: the text is None, not a string; pass a string
CorpusError: the text is a Tensor, not a string; pass the text itself
CorpusError: the text is a bytes, not a string; decode it
SettingsError: pairs: 0.01 is a float; write a rule such as 'top:0.01' or 'max:0.3'
SettingsError: layers: 3 is an int; give a list of layers, such as [1, 6, 11]
SettingsError: window: '8' is a str; give a whole number
SettingsError: pairs: 0.01 is a float; write a rule
SettingsError: layers: 3 is an int; give a list of layers
SettingsError: texts: '100' is a str; give a whole number
SettingsError: window: 64.5 is a float; give a whole number
SettingsError: attention threshold: '0.3' is a str; give a number
SettingsError: minimal: 'yes' is a str; give True or False
CorpusError: the corpus is a NoneType; pass the name of a source
ModelError: the model is a NoneType; pass 'demo', a model folder, a hub id
ModelError: the model is a Linear; pass 'demo'
ModelError: model came without its tokenizer; pass tokenizer=
ModelError: the tokenizer is a str; pass one of transformers
ModelError: tokenizer: demo is loaded and has its own; pass the tokenizer to hs.load_model
CorpusError: the text is None, not a string; pass a string
CorpusError: the text is an int, not a string; pass a string
CorpusError: the texts are one string; put it into a list
"""


def test_wrong_types_get_a_line_that_says_what_to_do(nursery, demo_model, tmp_path):
    # In a process of its own: tests check types of arguments before headscope does.
    ended = nursery.run(FRESH + CALLS, [], cwd=tmp_path)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    starts = SAID.strip().splitlines()
    assert len(lines) == len(starts), ended.out
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)
    assert list(tmp_path.iterdir()) == []


def test_a_transformers_model_with_its_tokenizer_is_taken_everywhere(tmp_path):
    plain, tokenizer = tiny_bert(), tokenizer_of_all()
    loaded = hs.load_model(tiny_bert(), tokenizer=tokenizer_of_all())
    view = hs.look(plain, TEXTS[0], tokenizer=tokenizer)
    np.testing.assert_array_equal(view.attention, hs.look(loaded, TEXTS[0]).attention)
    run = hs.analyze(plain, TEXTS, tokenizer=tokenizer, out=tmp_path / "run", **QUICK)
    named = hs.analyze(loaded, TEXTS, out=tmp_path / "other", **QUICK)
    pd.testing.assert_frame_equal(run.heads, named.heads)
