"""Input that nobody meant: bytes flipped, cut, doubled; JSON with other values in it; odd text."""

import random
import string
from typing import Any

ODD_BYTES = [
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
    b"\r",
    b"\r\n",
    b"\n\n",
    b'"',
    b"\t",
    b",",
    b"\xe9",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\\ud800",
    b"{",
    b"[" * 1000,
    b"1-99999999999999999999",
    b"9" * 5000,
    "\u2028\u202e\u0000".encode(),
]
ODD_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    float("nan"),
    float("inf"),
    "",
    "x",
    "../../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "\ud800",
    "<script>alert(1)</script>",
    "x" * 10_000,
    [],
    {},
    [[]],
    ["x"],
    [1, -1, 10**12],
    {"x": {"y": []}},
]
ALPHABET = string.printable + "àßçé你好🙂\u200d\u0301\u2028\ufeff\ud800"
PIECES = [
    "text",
    '{"text": "',
    '"}',
    "# text = ",
    "# newdoc id = ",
    "1\t",
    "1-2\t",
    "1.1\t",
    "_\t" * 9,
]


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The bytes after one to four changes."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data) + 1)
        length = min(chance.choice([1, 1, 4, 16, 200]), len(data) - place)
        match chance.randrange(7):
            case 0 if place < len(data):
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                data[place : place + length] = chance.randbytes(length)
            case 2:
                del data[place : place + length]
            case 3:
                del data[place:]
            case 4:
                data[place:place] = data[place : place + length] * chance.choice([1, 3, 50])
            case 5:
                data[place:place] = chance.choice(ODD_BYTES)
            case _:
                data[place : place + length] = bytes(length)
    return bytes(data)


def mutated_text(content: str, chance: random.Random) -> str:
    """The text after a change or two that leave it text."""
    for _ in range(chance.randint(1, 2)):
        place = chance.randrange(len(content) + 1)
        behind = min(place + chance.choice([0, 0, 1, 5]), len(content))
        new = chance.choice([*PIECES, *'\n\t,"#=-.1\\{}: ', chance.choice(ALPHABET[:-1])])
        content = content[:place] + new + content[behind:]
    return content


def mutated_json(value: Any, chance: random.Random) -> Any:
    """The value with something in it replaced, removed or added, at a random depth."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        changed = dict(value)
        match chance.randrange(10):
            case 0:
                del changed[name]
            case 1:
                changed[chance.choice(["new", "schema", "windows"])] = chance.choice(ODD_VALUES)
            case _:
                changed[name] = mutated_json(value[name], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        match chance.randrange(5):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case _:
                return [*value[:place], mutated_json(value[place], chance), *value[place + 1 :]]
    if type(value) is int and chance.random() < 0.5:
        return value + chance.choice([-1, 1, 1000])
    return chance.choice(ODD_VALUES)


def random_text(chance: random.Random) -> str:
    """Letters, marks and pieces of formats, in no order."""
    parts = [
        chance.choice(PIECES) if chance.random() < 0.2 else chance.choice(ALPHABET)
        for _ in range(chance.randrange(400))
    ]
    return "".join(parts)
