import gzip
import io
import json
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.errors import CorpusError
from headscope.text.corpus import read_corpus
from headscope.text.readers import file_endings, source_file
from headscope.text.readers.columns import Columns

ROWS = [
    {"text": "One. “Zwei”,\nthree.", "key": "a", "genre": "news"},
    {"text": "Second, text", "key": "b", "genre": None},
]
CONLLU = "# newdoc id = mail-1\n# text = It is.\n" + "".join(
    "\t".join([str(i), form, form, "X", *"______"]) + "\n"
    for i, form in enumerate(["It", "is."], start=1)
)


def write(path, data):
    if isinstance(data, str):
        data = data.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


def parquet_bytes(rows):
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


CONTENT = {
    ".txt": "A text.\n\nIts end.",
    ".md": "# A *text*",
    ".jsonl": "\n".join(json.dumps(row) for row in ROWS) + "\n\n",
    ".csv": 'text,key,genre\n"One. “Zwei”,\nthree.",a,news\n"Second, text",b\n',
    ".tsv": 'text\tkey\tgenre\n"One. “Zwei”,\nthree."\ta\tnews\t\t\nSecond, text\tb\t\n',
    ".parquet": parquet_bytes(ROWS),
    ".conllu": CONLLU,
}


@pytest.mark.parametrize("compressed", ["", ".gz"])
@pytest.mark.parametrize("kind", file_endings())
def test_every_kind_of_file_is_read(tmp_path, kind, compressed):
    path = write(tmp_path / f"corpus{kind}{compressed}", CONTENT[kind])
    documents = list(read_corpus([path]))
    if kind in (".txt", ".md"):
        assert [(d.id, d.text) for d in documents] == [(path.name, CONTENT[kind])]
    elif kind == ".conllu":
        assert [(d.id, d.text, d.label) for d in documents] == [("mail-1", "It is.", "mail")]
    else:
        assert [d.text for d in documents] == [row["text"] for row in ROWS]
        assert [d.id for d in documents] == [f"{path.name}:1", f"{path.name}:2"]


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_columns_are_taken_by_name(tmp_path, kind):
    path = write(tmp_path / f"c{kind}", CONTENT[kind])
    documents = read_corpus([path], Columns("key", id="text", label="genre"))
    first, second = documents
    assert (first.text, first.id, first.label) == ("a", ROWS[0]["text"], "news")
    assert not second.label


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_a_missing_column_is_named_with_those_there_are(tmp_path, kind):
    path = write(tmp_path / f"c{kind}", CONTENT[kind])
    with pytest.raises(CorpusError, match=r"no column 'body'.*'text', 'key', 'genre'"):
        list(read_corpus([path], Columns("body")))


def test_a_folder_is_read_in_order_and_strange_files_are_passed_over(tmp_path):
    (tmp_path / "b").mkdir()
    write(tmp_path / "b" / "1.txt", "third")
    write(tmp_path / "a.txt", "first")
    write(tmp_path / "a2.TXT.gz", "second")
    write(tmp_path / "picture.png", b"\0\1")
    write(tmp_path / ".hidden.txt", "hidden")
    documents = list(read_corpus([str(tmp_path)]))
    found = [(document.id, document.text) for document in documents]
    assert found == [("a.txt", "first"), ("a2.TXT.gz", "second"), ("b/1.txt", "third")]


def test_standard_input_is_one_document(monkeypatch):
    stdin = SimpleNamespace(buffer=io.BytesIO(b"A text.\n\nMore."))
    monkeypatch.setattr(sys, "stdin", stdin)
    (document,) = read_corpus(["-"])
    assert (document.id, document.text) == ("stdin", "A text.\n\nMore.")


def test_sources_follow_each_other_and_are_read_lazily(tmp_path):
    good = write(tmp_path / "a.jsonl", '{"text": "x"}\nbroken')
    documents = read_corpus(["demo", good])
    assert next(document.text for document in documents if document.id == "a.jsonl:1") == "x"
    with pytest.raises(CorpusError, match=r"a\.jsonl line 2 is not valid JSON"):
        next(documents)


def test_a_byte_order_mark_is_dropped(tmp_path):
    for kind in (".txt", ".jsonl", ".csv", ".conllu"):
        content = b"\xef\xbb\xbf" + CONTENT[kind].encode()
        with_mark = list(read_corpus([write(tmp_path / f"a{kind}", content)]))
        without = list(read_corpus([write(tmp_path / f"a{kind}", CONTENT[kind])]))
        assert with_mark == without


