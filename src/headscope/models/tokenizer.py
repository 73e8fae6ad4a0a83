"""Tokenizers: token ids and character offsets from any tokenizer that transformers loads.

Long texts are encoded in pieces, since tokenizers need hundreds of bytes per character.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from headscope.errors import ModelError, keyword_of
from headscope.text.encoding import Encoding

PIECE_CHARACTERS = 100_000
OVERLAP_CHARACTERS = 2_000
_AGREEING_TOKENS = 8
"""Number of consecutive tokens that two pieces must share before one takes over from the other."""


def encode_in_pieces(
    encode: Callable[[str], Encoding],
    text: str,
    *,
    piece_characters: int = PIECE_CHARACTERS,
    overlap_characters: int = OVERLAP_CHARACTERS,
) -> Encoding:
    """The tokens of a text; beyond the tokens themselves, memory does not grow with the text.

    Neighbouring pieces overlap. The first tokens of a piece may differ from those of the whole text
    (a tokenizer treats the start of a text in its own way), so the next piece takes over only where
    both have had the same tokens at the same characters for a while. Where they never agree, as in
    an endless word, it takes over at its first token after the earlier piece.

    Args:
        encode: Encodes a short text.
        text: Of any length.
        piece_characters: Length of a piece, without the overlap.
        overlap_characters: By how much each piece reaches into the next one.
    """
    if len(text) <= piece_characters + overlap_characters:
        return encode(text)
    token_ids: list[np.ndarray] = []
    starts: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    previous: Encoding | None = None
    for first in range(0, len(text), piece_characters):
        encoded = encode(text[first : first + piece_characters + overlap_characters])
        current = Encoding(encoded.token_ids, encoded.starts + first, encoded.ends + first)
        if previous is not None:
            kept, dropped = _take_over(previous, current, first)
            token_ids.append(previous.token_ids[:kept])
            starts.append(previous.starts[:kept])
            ends.append(previous.ends[:kept])
            current = Encoding(
                current.token_ids[dropped:], current.starts[dropped:], current.ends[dropped:]
            )
        previous = current
    assert previous is not None, "range() over a text longer than a piece is never empty"
    return Encoding(
        np.concatenate([*token_ids, previous.token_ids]),
        np.concatenate([*starts, previous.starts]),
        np.concatenate([*ends, previous.ends]),
    )


def _take_over(previous: Encoding, current: Encoding, first: int) -> tuple[int, int]:
    """How many tokens to keep of the previous piece, and how many to drop of the current one."""
    earlier = int(np.searchsorted(previous.starts, first, side="left"))
    agreeing = 0
    i, j = earlier, 0
    while i < len(previous.starts) and j < len(current.starts):
        if previous.starts[i] < current.starts[j]:
            i, agreeing = i + 1, 0
        elif previous.starts[i] > current.starts[j]:
            j, agreeing = j + 1, 0
        else:
            same = (
                previous.token_ids[i] == current.token_ids[j]
                and previous.ends[i] == current.ends[j]
            )
            agreeing = agreeing + 1 if same else 0
            i, j = i + 1, j + 1
            if agreeing == _AGREEING_TOKENS:
                return i, j
    last = previous.ends[-1] if len(previous.ends) else first
    return len(previous.starts), int(np.searchsorted(current.starts, last, side="left"))


_PROBES = ("The cat sat on the mat.", "A naïve test: 3.5 “quoted” words, isn't it?", "word")
"""Texts on which our ids must equal the tokenizer's own before it is used."""

_NO_LIMIT = 1_000_000_000
"""Tokenizers without a limit give 10^30 as their longest input."""

EncodeText = Callable[[str], Encoding]
Tokens = Callable[[str], tuple[list[int], list[tuple[int, int]]]]
"""Token ids and character offsets of a text."""
_MOST_IDS = 1 << 24


