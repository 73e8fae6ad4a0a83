"""What a model puts out for windows, and how far that is from what it put out before.

What counts as the model's own loss depends on its head:

- **causal**: the next token, at every position;
- **masked**: a fixed share of the tokens, hidden by the mask token, the same in every reading;
- **seq2seq**: what the intact model itself writes for the window, greedily: its own translation;
- **classes** of tokens or texts: the class that the intact model chooses.

A model without a head has no loss: its states are compared, pooled and one by one.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError
from headscope.measuring.labels import label_tokens
from headscope.models.linear_maps import quick_linear_maps
from headscope.models.loaded import LoadedModel
from headscope.models.output_head import output_head_of
from headscope.text.windows import Window

OutcomeKind = Literal["causal", "masked", "seq2seq", "token classes", "text classes", "states"]
MASKED_SHARE = 0.15
"""Of the tokens of a window that are hidden from a masked language model, as BERT was trained."""
MOST_WRITTEN = 64
"""Number of tokens that a seq2seq model writes for a window, at most."""


@dataclass(frozen=True, eq=False, slots=True)
class OutcomeBatch:
    """Windows as the model reads them, and where its answers are looked at."""

    inputs: Mapping[str, Tensor]
    scored: Bool[Tensor, "batch position"]
    """The positions whose answers count."""
    targets: Int[Tensor, "batch position"] | None
    """The right answers; None where they are what the intact model answers."""

    def repeated(self, times: int) -> "OutcomeBatch":
        """The same windows several times over, one whole batch after the other.

        Args:
            times: How often.
        """

        def repeat(tensor: Tensor) -> Tensor:
            return tensor.repeat(times, *[1] * (tensor.ndim - 1))

        return OutcomeBatch(
            {name: repeat(tensor) for name, tensor in self.inputs.items()},
            repeat(self.scored),
            None if self.targets is None else repeat(self.targets),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What a model put out for a batch."""

    batch: OutcomeBatch
    answers: Float[Tensor, "scored value"]
    """At the scored positions, row by row: log-probabilities, or states of a model without a head.
    """

    @property
    def rows(self) -> Int[Tensor, " scored"]:
        """The window of each scored position."""
        return self.batch.scored.nonzero()[:, 0]


