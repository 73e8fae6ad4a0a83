"""Hostile corpora: pipes, links, bombs, bytes without end, and damaged files of every format.

Each is read through to windows, as `analyze` would do it.
"""

import gzip
import json
import os
import random
import socket
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text.corpus import read_corpus
from headscope.text.readers import file_endings
from headscope.text.readers.columns import Columns
from headscope.text.windows import iter_windows
from tests.attack.case import Case
from tests.compare.tiny_bert import tokenizer_of_all
from tests.faults.fuzz import corpus_input
from tests.faults.mutate import ODD_BYTES, ODD_VALUES
from tests.faults.seed_files import SEEDS

CATEGORY = "corpora"
MB = 1 << 20

Spoil = Callable[[Path, random.Random], Path]
"""Writes a hostile corpus into an empty folder; returns what is named as the corpus."""


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many hostile corpora; the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many; large files are among them if there are at least 200.
        folder: An empty folder.
    """
    kinds = [no_file, linked, odd_name, table, repeated, unclosed, bomb, fuzzed, fuzzed]
    if number >= 200:
        for spoil in LARGE:
            name = spoil.__name__
            yield Case(name, partial(_attack, spoil, folder / name, "0"))
        number -= len(LARGE)
    for place in range(number):
        spoil = kinds[place % len(kinds)]
        name = f"{seed}-{place}"
        yield Case(f"{name}: {spoil.__name__}", partial(_attack, spoil, folder / name, name))


def _attack(spoil: Spoil, folder: Path, seed: str) -> None:
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    try:
        _read(spoil(folder, chance), chance)
    finally:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                path.unlink()  # large ones must not add up


def _read(corpus: Path, chance: random.Random) -> None:
    columns = Columns(label=chance.choice([None, "genre"]), id=chance.choice([None, "id"]))
    documents = read_corpus([corpus], columns)
    for window in iter_windows(documents, _tokenizer(), window_tokens=32, min_tokens=2, limit=500):
        for text in (window.document, window.label or "", *window.tokens):
            text.encode("utf-8")
        assert len(window.tokens) == window.n_tokens


@cache
def _tokenizer() -> HeadscopeTokenizer:
    return HeadscopeTokenizer(tokenizer_of_all(), 128)


def _ending(chance: random.Random) -> str:
    return chance.choice(file_endings()) + chance.choice(["", "", ".gz"])


def no_file(folder: Path, chance: random.Random) -> Path:
    """A pipe, a socket, a device or a folder with the name of a corpus; named, or in a folder."""
    path = folder / f"corpus{_ending(chance)}"
    match chance.randrange(4):
        case 0:
            os.mkfifo(path)
        case 1:
            with socket.socket(socket.AF_UNIX) as listener:
                os.chdir(folder)  # the path of a socket must be short
                listener.bind(path.name)
        case 2:
            path.symlink_to(chance.choice(["/dev/zero", "/dev/random", "/dev/full", "/dev/tty"]))
        case _:
            path.mkdir()
    return chance.choice([path, folder])


def linked(folder: Path, chance: random.Random) -> Path:
    """A link to a victim's file, to itself, to nothing, or to a folder that holds it."""
    victim = folder.parents[1] / "victim"
    path = folder / f"corpus{_ending(chance)}"
    goals = [victim / "thesis.txt", path, folder / "nothing", folder, "/proc/self/mem", victim]
    path.symlink_to(chance.choice(goals))
    (folder / "good.txt").write_text("A good text of some words. " * 20)
    return chance.choice([path, folder])


def odd_name(folder: Path, chance: random.Random) -> Path:
    """Names of bytes that are no UTF-8, with line breaks, escapes, or any length."""
    name = chance.choice(
        [b"na\xefve", b"\xff\xfe", b"a\nb", b"\x1b[31mred", b"a" * 240, b"-", b" "]
    )
    path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b".txt"))
    path.write_text("A text. " * 20)
    wrong = [Path("x" * 5000 + ".txt"), Path(f"{folder}/{'d/' * 2500}a.txt"), Path("a\0b.txt")]
    return chance.choice([path, folder, *wrong])


