"""Counting tokens, with any tokenizer."""

from collections.abc import Callable, Sized
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from headscope.errors import SettingsError

AnyTokenizer = Any
"""A `tokenizers.Tokenizer` or a file of one, a tokenizer of transformers, tiktoken or
SentencePiece, or a function from a text to its tokens or to their number."""

TokenCounter = Callable[[str], int]
"""The number of tokens of a text, without special tokens around it."""


def token_counter(tokenizer: AnyTokenizer) -> TokenCounter:
    """A function that counts the tokens of a text.

    Special tokens are not counted, and nothing is truncated or padded, whatever the tokenizer is
    set to do.

    >>> token_counter(str.split)("three little words")
    3

    Args:
        tokenizer: A `tokenizers.Tokenizer`, a tokenizer.json or the folder it is in, any other
            object with `encode`, or a function that returns tokens or their number.

    Raises:
        SettingsError: It is none of these, or the file cannot be read.
    """
    if isinstance(tokenizer, str | Path):
        tokenizer = _from_file(Path(tokenizer))
    if isinstance(tokenizer, Tokenizer):
        plain = _untruncated(tokenizer)
        return lambda text: len(plain.encode(text, add_special_tokens=False).ids)
    if hasattr(tokenizer, "num_special_tokens_to_add"):  # transformers

        def count_ids(text: str) -> int:
            options = {"add_special_tokens": False, "truncation": False, "padding": False}
            return len(tokenizer(text, verbose=False, **options)["input_ids"])

        return count_ids
    if hasattr(tokenizer, "encode_ordinary"):  # tiktoken: `encode` refuses special tokens in texts
        return lambda text: len(tokenizer.encode_ordinary(text))
    function = tokenizer if callable(tokenizer) else getattr(tokenizer, "encode", None)
    if function is None:
        raise SettingsError(
            f"tokenizer: {type(tokenizer).__name__} can neither be called nor has it an encode "
            "method; give a tokenizer, or a function from a text to its number of tokens"
        )
    return lambda text: _number(function(text))


def _number(found: object) -> int:
    if isinstance(found, Sized) and not isinstance(found, str):
        return len(found)
    if isinstance(found, int) and found >= 0:
        return int(found)
    raise SettingsError(
        f"tokenizer: it gave {found!r:.60} for a text; it must give tokens or their number"
    )


def _from_file(path: Path) -> Tokenizer:
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise SettingsError(f"tokenizer: there is no {file}; give a tokenizer.json or its folder")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more specific
        raise SettingsError(f"tokenizer: {file} cannot be read ({error})") from error


def _untruncated(tokenizer: Tokenizer) -> Tokenizer:
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
