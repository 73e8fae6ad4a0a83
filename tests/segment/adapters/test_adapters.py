"""Adapters, with the real libraries: they give the spans of the core. Run by make test-adapters."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.segment.segmenter import Segmenter
from tests.segment.page_code import python_of

REPEATED = (
    "The same words. " * 12 + "\n\nOther words, at last! And the same words. The same words.  "
)
TEXTS = st.one_of(st.text(max_size=120), st.text(alphabet="ab .!\n", max_size=200))
OPTIONS = {"max_tokens": 12, "by": "sentence"}
ANY = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def segmenter(demo_model):
    return Segmenter(demo_model)


def adapter(name, library):
    pytest.importorskip(library, reason=f"{library} is not installed: make test-adapters runs this")
    return import_module(f"headscope.segment.adapters.{name}")


@ANY
@given(text=TEXTS, overlap=st.sampled_from([0, 4]))
def test_langchain_documents_are_the_chunks_at_their_exact_places(segmenter, text, overlap):
    langchain = adapter("langchain", "langchain_text_splitters")
    splitter = langchain.HeadscopeTextSplitter(
        segmenter, overlap=overlap, strip_whitespace=False, **OPTIONS
    )
    for one in (text, REPEATED):
        documents = splitter.create_documents([one], [{"source": "a"}])
        core = segmenter.chunk(one, overlap=overlap, **OPTIONS)
        found = [
            (d.metadata["start_index"], d.page_content, d.metadata["source"]) for d in documents
        ]
        assert found == [(chunk.start, chunk.text, "a") for chunk in core]


def test_langchain_strips_white_space_without_losing_places(segmenter):
    langchain = adapter("langchain", "langchain_text_splitters")
    splitter = langchain.HeadscopeTextSplitter(segmenter, **OPTIONS)
    from langchain_core.documents import Document

    documents = splitter.split_documents([Document(page_content=REPEATED), Document("  ")])
    assert len(documents) > 3
    for document in documents:
        start = document.metadata["start_index"]
        assert REPEATED[start : start + len(document.page_content)] == document.page_content
        assert document.page_content == document.page_content.strip() != ""
    assert splitter.split_text(REPEATED) == [document.page_content for document in documents]


@ANY
@given(text=TEXTS)
def test_llama_index_nodes_are_the_chunks_at_their_exact_places(segmenter, text):
    llama_index = adapter("llama_index", "llama_index.core")
    from llama_index.core import Document

    parser = llama_index.HeadscopeNodeParser(segmenter, **OPTIONS)
    for one in (text, REPEATED):
        nodes = parser.get_nodes_from_documents([Document(text=one, metadata={"source": "a"})])
        core = [chunk for chunk in segmenter.chunk(one, **OPTIONS) if chunk.text.strip()]
        places = [(node.start_char_idx, node.end_char_idx, node.text) for node in nodes]
        assert places == [(chunk.start, chunk.end, chunk.text) for chunk in core]
        assert all(node.metadata == {"source": "a"} for node in nodes)
    assert nodes[1].prev_node.node_id == nodes[0].node_id


@ANY
@given(text=TEXTS)
def test_chonkie_chunks_are_the_chunks(segmenter, text):
    chonkie = adapter("chonkie", "chonkie")
    chunker = chonkie.HeadscopeChunker(segmenter, **OPTIONS)
    for one, found in zip((text, REPEATED), chunker([text, REPEATED], False), strict=True):
        core = segmenter.chunk(one, **OPTIONS)
        assert [(c.text, c.start_index, c.end_index, c.token_count) for c in found] == [
            (chunk.text, chunk.start, chunk.end, chunk.tokens) for chunk in core
        ]
    assert chunker.tokenizer.count_tokens(REPEATED) == segmenter.token_counter()(REPEATED)


def test_haystack_runs_it_in_a_pipeline_and_saves_it(segmenter):
    haystack = adapter("haystack", "haystack")
    from haystack import Document, Pipeline

    pipeline = Pipeline()
    pipeline.add_component("split", haystack.HeadscopeDocumentSplitter(**OPTIONS))
    allowed = ["headscope.segment.adapters.haystack"]
    again = Pipeline.from_dict(pipeline.to_dict(), allowed_modules=allowed)
    source = Document(content=REPEATED, meta={"source": "a"})
    documents = again.run({"split": {"documents": [source]}})["split"]["documents"]
    core = segmenter.chunk(REPEATED, **OPTIONS)
    found = [(document.meta["split_idx_start"], document.content) for document in documents]
    assert found == [(chunk.start, chunk.text) for chunk in core]
    assert {document.meta["source_id"] for document in documents} == {source.id}


def test_spacy_sentences_are_the_spans(segmenter):
    spacy = pytest.importorskip("spacy", reason="make test-adapters runs this")
    adapter("spacy", "spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("headscope_sentences")
    text = "It was late. Nobody came! So we went home"
    assert [sent.text_with_ws for sent in nlp(text).sents] == segmenter.split(text)
    assert [len(list(nlp(one).sents)) for one in ("", "One", "  ")] == [0, 1, 1]


@pytest.mark.parametrize(
    ("name", "library", "found"),
    [
        ("langchain", "langchain_text_splitters", "documents"),
        ("llama_index", "llama_index.core", "nodes"),
        ("chonkie", "chonkie", "chunks"),
        ("haystack", "haystack", "documents"),
        ("spacy", "spacy", "sentences"),
    ],
)
def test_the_lines_of_the_page_run(name, library, found):
    adapter(name, library)
    (lines,) = [code for code in python_of("In other libraries") if name in code]
    names = {"text": REPEATED}
    exec(lines, names)
    assert len(names[found]) > 0
    assert str(getattr(names[found][0], "text", names[found][0])).find("The same words.") >= 0


def test_the_entry_point_of_spacy_is_the_factory():
    module = adapter("spacy", "spacy")
    facts = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    path = facts["project"]["entry-points"]["spacy_factories"]["headscope_sentences"]
    name, _, function = path.partition(":")
    assert getattr(import_module(name), function) is module.headscope_sentences
