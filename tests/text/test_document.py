from dataclasses import replace

from headscope.text.document import CorpusHasher, Document, Word

DOCUMENT = Document("a", "One. Two.", ((0, 4), (5, 9)), (Word(0, 3, "one", "NUM"),), "x")


def digest(*documents):
    hasher = CorpusHasher()
    for document in documents:
        hasher.update(document)
    return hasher.hexdigest()


def test_equal_corpora_have_equal_hashes():
    assert digest(DOCUMENT, DOCUMENT) == digest(DOCUMENT, replace(DOCUMENT))


def test_any_change_changes_the_hash():
    variants = [
        (),
        (DOCUMENT,),
        (DOCUMENT, DOCUMENT),
        (replace(DOCUMENT, id="b"),),
        (replace(DOCUMENT, text="One. Two!"),),
        (replace(DOCUMENT, sentences=((0, 9),)),),
        (replace(DOCUMENT, sentences=None),),
        (replace(DOCUMENT, words=()),),
        (replace(DOCUMENT, words=None),),
        (replace(DOCUMENT, words=(Word(0, 3, "two", "NUM"),)),),
        (replace(DOCUMENT, label=None),),
        (replace(DOCUMENT, label=""),),
        (replace(DOCUMENT, id="aO", text="ne. Two."),),
    ]
    assert len({digest(*documents) for documents in variants}) == len(variants)