class HeadscopeTokenizer:
    """A tokenizer of transformers, as windows need it: offsets, and special tokens apart.

    Fast tokenizers give offsets themselves. Slow ones are accepted if they are built on
    SentencePiece (Marian), which gives the offsets; all others are refused.

    Raises:
        ModelError: There are no offsets, or special tokens are not simply put around a text.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        max_tokens: int | None = None,
        vocabulary: int | None = None,
    ) -> None:
        self.name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
        encode, self.fingerprint = (
            _fast(tokenizer) if tokenizer.is_fast else _slow(tokenizer, self.name)
        )
        self._encode_piece = self._within(vocabulary, encode)
        self.prefix_ids, self.suffix_ids = self._special_ids_around(tokenizer)
        self._refuse_unknown((*self.prefix_ids, *self.suffix_ids), vocabulary)
        self.special_names = _special_names(tokenizer, (*self.prefix_ids, *self.suffix_ids))
        ends = (tokenizer.sep_token_id, tokenizer.eos_token_id)
        self.separator_ids = frozenset(int(token_id) for token_id in ends if token_id is not None)
        self.max_tokens = self._limit(max_tokens, tokenizer.model_max_length)
        # Padding is masked, so any id will do where the tokenizer has none.
        self.pad_id = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
        self.mask_id = None if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
        self._decode = tokenizer.decode

    def encode(self, text: str) -> Encoding:
        """The tokens of a text with their character offsets, without special tokens around it."""
        return encode_in_pieces(self._encode_piece, text)

    def token_text(self, token_id: int) -> str:
        """A token by itself as text, for people.

        Args:
            token_id: Of the vocabulary.
        """
        return str(self._decode([token_id]))

    def _limit(self, of_model: int | None, of_tokenizer: int | float | None) -> int | None:
        """Maximum number of tokens of a text, special ones included; None where there is none."""
        limit = min([limit for limit in (of_model, of_tokenizer) if limit], default=_NO_LIMIT)
        fewest = len(self.prefix_ids) + len(self.suffix_ids) + 1
        if not limit >= fewest:
            raise ModelError(
                f"the tokenizer of {self.name} says that texts have at most {limit} tokens, "
                f"special ones included; a text needs at least {fewest}"
            )
        if limit >= _NO_LIMIT:
            return None
        if limit != int(limit):
            raise ModelError(
                f"the tokenizer of {self.name} says that texts have at most {limit} tokens, which "
                "is no whole number; correct model_max_length in its tokenizer_config.json"
            )
        return int(limit)

    def _within(self, vocabulary: int | None, encode: Tokens) -> EncodeText:
        """The same tokens as an `Encoding`; ids that the model has no vector for are refused."""

        def encode_known(text: str) -> Encoding:
            token_ids, offsets = encode(text)
            self._refuse_unknown(token_ids, vocabulary)
            return _encoding(token_ids, offsets)

        return encode_known

    def _refuse_unknown(self, token_ids: Sequence[int], vocabulary: int | None) -> None:
        largest = max(token_ids, default=0)
        if largest >= (_MOST_IDS if vocabulary is None else vocabulary):
            raise ModelError(
                f"the tokenizer of {self.name} gives token {largest}, but the model has vectors "
                f"for {vocabulary} tokens only; take the tokenizer that belongs to the model"
            )

    def _special_ids_around(
        self, tokenizer: PreTrainedTokenizerBase
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What the tokenizer itself puts before and after a text, the same for every text."""
        found = set()
        for probe in _PROBES:
            whole = list(tokenizer(probe, verbose=False)["input_ids"])
            body = self._encode_piece(probe).token_ids.tolist()
            if not body:
                raise ModelError(
                    f"the tokenizer of {self.name} makes no tokens of {probe!r}: its vocabulary is "
                    f"empty or damaged; {keyword_of('hs.load_model', 'tokenizer')}"
                )
            first = _find(body, whole)
            if first is None:
                raise ModelError(
                    f"the tokenizer of {self.name} gives other tokens for {probe!r} than its parts "
                    "do; use a model with a fast tokenizer (tokenizer.json)"
                )
            found.add((tuple(whole[:first]), tuple(whole[first + len(body) :])))
        if len(found) > 1:
            raise ModelError(
                f"the tokenizer of {self.name} puts different special tokens around different "
                "texts, which windows cannot imitate; use another model"
            )
        return found.pop()