class Outcome:
    """How the outcome of a model is read: see `outcome_of`."""

    def __init__(self, model: LoadedModel, seed: int = 0, *, whole_words: bool = False) -> None:
        """Look at the head of a model.

        Args:
            model: With its head, if it has one: `load_model(..., head=True)`.
            seed: Of the tokens that are hidden from a masked language model.
            whole_words: Whether all tokens of a word are hidden, or none.
        """
        self.model = model
        self.seed = seed
        self.whole_words = whole_words
        self.kind: OutcomeKind = output_head_of(model.model) or "states"
        if self.kind == "text classes" and model.config.num_labels == 1:
            self.kind = "states"  # a score, not a choice
        if self.kind == "masked" and (model.tokenizer is None or model.tokenizer.mask_id is None):
            raise ModelError(
                f"{model.name} predicts masked tokens, but its tokenizer has no mask token; pass "
                "tokenizer="
            )

    @property
    def unit(self) -> str:
        """What the loss is measured in."""
        if self.kind == "states":
            return "1 - cosine of pooled states"
        return "nats per text" if self.kind == "text classes" else "nats per token"

    @property
    def has_loss(self) -> bool:
        """Whether the model has answers, and not just states."""
        return self.kind != "states"

    def prepare(self, windows: Sequence[Window]) -> OutcomeBatch:
        """A batch of windows, as the model reads them.

        For a seq2seq model the intact model writes first: call it outside of gates.

        Args:
            windows: The batch.
        """
        labels = label_tokens(windows, self.model.device)
        inputs = self.model.encoder_inputs(labels.token_ids, labels.real)
        ids, real = inputs["input_ids"], labels.real
        match self.kind:
            case "causal":
                scored = torch.zeros_like(real)
                scored[:, :-1] = real[:, :-1] & real[:, 1:]
                return OutcomeBatch(inputs, scored, ids.roll(-1, dims=1))
            case "masked":
                hidden = self._hidden(windows, real)
                tokenizer = self.model.tokenizer
                assert tokenizer is not None
                assert tokenizer.mask_id is not None
                masked = {**inputs, "input_ids": ids.masked_fill(hidden, tokenizer.mask_id)}
                return OutcomeBatch(masked, hidden, ids)
            case "seq2seq":
                return self._written(inputs)
            case "text classes":
                return OutcomeBatch(inputs, torch.ones_like(real[:, :1]), None)
            case _:
                return OutcomeBatch(inputs, real & ~labels.special, None)

    def read(self, batch: OutcomeBatch) -> Reading:
        """What the model puts out for a batch, under the gates that are open.

        Args:
            batch: From `prepare`.
        """
        with torch.inference_mode(), quick_linear_maps():
            return self.reading(self.network(**batch.inputs, **self._options), batch)

    def reading(self, output: Any, batch: OutcomeBatch) -> Reading:
        """The same from an output of the model that was computed elsewhere.

        Args:
            output: Of the model with its head, or of the body of a model without one.
            batch: What the model read.
        """
        if not self.has_loss:
            return Reading(batch, output.last_hidden_state[batch.scored].float())
        logits = output.logits
        if self.kind == "text classes":
            logits = logits[:, None]
        return Reading(batch, torch.log_softmax(logits[batch.scored].float(), dim=-1))

    def compare(self, reading: Reading, intact: Reading) -> dict[str, NDArray[np.float64]]:
        """How far a reading is from that of the intact model, for each window.

        `loss` is that of the reading itself, `kl` the divergence of its answers from the intact
        ones, both averaged over the scored positions of the window. For models without a head
        `pooled` is 1 - cosine of the mean states, and `drift` the squared difference of states as a
        share of their squared length.

        Args:
            reading: Of the same windows as `intact`, or of them several times over.
            intact: What the model puts out as it is.
        """
        times = len(reading.answers) // max(1, len(intact.answers))
        parts = [
            self._compare(Reading(intact.batch, answers), intact)
            for answers in reading.answers.chunk(max(1, times))
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _compare(self, reading: Reading, intact: Reading) -> dict[str, NDArray[np.float64]]:
        rows, batch = intact.rows, intact.batch
        answers, before = reading.answers, intact.answers
        if not self.has_loss:
            drift = _sums((answers - before).square().sum(-1), rows, batch)
            length = _sums(before.square().sum(-1), rows, batch)
            pooled, pooled_before = (_sums(each, rows, batch) for each in (answers, before))
            similar = torch.nn.functional.cosine_similarity(pooled, pooled_before, dim=-1)
            return {"pooled": (1 - similar).cpu().numpy(), "drift": (drift / length).cpu().numpy()}
        kl = _sums((before.exp() * (before - answers)).sum(-1), rows, batch) / batch.scored.sum(1)
        losses = self.losses(reading, intact)
        return {"loss": losses.cpu().numpy(), "kl": kl.cpu().numpy()}

    def losses(self, reading: Reading, intact: Reading) -> Float64[Tensor, " batch"]:
        """The loss of each window, averaged over its scored positions.

        Args:
            reading: Of a model with a loss.
            intact: What the model puts out as it is: it gives the right classes, where there are no
                others.
        """
        batch = intact.batch
        right = intact.answers.detach().argmax(-1)
        targets = right if batch.targets is None else batch.targets[batch.scored]
        chosen = reading.answers.gather(1, targets[:, None])[:, 0]
        return -_sums(chosen, intact.rows, batch) / batch.scored.sum(1)

    @property
    def _options(self) -> dict[str, Any]:
        return self.model.call_options

    @property
    def network(self) -> Any:
        """What is run: the model with its head, or the body (the encoder) of one without."""
        if self.has_loss:
            return self.model.model
        body: Any = self.model.model.base_model
        return body.get_encoder() if self.model.config.is_encoder_decoder else body

    def _hidden(
        self, windows: Sequence[Window], real: Bool[Tensor, "batch token"]
    ) -> Bool[Tensor, "batch token"]:
        """The tokens that are hidden: by the seed and the window, whatever else is in the batch."""
        hidden = torch.zeros(real.shape, dtype=torch.bool)
        for row, window in enumerate(windows):
            generator = window_generator(window, self.seed)
            text = np.flatnonzero(~window.special)
            number = max(1, round(MASKED_SHARE * len(text)))
            if self.whole_words:
                chosen = _tokens_of_words(window, text, number, generator)
            else:
                chosen = generator.choice(text, size=min(number, len(text)), replace=False)
            hidden[row, torch.from_numpy(chosen)] = True
        return hidden.to(real.device)

    def _written(self, inputs: dict[str, Tensor]) -> OutcomeBatch:
        """What the model itself writes for each window is the right answer."""
        written = [self._write(inputs, row) for row in range(len(inputs["input_ids"]))]
        width = max(map(len, written))
        targets = inputs["input_ids"].new_full((len(written), width), self.model.padding_id)
        scored = torch.zeros_like(targets, dtype=torch.bool)
        for row, tokens in enumerate(written):
            targets[row, : len(tokens)] = tokens
            scored[row, : len(tokens)] = True
        read = targets.roll(1, dims=1)
        read[:, 0] = self.model.start_token_id
        more = {"decoder_input_ids": read, "decoder_attention_mask": scored.long()}
        return OutcomeBatch({**inputs, **more}, scored, targets)

    def _write(self, inputs: dict[str, Tensor], row: int) -> Int[Tensor, " token"]:
        """The tokens that the model writes for one window, by itself: padding changes no choice."""
        real = inputs["attention_mask"][row].bool()
        network: Any = self.model.model
        with torch.inference_mode():
            written = network.generate(
                input_ids=inputs["input_ids"][row, real][None],
                attention_mask=inputs["attention_mask"][row, real][None],
                max_new_tokens=MOST_WRITTEN,
                do_sample=False,
                num_beams=1,
            )
        tokens: Int[Tensor, " token"] = written[0, 1:]  # after the start token
        return tokens


def window_generator(window: Window, seed: int) -> np.random.Generator:
    """What draws in a window: by the seed and its tokens, whatever else is in the batch.

    Args:
        window: Any.
        seed: Of the study.
    """
    named = hashlib.sha256(window.token_ids.astype("<i8").tobytes()).digest()
    return np.random.default_rng([seed, int.from_bytes(named[:8], "little")])


def _tokens_of_words(
    window: Window, text: NDArray[np.int64], number: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """The tokens of random words, until there are as many as asked for or a few more."""
    words, place = np.unique(window.word_ids[text], return_inverse=True)
    lengths = np.bincount(place)
    order = generator.permutation(len(words))
    taken = order[: 1 + int(np.searchsorted(lengths[order].cumsum(), number))]
    return text[np.isin(place, taken)]


def _sums(values: Tensor, rows: Tensor, batch: OutcomeBatch) -> Tensor:
    """Values of scored positions, added up for each window, in double precision."""
    shape = (len(batch.scored), *values.shape[1:])
    sums = torch.zeros(shape, dtype=torch.float64, device=values.device)
    return sums.index_add_(0, rows, values.double())
