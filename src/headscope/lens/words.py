"""What layers hold of words, for any model: their part of speech, where the corpus marks it.

A map per layer is fitted by ridge regression from the states at the last token of each word to the
seventeen universal parts of speech; the largest output is the answer. As for all probes, each half
of the documents is read with maps that were fitted on the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from headscope.errors import CorpusError, ModelError
from headscope.lens.probe import HALVES, halves_of, refuse_too_large
from headscope.lens.ridge import AffineMap, RidgeSums
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens
from headscope.measuring.study import Advance, Cells, Setting
from headscope.measuring.windows import CorpusRequest
from headscope.models.own_head import OwnHead
from headscope.runs.folder import RunFolder
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.copies import document_hash
from headscope.text.windows import Window

PARTS_OF_SPEECH: tuple[str, ...] = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)


_Key = tuple[str, str | None]
"""Of a document: its id, and the hash that copies share unless they are kept apart."""


@dataclass(frozen=True, eq=False, slots=True)
class _Words:
    """States at the words of a batch, and what the corpus says of them."""

    states: Float[Tensor, "layer word d_model"]
    rows: Int64[np.ndarray, " word"]
    """The window of each word."""
    parts: Int64[np.ndarray, " word"]
    """Its part of speech, by its place in `PARTS_OF_SPEECH`."""
    halves: Int[Tensor, " word"]


class WordStudy:
    """Probes of parts of speech."""

    name = "lens"
    steps = 1

    def __init__(self, head: OwnHead, request: CorpusRequest, settings: Settings) -> None:
        """Say what is measured.

        Args:
            head: Gives the states of the layers.
            request: The corpus, which is read again for what it marks.
            settings: Which layers.
        """
        if head.model.config.is_encoder_decoder:
            raise ModelError(
                f"probe: {head.model.name} is an encoder-decoder, and words are probed in encoders "
                "and decoders alone; choose another model"
            )
        self.head, self._request = head, request
        self.layers = head.numbers(settings.layers)
        self._tags: dict[_Key, tuple[Int64[np.ndarray, " word"], Int64[np.ndarray, " word"]]] = {}
        self._maps: list[list[AffineMap | None]] = []
        self._usual: list[int] = []

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What identifies it."""
        return {"probe": "words"}

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """Words, how many each layer tells right, and how many are of the most frequent part."""
        return {"words": (), "right": (len(self.layers),), "usual": ()}

    def prepare(self, run: RunFolder, progress: Progress) -> None:
        """Read what the corpus marks, and fit the maps.

        Args:
            run: With the windows.
            progress: Is told of every window.
        """
        manifest = run.manifest
        self._tags = _tags_of(
            self._request,
            (w for number in range(manifest.shards) for w in run.read_windows(number)),
        )
        progress.stage("fitting probes", total=manifest.corpus.windows)
        sums: list[list[RidgeSums]] = []
        counts = np.zeros((HALVES, len(PARTS_OF_SPEECH)), dtype=np.int64)
        for number in range(manifest.shards):
            windows = run.read_windows(number)
            for places in batches(windows, max_tokens=manifest.settings.batch_tokens):
                words = self._read([windows[place] for place in places])
                width = words.states.shape[-1]
                if not sums:
                    refuse_too_large(len(self.layers), width)
                    sums = [
                        [RidgeSums(width, len(PARTS_OF_SPEECH)) for _ in self.layers]
                        for _ in range(HALVES)
                    ]
                for half in range(HALVES):
                    mine = words.halves == half
                    parts = words.parts[mine.numpy()]
                    counts[half] += np.bincount(parts, minlength=len(PARTS_OF_SPEECH))
                    answers = torch.eye(len(PARTS_OF_SPEECH))[torch.from_numpy(parts)]
                    for of_layer, states in zip(sums[half], words.states, strict=True):
                        of_layer.add(states[mine.to(states.device)], answers)
                progress.advance(len(places))
        self._maps = [[of_layer.fit() for of_layer in of_half] for of_half in sums]
        self._usual = counts.argmax(1).tolist()

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """How many words the maps of the other half tell right.

        Args:
            windows: A batch.
            advance: Is told of every window.
        """
        words = self._read(windows)
        cells = {name: np.zeros((len(windows), *shape)) for name, shape in self.cells.items()}
        np.add.at(cells["words"], words.rows, 1)
        for half in range(HALVES):
            mine = words.halves == half
            rows, parts = words.rows[mine.numpy()], words.parts[mine.numpy()]
            np.add.at(cells["usual"], rows, parts == self._usual[1 - half])
            for place, fitted in enumerate(self._maps[1 - half]):
                right = np.full(len(rows), np.nan)
                if fitted is not None:
                    states = words.states[place]
                    guesses = fitted.on(states.device)(states[mine.to(states.device)])
                    right = (guesses.argmax(-1).cpu().numpy() == parts).astype(np.float64)
                np.add.at(cells["right"], (rows, place), right)
        advance(len(windows))
        return cells

    def _read(self, windows: Sequence[Window]) -> _Words:
        labels = label_tokens(windows, self.head.model.device)
        inputs = self.head.model.encoder_inputs(labels.token_ids, labels.real)
        parts = np.full(tuple(labels.real.shape), -1, dtype=np.int64)
        for row, window in enumerate(windows):
            parts[row, : window.n_tokens] = self._parts_of(window)
        scored = parts >= 0
        states = self.head.states(inputs, torch.from_numpy(scored).to(labels.real.device))
        states = states[list(self.layers)]
        # All of one length, since a few tokens have states that are a hundred times as long.
        states = states / states.float().square().mean(-1, keepdim=True).sqrt().clamp_min(1e-12)
        rows = np.nonzero(scored)[0]
        return _Words(states, rows, parts[scored], halves_of(windows, rows))

    def _parts_of(self, window: Window) -> Int64[np.ndarray, " token"]:
        """The part of speech at the last token of each word; -1 where none is known."""
        found = np.full(window.n_tokens, -1, dtype=np.int64)
        if (key := _key(window)) not in self._tags:
            return found
        starts, parts = self._tags[key]
        word = np.searchsorted(starts, window.starts, side="right") - 1
        last = np.append(window.word_ids[1:] != window.word_ids[:-1], True)
        known = last & (window.starts >= 0) & (word >= 0)
        found[known] = parts[word[known]]
        return found


def _key(window: Window) -> _Key:
    return window.document, window.document_hash


def _tags_of(
    request: CorpusRequest, windows: Iterable[Window]
) -> dict[_Key, tuple[Int64[np.ndarray, " _"], Int64[np.ndarray, " _"]]]:
    """Where the words of each document start, and their parts of speech; -1 where not known."""
    needed = {_key(window) for window in windows}
    place = {name: at for at, name in enumerate(PARTS_OF_SPEECH)}
    found: dict[_Key, tuple[Int64[np.ndarray, " _"], Int64[np.ndarray, " _"]]] = {}
    for document in request.documents():
        if document.words is None or not any(word.upos in place for word in document.words):
            continue
        for key in {(document.id, None), (document.id, document_hash(document.text))} & needed:
            starts = np.array([word.start for word in document.words], dtype=np.int64)
            parts = [place.get(word.upos or "", -1) for word in document.words]
            found[key] = starts, np.array(parts, dtype=np.int64)
    if not found:
        raise CorpusError(
            f"corpus {request}: marks no parts of speech, so there is nothing to learn of words; "
            "take a treebank (.conllu)"
        )
    return found