def _fast(tokenizer: PreTrainedTokenizerBase) -> tuple[Tokens, str]:
    """A function that encodes a text, and a hash of everything that decides how."""
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= _MOST_IDS:
        # Before the tokenizer is copied, which takes a step for every id up to the largest.
        raise ModelError(
            f"the tokenizer of {tokenizer.name_or_path} has a token numbered {largest:,}, more "
            f"than any model has; {keyword_of('hs.load_model', 'tokenizer')}"
        )
    # A copy: truncation and padding are settings of the backend, and the user's must not change.
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()

    def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoded = backend.encode(text, add_special_tokens=False)
        return encoded.ids, encoded.offsets

    return encode, hashlib.sha256(backend.to_str().encode("utf-8")).hexdigest()


def _slow(tokenizer: PreTrainedTokenizerBase, name: str) -> tuple[Tokens, str]:
    """The same for a tokenizer that is written in Python around a SentencePiece model."""
    processor: Any = getattr(tokenizer, "spm_source", None) or getattr(tokenizer, "sp_model", None)
    if processor is None:
        raise ModelError(
            f"the tokenizer of {name} ({type(tokenizer).__name__}) gives no character offsets; "
            "use a model with a fast tokenizer (tokenizer.json)"
        )
    if not hasattr(processor, "encode_as_offset_mapping"):
        raise ModelError(
            f"the tokenizer of {name} needs a newer SentencePiece: "
            "pip install 'headscope[sentencepiece]'"
        )
    added = {str(token): id for id, token in tokenizer.added_tokens_decoder.items()}

    def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
        token_ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        start = 0
        for part in tokenizer.tokens_trie.split(text):
            if part in added:
                token_ids.append(added[part])
                offsets.append((start, start + len(part)))
            elif part:
                pieces = processor.encode_as_offset_mapping(part)
                token_ids += cast("list[int]", tokenizer.convert_tokens_to_ids(pieces["pieces"]))
                offsets += [(start + first, start + end) for first, end in pieces["offsets"]]
            start += len(part)
        return token_ids, offsets

    content = hashlib.sha256(processor.serialized_model_proto())
    content.update(json.dumps(tokenizer.get_vocab(), sort_keys=True).encode("utf-8"))
    return encode, content.hexdigest()


def _special_names(tokenizer: PreTrainedTokenizerBase, around: tuple[int, ...]) -> dict[int, str]:
    """The special tokens by id, without the unknown token, which stands for real text.

    GPT-2 uses one token as unknown, begin and end: that one is special, and never stands for text.
    """
    names = dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=False))
    roles = ("bos_token", "eos_token", "sep_token", "cls_token", "pad_token", "mask_token")
    if tokenizer.unk_token not in [getattr(tokenizer, role) for role in roles]:
        names.pop(tokenizer.unk_token_id, None)
    for token_id in around:
        names.setdefault(token_id, str(tokenizer.convert_ids_to_tokens(token_id)))
    return {int(token_id): str(name) for token_id, name in names.items()}


def _encoding(token_ids: list[int], offsets: list[tuple[int, int]]) -> Encoding:
    starts, ends = np.array(offsets, dtype=np.int32).reshape(-1, 2).T
    return Encoding(np.array(token_ids, dtype=np.int32), starts, ends)


def _find(part: list[int], whole: list[int]) -> int | None:
    """Where a list first occurs inside another one; None where it does not."""
    for first in range(len(whole) - len(part) + 1):
        if whole[first : first + len(part)] == part:
            return first
    return None