def table(folder: Path, chance: random.Random) -> Path:
    """Tables with odd values, columns of one name, and names of any length."""
    value = chance.choice([value for value in ODD_VALUES if type(value) is not float])
    names = ["text", chance.choice(["text", "id", "genre", "x" * MB, ""])]
    match chance.randrange(3):
        case 0:
            path = folder / "table.parquet"
            try:
                column = pa.array([value] * 3)
            except (pa.ArrowException, OverflowError, UnicodeEncodeError):
                column = pa.array([0] * 3)
            columns = [column, pa.array(["a text of words"] * 3)]
            pq.write_table(pa.Table.from_arrays(columns[:: chance.choice([1, -1])], names), path)
        case 1:
            path = folder / "table.jsonl"
            row = json.dumps(dict.fromkeys(names, value))
            nested = chance.choice([row, "[" * 100_000, '{"text":' * 50_000, "9" * 100_000])
            path.write_text(f"{row}\n{nested}\n")
        case _:
            path = folder / "table.csv"
            many = ",".join(["x"] * chance.choice([2, 300_000]))
            path.write_text(f"{','.join(names)},{many}\n" + "a text of words\n" * 2000)
    return path


def repeated(folder: Path, chance: random.Random) -> Path:
    """Some megabytes of one thing: newlines, spaces, quotes, dots, a word without end."""
    ending = chance.choice([ending for ending in file_endings() if ending != ".parquet"])
    piece = chance.choice(
        [b"\n", b"\r\n", b" \n", b" ", b"\t", b".", b"a", b'"', b",", b"#\n", b"a. "]
    )
    start = chance.choice([b"", b"text\n", b"a", SEEDS[ending][0]])
    path = folder / f"corpus{ending}"
    # Lines with something in them are a text each, and take their time one by one.
    size = MB // 8 if piece == b"#\n" else chance.choice([1, 2]) * MB
    path.write_bytes(start + piece * (size // len(piece)))
    return path


def unclosed(folder: Path, chance: random.Random) -> Path:
    """Quotes, brackets and strings that nobody closes."""
    ending = chance.choice([".csv", ".tsv", ".jsonl"])
    opening = {".csv": b'text,id\n"', ".tsv": b'text\tid\n"', ".jsonl": b'{"text": "'}[ending]
    filler = chance.choice([b"a line of words\n", b"\n", b'""', b"x", chance.choice(ODD_BYTES)])
    path = folder / f"corpus{ending}"
    path.write_bytes(opening + filler * (4 * MB // len(filler)))
    return path


def bomb(folder: Path, chance: random.Random) -> Path:
    """A few kilobytes that unpack to hundreds of megabytes."""
    if chance.random() < 0.5:
        path = folder / "bomb.parquet"
        texts = ["a" * chance.choice([10, MB])]
        rows = pa.array([0] * chance.choice([1000, 100_000]), pa.int32())
        pq.write_table(pa.table({"text": pa.DictionaryArray.from_arrays(rows, texts)}), path)
        return path
    path = folder / f"bomb{chance.choice(file_endings())}.gz"
    piece = gzip.compress(chance.choice([b"\n", b" ", b"\0", b"a"]) * (32 * MB), 6)
    path.write_bytes(piece * 20)
    return path


def fuzzed(folder: Path, chance: random.Random) -> Path:
    """A damaged or random file of any format."""
    kind, _ = corpus_input(chance, folder)
    return folder / f"corpus{kind.removeprefix('corpus ')}"


def _filled(path: Path, start: bytes, piece: bytes, size: int) -> Path:
    block = piece * (MB // len(piece))
    with path.open("wb") as file:
        file.write(start)
        for _ in range(size // MB):
            file.write(block)
    return path


def gigabyte_of_newlines_jsonl(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.jsonl", b"", b"\n", 1024 * MB)


def gigabyte_of_newlines_conllu(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.conllu", b"", b"\n", 1024 * MB)


def gigabyte_of_newlines_csv(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.csv", b"text\n", b"\n", 1024 * MB)


def gigabyte_of_newlines_txt(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.txt", b"", b"\n", 1024 * MB)


def open_quote_of_a_gigabyte(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.csv", b'text\n"', b"words\n", 1024 * MB)


def line_of_200_mb(folder: Path, chance: random.Random) -> Path:
    return _filled(folder / "large.txt", b"", b"Some words. ", 200 * MB)


def cell_of_200_mb(folder: Path, chance: random.Random) -> Path:
    path = _filled(folder / "large.csv", b'text\n"', b"Some words, ", 200 * MB)
    with path.open("ab") as file:
        file.write(b'"\n')
    return path


def hundred_thousand_tiny_texts(folder: Path, chance: random.Random) -> Path:
    path = folder / "large.jsonl"
    path.write_bytes(b'{"text": "a."}\n' * 100_000)
    return path


LARGE: list[Spoil] = [
    gigabyte_of_newlines_jsonl,
    gigabyte_of_newlines_conllu,
    gigabyte_of_newlines_csv,
    gigabyte_of_newlines_txt,
    open_quote_of_a_gigabyte,
    line_of_200_mb,
    cell_of_200_mb,
    hundred_thousand_tiny_texts,
]
