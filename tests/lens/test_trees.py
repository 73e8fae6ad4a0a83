"""Probes of distances in dependency trees: against plain loops, and on planted states."""

import itertools
import shutil

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import headscope as hs
from headscope.errors import CorpusError, ModelError
from headscope.lens.tree_probe import TreeExample, fit_tree_maps, tree_distances
from headscope.lens.trees import Tree, edges_found, rank_agreement, trees_of
from headscope.text.corpus import read_corpus
from headscope.text.windows import iter_windows
from tests.intervene.small_models import write_model
from tests.lens.test_words import treebank
from tests.lens.texts import write_texts

OPTIONS = {"window": 30, "min_tokens": 6, "texts": None, "progress": False, "probe": "distances"}
SENTENCE = [
    # Form, and the number of the word that governs it; 0 for the root.
    ("Yesterday", 4),
    ("the", 3),
    ("children", 4),
    ("saw", 0),
    (",", 10),
    ("unbelievably", 9),
    ("a", 9),
    ("green", 9),
    ("bird", 4),
    ("singing", 9),
    (".", 4),
]


def conllu(path, sentences):
    lines = ["# newdoc id = d0"]
    for words in sentences:
        lines.append("# text = " + " ".join(form for form, _ in words))
        lines += [
            f"{place}\t{form}\t{form}\tX\t_\t_\t{head}\tdep\t_\t_"
            for place, (form, head) in enumerate(words, start=1)
        ]
        lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


def path_length(heads, one, other):
    """Number of edges between two words, from 1, by walking up to the root."""

    def up(word):
        way = [word]
        while heads[way[-1]]:
            way.append(heads[way[-1]])
        return way

    first, second = up(one), up(other)
    meeting = next(word for word in first if word in second)
    return first.index(meeting) + second.index(meeting)


def test_distances_are_path_lengths_between_words_without_punctuation(tmp_path, demo_model):
    corpus = conllu(tmp_path / "t.conllu", [SENTENCE, SENTENCE])
    (window,) = iter_windows(read_corpus([str(corpus)]), demo_model.tokenizer, window_tokens=64)
    one, other = trees_of(window)
    heads = {place: head for place, (_, head) in enumerate(SENTENCE, start=1)}
    kept = [place for place, (form, _) in enumerate(SENTENCE, start=1) if form.isalpha()]
    expected = [[path_length(heads, a, b) for b in kept] for a in kept]
    for tree in (one, other):
        np.testing.assert_array_equal(tree.distances, expected)
    # The state of a word is that of its last token.
    ends = window.ends[one.tokens].tolist()
    text = " ".join(form for form, _ in SENTENCE)
    assert [text[:end].split()[-1] for end in ends] == [SENTENCE[place - 1][0] for place in kept]


def test_a_sentence_that_a_window_tears_apart_is_left_out(tmp_path, demo_model):
    corpus = conllu(tmp_path / "t.conllu", [SENTENCE, SENTENCE])
    documents = read_corpus([str(corpus)])
    windows = list(iter_windows(documents, demo_model.tokenizer, window_tokens=24, min_tokens=4))
    assert len(windows) > 1
    for window in windows:
        roots = window.head_ids == window.word_ids
        for tree in trees_of(window):
            sentence = window.sentence_ids[tree.tokens[0]]
            inside = (window.sentence_ids == sentence) & roots
            assert len(np.unique(window.word_ids[inside])) == 1
            assert (tree.distances < 10).all()
    assert sum(len(trees_of(window)) for window in windows) < 2 * len(windows)


@pytest.fixture
def tree():
    heads = {place: head for place, (_, head) in enumerate(SENTENCE, start=1)}
    distances = [[path_length(heads, a, b) for b in heads] for a in heads]
    return Tree(np.arange(len(heads)), np.array(distances))