def test_the_library_for_hub_datasets_reads_local_folders(tmp_path):
    write(tmp_path / "train.jsonl", CONTENT[".jsonl"])
    documents = list(read_corpus([f"hf:{tmp_path}"], Columns(id="key", label="genre")))
    assert [(d.id, d.text, d.label) for d in documents] == [
        ("a", ROWS[0]["text"], "news"),
        ("b", ROWS[1]["text"], None),
    ]
    for source, message in [(f"hf:{tmp_path}:nosuch", "nosuch"), ("hf:", "NAME")]:
        with pytest.raises(CorpusError, match=message) as caught:
            list(read_corpus([source]))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"good\nbad \xff byte", r"0xff at position 9 \(line 2\)"),
        ("a.jsonl", b'{"text": "x"}\n{"text": "\xe9"}', r"0xe9 at position 24 \(line 2\)"),
        ("a.txt", b"bin\0ary", r"binary file: NUL at byte 3 \(line 1\)"),
        ("a.txt", "text".encode("utf-16"), "UTF-16"),
        ("a.txt", b" \n ", "no text"),
        ("a.jsonl", b"\n\n", "no text"),
        ("a.csv", b"text\n", "no text"),
        ("a.jsonl", b'{"text": "x"}\n[1]', "line 2 is not a JSON object"),
        ("a.jsonl", b"[" * 100_000, "line 1 is not valid JSON"),
        ("a.jsonl", b'{"text": 5}', "holds int, not text"),
        ("a.jsonl", b'{"text": "\\ud800"}', "half a surrogate pair"),
        ("a.csv", b"text,b\nx,y\nx,y,z\n", "line 3 has 3 cells, the header has 2"),
        ("a.csv", b'text\n"open', "line 2"),
        ("a.conllu", b"1\tIt\tit\n", "line 1 is not CoNLL-U: 3 tab"),
        ("a.conllu", b"\n\nx" + b"\t_" * 9, "line 3 is not CoNLL-U: the token id is 'x'"),
        ("a.parquet", b"PAR1 not really", "as Parquet"),
        ("a.xyz", b"text", "no known format.*conllu"),
        ("a", b"text", "no known format"),
    ],
)
def test_bad_input_is_named_in_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message) as caught:
        list(read_corpus([path]))
    assert "\n" not in str(caught.value)


def test_nested_parquet_columns_are_no_text(tmp_path):
    path = write(tmp_path / "a.parquet", parquet_bytes([{"text": {"en": "x"}, "other": "y"}]))
    with pytest.raises(CorpusError, match=r"holds struct<en: string>, not text.*'other'"):
        list(read_corpus([path]))


def test_damaged_gzip_is_refused(tmp_path):
    path = tmp_path / "a.txt.gz"
    whole = gzip.compress(b"some text " * 1000)
    for content in (b"no gzip", whole[:-20], whole[:30] + b"xxxx" + whole[34:]):
        path.write_bytes(content)
        with pytest.raises(CorpusError, match="cannot read"):
            list(read_corpus([path]))


def test_missing_sources_are_refused_before_reading(tmp_path):
    with pytest.raises(CorpusError, match="no such file"):
        read_corpus(["demo", tmp_path / "nothing.txt"])
    with pytest.raises(CorpusError, match="no corpus in the folder"):
        read_corpus([tmp_path])
    with pytest.raises(CorpusError, match="the corpus is an empty list"):
        list(read_corpus([]))


def test_a_text_beyond_all_bounds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(source_file, "MAX_TEXT_BYTES", 1000)
    path = write(tmp_path / "bomb.txt.gz", "a" * 10_000)
    with pytest.raises(CorpusError, match="divide it into documents"):
        list(read_corpus([path]))


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.binary(max_size=200)
    | st.text(alphabet='{}[]":,\t\n\r#=1-2. textà_"', max_size=120).map(str.encode),
    cut=st.integers(0, 400),
    kind=st.sampled_from(file_endings()),
    compressed=st.sampled_from(["", ".gz"]),
)
def test_random_files_give_documents_or_one_line(tmp_path, data, cut, kind, compressed):
    content = CONTENT[kind] if isinstance(CONTENT[kind], bytes) else CONTENT[kind].encode()
    path = write(tmp_path / f"a{kind}{compressed}", content[:cut] + data + content[cut:])
    try:
        for document in read_corpus([path]):
            assert document.text
    except CorpusError as error:
        message = str(error)
    else:
        message = "read"
    assert "\n" not in message
