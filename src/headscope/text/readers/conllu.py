"""CoNLL-U: documents with gold sentences, words, lemmas, parts of speech and dependencies.

The format: https://universaldependencies.org/format.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headscope.errors import CorpusError, shortened
from headscope.text.document import Document, Word
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import MAX_TEXT_BYTES, SourceFile

_N_FIELDS = 10
_HEAD = re.compile(r"[0-9]{1,9}")
_TOKEN_ID = re.compile(r"(\d+)(?:-(\d+)|\.\d+)?")


@dataclass(frozen=True, slots=True)
class _Token:
    """A stretch of the text: a word, or several that are written as one (a multiword token)."""

    form: str
    space_after: bool
    words: list["_TokenWord"]


class _TokenWord(NamedTuple):
    form: str
    lemma: str
    upos: str
    number: int
    """From 1 in its sentence."""
    head: int | None
    """The number of the word that governs it, 0 for none; None where that is not given."""


@dataclass(slots=True)
class _Sentence:
    comments: dict[str, str] = field(default_factory=dict)
    tokens: list[_Token] = field(default_factory=list)
    open_range_end: int = 0
    """The last word of the multiword token that is being read."""


def read_conllu(source: SourceFile, columns: Columns | None = None) -> Iterator[Document]:
    """The documents of a .conllu file, in order; a file without `# newdoc` is one document.

    The label is the comment `# genre = ...` (or `# meta::genre`; `columns.label` names another one)
    of the document's first sentence, otherwise the part of the document's id before its first "-",
    where treebanks like EWT keep the domain.
    """
    label_key = columns.label if columns is not None else None
    building: _DocumentBuilder | None = None
    for number, sentence in enumerate(_sentences(source), start=1):
        if building is None or _is_new(sentence, "newdoc"):
            if building is not None:
                yield building.document()
            building = _DocumentBuilder(source.name, number, sentence.comments, label_key)
        building.add(sentence)
    if building is not None:
        yield building.document()


class _DocumentBuilder:
    """Collects sentences into one document, with sentence and word spans that fit its text."""

    def __init__(
        self, source_name: str, number: int, comments: dict[str, str], label_key: str | None
    ) -> None:
        given_id = comments.get("newdoc id")
        if given_id is not None:
            self.id = given_id
        else:
            self.id = source_name if number == 1 else f"{source_name}:{number}"
        key = label_key or "genre"
        self.label = comments.get(key, comments.get(f"meta::{key}"))
        if self.label is None and label_key is None and given_id is not None and "-" in given_id:
            self.label = given_id.partition("-")[0] or None
        self.parts: list[str] = []
        self.n_characters = 0
        self.sentences: list[tuple[int, int]] = []
        self.words: list[Word] = []
        self.space_after = True

    def add(self, sentence: _Sentence) -> None:
        if self.parts:
            joint = " " if self.space_after else ""
            self._append("\n\n" if _is_new(sentence, "newpar") else joint)
        start = self.n_characters
        text, offsets = _sentence_text(sentence)
        first = len(self.words)
        place: dict[int, int] = {}  # of each word of the sentence among those of the document
        heads: list[int | None] = []
        for token, offset in zip(sentence.tokens, offsets, strict=True):
            for word, parts in _words(token, start + offset):
                place |= {part.number: len(self.words) for part in parts}
                heads.append(_head_of(parts))
                self.words.append(word)
        for at, head in enumerate(heads, start=first):
            if head is not None:
                # A root governs itself, and so does a word whose head is not in the sentence.
                self.words[at] = replace(self.words[at], head=place.get(head, at))
        self._append(text)
        self.sentences.append((start, self.n_characters))
        self.space_after = sentence.tokens[-1].space_after

    def document(self) -> Document:
        return Document(
            self.id, "".join(self.parts), tuple(self.sentences), tuple(self.words), self.label
        )

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self.n_characters += len(text)


def _sentence_text(sentence: _Sentence) -> tuple[str, list[int]]:
    """The text of a sentence and where each of its tokens starts.

    The comment `# text` where the tokens lie in it with nothing but space between them, otherwise
    the tokens joined by SpaceAfter.
    """
    text = sentence.comments.get("text", "")
    offsets: list[int] = []
    cursor = 0
    for token in sentence.tokens:
        found = text.find(token.form, cursor)
        if found < 0 or text[cursor:found].strip():
            break
        offsets.append(found)
        cursor = found + len(token.form)
    else:
        if not text[cursor:].strip():
            return text[:cursor], offsets
    offsets.clear()
    parts: list[str] = []
    cursor = 0
    for token in sentence.tokens:
        offsets.append(cursor)
        part = token.form + (" " if token.space_after else "")
        parts.append(part)
        cursor += len(part)
    return "".join(parts).rstrip(" "), offsets


def _words(token: _Token, start: int) -> Iterator[tuple[Word, list[_TokenWord]]]:
    """The words of a token with their spans, and the words of the sentence that each stands for.

    A multiword token whose words are not simply its parts (French "du" = "de" + "le") becomes one
    word with all its lemmas and the part of speech of the first.
    """
    if "".join(part.form for part in token.words) == token.form:
        for part in token.words:
            form = part.form
            lemma = part.lemma if part.lemma != "_" or form == "_" else None
            yield Word(start, start + len(form), lemma, _unless_empty(part.upos)), [part]
            start += len(form)
        return
    lemmas = [part.lemma for part in token.words if part.lemma != "_"]
    first_upos = _unless_empty(token.words[0].upos) if token.words else None
    word = Word(start, start + len(token.form), " ".join(lemmas) or None, first_upos)
    yield word, token.words


def _head_of(parts: list[_TokenWord]) -> int | None:
    """What governs a word, from outside it: 0 for a root; None where that is not given."""
    numbers = {part.number for part in parts}
    heads = [part.head for part in parts if part.head is not None]
    return next((head for head in heads if head not in numbers), None)


def _sentences(source: SourceFile) -> Iterator[_Sentence]:
    sentence = _Sentence()
    n_characters = 0  # of the lines of a document, words and annotations
    with source.feed() as feed:
        while line := feed.line_with_text():
            if feed.after_blank and sentence.tokens:
                yield sentence
                sentence = _Sentence()
            line = line.rstrip("\r\n")
            where = f"{shortened(source.name)} line {feed.number}"
            if line.startswith("#") and not sentence.tokens:
                key, _, value = line[1:].partition("=")
                sentence.comments[key.strip()] = value.strip()
                n_characters = 0 if _is_new(sentence, "newdoc") else n_characters
            else:
                _add_line(sentence, line, where)
            n_characters += len(line)
            if n_characters > MAX_TEXT_BYTES:
                raise CorpusError(
                    f"{where}: a document of more than {MAX_TEXT_BYTES >> 20} MiB; "
                    "divide it with # newdoc"
                )
    if sentence.tokens:
        yield sentence


def _add_line(sentence: _Sentence, line: str, where: str) -> None:
    fields = line.split("\t")
    if len(fields) != _N_FIELDS:
        raise CorpusError(
            f"{where} is not CoNLL-U: {len(fields)} tab-separated fields instead of {_N_FIELDS}; "
            "correct that line"
        )
    token_id, form, lemma, upos = fields[:4]
    head = int(fields[6]) if _HEAD.fullmatch(fields[6]) else None
    match = _TOKEN_ID.fullmatch(token_id)
    if match is None or len(token_id) > 18:
        raise CorpusError(
            f"{where} is not CoNLL-U: the token id is {token_id[:20]!r}; correct that line"
        )
    if not form.strip():
        raise CorpusError(f"{where} is not CoNLL-U: the word is empty; correct that line")
    if "." in token_id:
        return  # an empty node: it stands for an elided word, and has no place in the text
    space_after = "SpaceAfter=No" not in fields[9].split("|")
    if match[2] is not None:
        sentence.tokens.append(_Token(form, space_after, []))
        sentence.open_range_end = int(match[2])
    elif int(match[1]) <= sentence.open_range_end:
        sentence.tokens[-1].words.append(_TokenWord(form, lemma, upos, int(match[1]), head))
    else:
        word = _TokenWord(form, lemma, upos, int(match[1]), head)
        sentence.tokens.append(_Token(form, space_after, [word]))


def _is_new(sentence: _Sentence, what: str) -> bool:
    """True at a `# newdoc` or `# newpar` comment, with or without an id."""
    return what in sentence.comments or f"{what} id" in sentence.comments


def _unless_empty(value: str) -> str | None:
    return None if value == "_" else value


CONLLU = Reader(
    name="conllu",
    endings=(".conllu",),
    read=read_conllu,
    holds="documents with gold sentences, words, lemmas and dependencies",
)
