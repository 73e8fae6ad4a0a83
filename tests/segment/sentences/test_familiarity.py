"""Texts in languages that the weights do not know: found by rules, and said so."""

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from headscope.segment.evaluation.baselines import punctuation_split, visible_starts
from headscope.segment.evaluation.peers import installed_peers
from headscope.segment.metrics import BoundaryCounts, count_boundaries
from headscope.segment.segmenter import Segmenter
from headscope.segment.sentences.familiarity import FAMILIAR, Familiarity
from headscope.text.corpus import read_corpus
from headscope.text.sentences import split_sentences

CORPORA = Path(__file__).parents[4] / "shared/corpora"
GERMAN = (
    "Der Zug hatte wieder Verspätung, und wir warteten fast eine Stunde am Bahnsteig. Niemand "
    "sagte uns etwas. Was soll man machen? Ich werde morgen einen Brief an die Firma schreiben, "
    "obwohl das vermutlich nichts ändert. "
)
ENGLISH = (
    "The train was late again, and we waited for almost an hour on the platform. Nobody told us "
    "anything. What can you do about it? I will write a letter to the company tomorrow. "
)


@pytest.fixture(scope="module")
def segmenter(demo_model):
    return Segmenter(demo_model)


def test_an_unknown_language_is_told_and_cut_by_rules(segmenter):
    scores = segmenter.boundary_scores([GERMAN, ENGLISH])
    assert [one.by_rules for one in scores] == [True, False]
    assert scores[0].confidence < FAMILIAR < scores[1].confidence <= 1
    rules = [GERMAN[start:end] for start, end in split_sentences(GERMAN)]
    assert segmenter.split(GERMAN) == rules
    assert len(rules) == 4
    assert segmenter.explain(GERMAN).empty


def test_unpunctuated_text_in_an_unknown_language_is_not_cut_at_random(segmenter):
    bare = "".join(letter for letter in GERMAN if letter not in ".,?").lower() * 4
    scores = segmenter.boundary_scores(bare)
    assert (scores.mode, scores.by_rules) == ("unpunctuated", True)
    assert segmenter.split(bare) == [bare]
    short = (
        "nous avons attendu le train pendant une heure sur le quai personne ne nous a rien dit que "
        "peut on faire je vais demain une lettre a la compagnie"
    )
    assert segmenter.boundary_scores(short).by_rules
    assert segmenter.split(short) == [short]


def test_a_few_words_are_given_the_benefit_of_the_doubt(segmenter):
    assert segmenter.confidence("Guten Morgen!") > FAMILIAR
    assert segmenter.confidence("") == 1


def test_chinese_is_cut_without_spaces_and_quotes_are_closed_first(segmenter):
    text = "他来了。我走了！“你好吗？”她问。『好。』」他说完了。" * 5  # noqa: RUF001
    cut = segmenter.split(text)
    assert cut[:4] == ["他来了。", "我走了！", "“你好吗？”", "她问。"]  # noqa: RUF001
    assert "".join(cut) == text
    assert segmenter.boundary_scores(text).by_rules


def test_familiarity_is_the_share_of_the_commonest_tokens(demo_model):
    texts = [ENGLISH, "the the the a a b"]
    familiarity = Familiarity.of(demo_model, texts)
    encode = demo_model.tokenizer.encode
    ids = np.concatenate([encode(text).token_ids for text in texts])
    marks = encode(". , ?").token_ids
    assert set(familiarity.tokens) == set(ids.tolist()) - set(marks.tolist())
    assert familiarity.share == 1, "fewer than a hundred kinds: all are common"
    one_in_three = "letter qqq qqq " * 200
    words = len(encode(one_in_three).token_ids)
    expected = (200 + 8) / (words + 8)
    assert familiarity.confidence(demo_model, one_in_three) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("file", "space"),
    [("de-gsd", " "), ("fr-sequoia", " "), ("nl-alpino", " "), ("zh-gsd", "")],
)
def test_treebanks_of_other_languages_are_cut_as_well_as_by_the_best_rules(segmenter, file, space):
    path = CORPORA / f"{file}-dev.conllu.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the repository")
    sentences = [
        document.text[start:end].strip()
        for document in read_corpus([path])
        for start, end in document.sentences
    ]
    rows = [sentences[first : first + 20] for first in range(0, len(sentences), 20)][:12]
    texts = [space.join(row) for row in rows]
    wanted = [
        list(accumulate(len("".join(sentence.split())) for sentence in row))[:-1] for row in rows
    ]

    def f1(found):
        counts = BoundaryCounts()
        for starts, gold in zip(found, wanted, strict=True):
            counts += count_boundaries(starts, gold)
        return counts.f1

    others = {name: split for name, split in installed_peers() if name in ("nupunkt", "pysbd")}
    others["marks"] = punctuation_split
    best = max(f1([visible_starts(split(text)) for text in texts]) for split in others.values())
    ours = f1([visible_starts(pieces) for pieces in segmenter.split(texts)])
    assert ours >= best - 0.005
    assert ours > 0.85
