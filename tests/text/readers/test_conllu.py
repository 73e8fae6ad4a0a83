import gzip

from headscope.text.corpus import read_corpus
from headscope.text.document import Word
from headscope.text.readers.columns import Columns


def read(tmp_path, lines, columns=None):
    """The documents of lines that give id, form, lemma and part of speech, and after | the rest."""
    path = tmp_path / "a.conllu"
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            if line and not line.startswith("#"):
                fields, _, misc = line.partition(" | ")
                line = "\t".join([*fields.split(), *"_____", misc or "_"])
            file.write(line + "\n")
    return list(read_corpus([path], columns))


def test_sentences_and_words_are_exact_spans(tmp_path):
    (document,) = read(
        tmp_path,
        [
            "# newdoc id = mail-7",
            "# text = Cats sat.",
            "1 Cats cat NOUN",
            "2 sat sit VERB | SpaceAfter=No",
            "3 . . PUNCT",
            "",
            "1 Go go VERB",
            "",
            "# newpar",
            "1 End end NOUN",
            "",
        ],
    )
    assert document.text == "Cats sat. Go\n\nEnd"
    assert [document.text[a:b] for a, b in document.sentences] == ["Cats sat.", "Go", "End"]
    assert document.words[:2] == (Word(0, 4, "cat", "NOUN"), Word(5, 8, "sit", "VERB"))
    written = [document.text[word.start : word.end] for word in document.words]
    assert written == ["Cats", "sat", ".", "Go", "End"]
    assert document.label == "mail"


def test_multiword_tokens_and_empty_nodes(tmp_path):
    (document,) = read(
        tmp_path,
        [
            "1-2 don't _ _",
            "1 do do AUX",
            "2 n't not PART",
            "2.1 hidden hide VERB",
            "3-4 du _ _ | SpaceAfter=No",
            "3 de de ADP",
            "4 le le DET",
            "5 _ _ PUNCT",
        ],
    )
    assert document.text == "don't du_"
    assert document.words == (
        Word(0, 2, "do", "AUX"),
        Word(2, 5, "not", "PART"),
        Word(6, 8, "de le", "ADP"),
        Word(8, 9, "_", "PUNCT"),
    )


def conllu_with_heads(tmp_path, rows):
    path = tmp_path / "arcs.conllu"
    lines = [
        "\t".join([i, form, form, "X", "_", "_", head, "_", "_", "_"]) for i, form, head in rows
    ]
    path.write_text("\n".join(lines) + "\n\n" + "1\tEnd\tend\tX\t_\t_\t0\t_\t_\t_\n\n")
    (document,) = read_corpus([path])
    return document


def test_heads_are_numbers_of_words_in_the_document(tmp_path):
    document = conllu_with_heads(
        tmp_path,
        [("1", "big", "2"), ("2", "cats", "3"), ("3", "sat", "0"), ("4", "down", "3")],
    )
    assert [word.head for word in document.words] == [1, 2, 2, 2, 4]  # roots govern themselves


def test_a_word_of_several_is_governed_from_outside(tmp_path):
    """French "du" is one word here; its parts "de" and "le" hang on "pain" and on each other."""
    rows = [("1-2", "du", "_"), ("1", "de", "3"), ("2", "le", "1"), ("3", "pain", "0")]
    document = conllu_with_heads(tmp_path, rows)
    assert [word.head for word in document.words] == [1, 1, 2]


def test_heads_that_are_not_given_or_nonsense_are_none_or_roots(tmp_path):
    rows = [("1", "a", "_"), ("2", "b", "x"), ("3", "c", "99"), ("4", "d", "-1")]
    document = conllu_with_heads(tmp_path, rows)
    assert [word.head for word in document.words] == [None, None, 2, None, 4]


def test_text_comments_win_only_where_the_words_lie_in_them(tmp_path):
    document, other = read(
        tmp_path,
        [
            "# newdoc id = a",
            "# text = Two  spaces",
            "1 Two two NUM",
            "2 spaces space NOUN",
            "",
            "# newdoc id = b",
            "# text = Something else",
            "1 Two two NUM",
            "2 words word NOUN",
        ],
    )
    assert document.text == "Two  spaces"
    assert other.text == "Two words"


def test_scripts_without_spaces_stay_without(tmp_path):
    (document,) = read(
        tmp_path,
        ["1 日本 _ NOUN | SpaceAfter=No", "2 。 _ PUNCT | SpaceAfter=No", "", "1 次 _ NOUN"],
    )
    assert document.text == "日本。次"
    assert document.sentences == ((0, 3), (3, 4))
    assert document.words[0].lemma is None


def test_a_comment_can_hold_the_label(tmp_path):
    lines = ["# newdoc id = x-1", "# meta::genre = news", "# topic = art", "1 Hi hi INTJ"]
    assert read(tmp_path, lines)[0].label == "news"
    assert read(tmp_path, lines, columns=Columns(label="topic"))[0].label == "art"
    assert read(tmp_path, lines, columns=Columns(label="nothing"))[0].label is None


def test_a_real_treebank_agrees_with_its_own_text_comments(corpora):
    documents = list(read_corpus([corpora / "ewt-dev.conllu.gz"]))
    assert len(documents) == 318
    assert {d.label for d in documents} == {"weblog", "newsgroup", "email", "reviews", "answers"}
    with gzip.open(corpora / "ewt-dev.conllu.gz", "rt", encoding="utf-8") as lines:
        expected = [line[9:].rstrip("\n") for line in lines if line.startswith("# text = ")]
    found = [d.text[a:b] for d in documents for a, b in d.sentences]
    assert found == [text.strip() for text in expected]