def test_agreement_and_edges_equal_plain_computations(tree):
    found = np.random.default_rng(0).random(tree.distances.shape)
    found += found.T
    n = len(found)
    for word, value in enumerate(rank_agreement(found, tree)):
        others = [other for other in range(n) if other != word]
        expected = spearmanr(found[word, others], tree.distances[word, others]).statistic
        assert value == pytest.approx(expected)
    # Kruskal: the shortest edges that close no circle.
    component = list(range(n))
    hits = 0
    for a, b in sorted(itertools.combinations(range(n), 2), key=lambda pair: found[pair]):
        if component[a] != component[b]:
            hits += tree.distances[a, b] == 1
            component = [component[a] if c == component[b] else c for c in component]
    assert edges_found(found, tree) == (hits, n - 1)
    assert edges_found(tree.distances.astype(float), tree) == (n - 1, n - 1)


def test_words_equally_far_from_all_others_count_nowhere():
    star = np.full((6, 6), 2)
    star[0], star[:, 0] = 1, 1
    np.fill_diagonal(star, 0)
    agreement = rank_agreement(star.astype(float), Tree(np.arange(6), star))
    assert np.isnan(agreement[0])
    np.testing.assert_allclose(agreement[1:], 1)
    flat = rank_agreement(np.ones((6, 6)), Tree(np.arange(6), star))
    np.testing.assert_array_equal(flat[1:], 0)


def random_tree(rng, n):
    """Distances in a random tree, and a word's path from the root as a sum of unit vectors."""
    paths = np.zeros((n, n), dtype=np.float32)
    for word in range(1, n):
        paths[word] = paths[rng.integers(word)]
        paths[word, word] = 1
    return np.abs(paths[:, None] - paths).sum(-1).astype(np.int64), paths


def test_maps_find_trees_where_states_hold_them_and_nowhere_else():
    """Layer 1 holds them in a few rotated directions; layer 2 holds noise."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(24, 24)))[0].astype(np.float32)
    examples = []
    for _ in range(150):
        distances, paths = random_tree(rng, 10)
        noise = 2 * rng.normal(size=(2, 10, 24)).astype(np.float32)
        noise[0, :, :10] = paths
        noise[0] = noise[0] @ turn
        examples.append(TreeExample(torch.from_numpy(noise), distances))
    maps = fit_tree_maps(examples[:100])
    agreement = [[], []]
    for example in examples[100:]:
        tree = Tree(np.arange(10), example.distances)
        for place, found in enumerate(tree_distances(maps, example.states).double().numpy()):
            agreement[place].append(np.nanmean(rank_agreement(found, tree)))
    assert np.mean(agreement[0]) > 0.7
    assert abs(np.mean(agreement[1])) < 0.1


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    model = write_model("bert", folder / "model")
    corpus = treebank(folder / "t.conllu", documents=8)
    return model, corpus, hs.lens(model, corpus, out=folder / "study", **OPTIONS, shard_windows=4)


def test_a_study_has_agreement_and_edges_of_every_layer(study):
    model, corpus, found = study
    assert found.outcome == "distances"
    assert found.positions == 8 * 4 * 5
    # In this treebank every word governs the next: the tree is the order of the words.
    assert {name: one.value for name, one in found.linear_distance.items()} == pytest.approx(
        {"tree_distance": 1, "tree_edges": 1}
    )
    values = found.to_json()
    assert [layer["layer"] for layer in values["layers"]] == [0, 1, 2]
    for layer in values["layers"]:
        for name in ("tree_distance", "tree_edges"):
            one = layer["probe"][name]
            assert -1 <= one["low"] <= one["value"] <= one["high"] <= 1
    # The embeddings have the place of each word, from which order can be read.
    assert values["layers"][0]["probe"]["tree_distance"]["value"] > 0.2
    assert {path.stem for path in found.write_figures()} == {"lens-layers"}
    part = shutil.copytree(found.folder, found.folder.parent / "part")
    for path in (part / "shards").glob("00001.*"):
        path.unlink()
    assert hs.lens(model, corpus, out=part, **OPTIONS, shard_windows=4).to_json() == values


def test_what_has_no_trees_is_refused(study, tmp_path):
    with pytest.raises(CorpusError, match="marks no dependencies"):
        hs.lens(study[0], write_texts(tmp_path), out=tmp_path / "a", **OPTIONS)
    t5 = write_model("t5", tmp_path / "t5")
    with pytest.raises(ModelError, match="encoder-decoder"):
        hs.lens(t5, study[1], out=tmp_path / "b", **OPTIONS)
