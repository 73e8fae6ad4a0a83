"""What do models without some of their heads lose on a task? Tags, names, translation.

    python benchmarks/pruned_tasks.py TRAIN.conllu.gz DEV.conllu.gz tags MODEL --windows 48

Heads are chosen on windows of one corpus and judged on those of another.

- **tags**: universal parts of speech by a linear probe, trained on the last states of the intact
  encoder over the first corpus; accuracy over the words of the second (at their first token).
- **names**: the spans that a token classifier marks, against those of the intact model: F1.
- **translation**: the loss of an encoder-decoder on what the intact model writes, in nats.

Intervals resample documents. Heads chosen by what they write are replaced by their mean, where the
family can hold it; those chosen by gradients or by chance by zero.
"""

import argparse
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.findings.resampling.window_cells import resample_windows
from headscope.intervene.head_scores import gradient_scores, random_scores, written_scores
from headscope.intervene.projection_edit import ProjectionEdit, edited, edits_without
from headscope.intervene.pruned_folder import holds_bias
from headscope.measuring.batch import batches
from headscope.measuring.outcome import Outcome, OutcomeBatch, Reading
from headscope.measuring.sample import choose_sample
from headscope.measuring.writes import measure_writes
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.settings import Settings
from headscope.text.document import Document
from headscope.text.readers.conllu import read_conllu
from headscope.text.readers.source_file import SourceFile
from headscope.text.windows import Window, iter_windows

SHARES = (0.1, 0.2, 0.3, 0.5)
Counts = NDArray[np.float64]
"""Of each window, what is above and what is below the line of a ratio: two columns."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Windows of a corpus, a document each, with the tags of its words."""

    windows: list[Window]
    tags: Mapping[str, Mapping[int, str]]
    """By document and first character of a word."""

    def batches(self) -> Iterator[list[Window]]:
        for places in batches(self.windows, max_tokens=Settings().batch_tokens):
            yield [self.windows[place] for place in places]


class Task(Protocol):
    """How well a model does, by window."""

    unit: str

    def counts(self, reading: Reading, intact: Reading, windows: Sequence[Window]) -> Counts: ...


class Tags:
    """Parts of speech, by a linear probe on the states of the intact model."""

    unit = "accuracy"

    def __init__(self, outcome: Outcome, train: Sample, tags: Sample) -> None:
        self._tags = tags.tags
        known = {tag for words in train.tags.values() for tag in words.values()}
        self._names = sorted(known)
        states, answers = [], []
        for windows in train.batches():
            batch = outcome.prepare(windows)
            found = outcome.read(batch).answers
            right = self._right(batch, windows, train.tags)
            states.append(found[right >= 0])
            answers.append(right[right >= 0])
        every = torch.cat(states)
        self._mean, self._scale = every.mean(0), every.std(0) + 1e-6
        self._weight, self._bias = self._fit((every - self._mean) / self._scale, torch.cat(answers))
        self.trained_on = len(every)

    def _right(
        self, batch: OutcomeBatch, windows: Sequence[Window], tags: Mapping[str, Mapping[int, str]]
    ) -> Tensor:
        """The number of the tag of each scored position; -1 inside of words and without tag."""
        right = torch.full(batch.scored.shape, -1)
        for row, window in enumerate(windows):
            of_document = tags[window.document]
            for token, start in enumerate(window.starts.tolist()):
                if (tag := of_document.get(start)) in self._names:
                    right[row, token] = self._names.index(str(tag))
        return right[batch.scored]

    def _fit(self, states: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Logistic regression with a small penalty, to the end."""
        weight = torch.zeros(states.shape[1], len(self._names), requires_grad=True)
        bias = torch.zeros(len(self._names), requires_grad=True)
        fitting = torch.optim.LBFGS([weight, bias], max_iter=80, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            fitting.zero_grad()
            wrong = torch.nn.functional.cross_entropy(states @ weight + bias, answers)
            total = wrong + 1e-3 * weight.square().sum()
            total.backward()  # type: ignore[no-untyped-call]
            return total

        fitting.step(loss)  # type: ignore[no-untyped-call]
        return weight.detach(), bias.detach()

    def counts(self, reading: Reading, intact: Reading, windows: Sequence[Window]) -> Counts:
        right = self._right(intact.batch, windows, self._tags)
        states = (reading.answers - self._mean) / self._scale
        hit = (states @ self._weight + self._bias).argmax(-1) == right
        rows = intact.rows.numpy()
        word = (right >= 0).numpy()
        number = len(windows)
        return np.stack(
            [
                np.bincount(rows[word], hit.numpy()[word], number),
                np.bincount(rows[word], minlength=number).astype(np.float64),
            ],
            axis=1,
        )


class Names:
    """Spans of a token classifier against those of the intact one: twice the shared ones, all."""

    unit = "F1 against the intact model"

    def __init__(self, labels: Mapping[int, str]) -> None:
        self._labels = labels

    def _spans(self, reading: Reading, rows: Tensor, row: int) -> set[tuple[int, int, str]]:
        """First token, end and kind of every name of a window; a change of kind begins one."""
        tags = [self._labels[int(tag)] for tag in reading.answers[rows == row].argmax(-1)]
        spans, start, kind = set(), 0, ""
        for place, tag in enumerate([*tags, "O"]):
            prefix, _, now = tag.partition("-")
            if kind and (prefix == "B" or now != kind):
                spans.add((start, place, kind))
                kind = ""
            if now and not kind:
                start, kind = place, now
        return spans

    def counts(self, reading: Reading, intact: Reading, windows: Sequence[Window]) -> Counts:
        rows = intact.rows
        found = []
        for row in range(len(windows)):
            ours, right = (self._spans(each, rows, row) for each in (reading, intact))
            found.append([2.0 * len(ours & right), float(len(ours) + len(right))])
        return np.array(found)


class Translation:
    """The loss on what the intact model writes."""

    unit = "nats per token"

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def counts(self, reading: Reading, intact: Reading, windows: Sequence[Window]) -> Counts:
        tokens = intact.batch.scored.sum(1).double().numpy()
        loss = self._outcome.losses(reading, intact).numpy()
        return np.stack([loss * tokens, tokens], axis=1)


def sample_of(model: LoadedModel, corpus: str, number: int, tokens: int) -> Sample:
    """Windows that are nearly full, a document each."""
    documents: list[Document] = list(read_conllu(SourceFile.at(Path(corpus))))
    assert model.tokenizer is not None
    every = list(
        iter_windows(
            documents, model.tokenizer, window_tokens=tokens, min_tokens=tokens - tokens // 4
        )
    )
    chosen = choose_sample([window.document for window in every], number, seed=0)
    windows = [replace(every[place], tokens=()) for place in chosen]
    tags = {
        document.id: {word.start: word.upos for word in document.words or () if word.upos}
        for document in documents
    }
    return Sample(windows, tags)


def variants_of(
    outcome: Outcome, windows: Sequence[Window]
) -> dict[tuple[str, float], Collection[ProjectionEdit]]:
    """Models without some of their heads, by how those were chosen and how many they are."""
    model = outcome.model
    measured = measure_writes(model, windows, outer=False)
    bias = all(holds_bias(model, writes) for writes in measured.writes.found.values())
    scores = {"written_deviation": written_scores(measured, "written_deviation")}
    if outcome.has_loss:
        scores["gradient"] = gradient_scores(outcome, windows)
    scores["random"] = random_scores(model.sites, 0)
    variants = {}
    for by, of_heads in scores.items():
        order = sorted(of_heads, key=lambda head: (of_heads[head], head))
        for share in SHARES:
            gone = order[: round(share * len(order))]
            kept = "mean" if by == "written_deviation" and bias else "zero"
            variants[by, share] = edits_without(model, gone, measured, kept)  # type: ignore[arg-type]
    return variants


def judged(
    outcome: Outcome,
    task: Task,
    sample: Sample,
    variants: Mapping[tuple[str, float], Collection[ProjectionEdit]],
) -> Iterator[dict[str, object]]:
    """How well the intact model does, then each variant, with intervals over documents."""
    found: dict[tuple[str, float], list[Counts]] = {
        ("intact", 0.0): [],
        **{v: [] for v in variants},
    }
    documents = []
    for windows in sample.batches():
        batch = outcome.prepare(windows)
        intact = outcome.read(batch)
        documents += [window.document for window in windows]
        found["intact", 0.0].append(task.counts(intact, intact, windows))
        for variant, edits in variants.items():
            with edited(outcome.model, edits):
                reading = outcome.read(batch)
            found[variant].append(task.counts(reading, intact, windows))
    numbers = np.unique(documents, return_inverse=True)[1]
    before = np.concatenate(found["intact", 0.0])

    def interval(above: NDArray[np.float64], below: NDArray[np.float64]) -> list[float]:
        (each,) = resample_windows(above[:, None], below[:, None], numbers, 0).intervals()
        return [round(number, 4) for number in (each.value, each.low, each.high)]

    for (by, share), parts in found.items():
        above, below = np.concatenate(parts).T
        same = np.array_equal(below, before[:, 1])
        change = interval(above - before[:, 0], below) if same else None
        yield {"by": by, "share": share, task.unit: interval(above, below), "change": change}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("task", choices=["tags", "names", "translation"])
    parser.add_argument("model")
    parser.add_argument("--windows", type=int, default=48, help="Of each corpus.")
    parser.add_argument("--tokens", type=int, default=128, help="In a window.")
    parser.add_argument("--probe", type=int, default=150, help="Windows that train the probe.")
    given = parser.parse_args()
    started = time.process_time()
    model = load_model(given.model, head=given.task != "tags")
    outcome = Outcome(model)
    sample = sample_of(model, given.dev, given.windows, given.tokens)
    choosing = sample_of(model, given.train, given.windows, given.tokens)
    task: Task
    if given.task == "tags":
        task = Tags(outcome, sample_of(model, given.train, given.probe, given.tokens), sample)
    elif given.task == "names":
        task = Names(model.config.id2label)
    else:
        task = Translation(outcome)
    variants = variants_of(outcome, choosing.windows)
    print(f"{given.model}, {given.task}: {len(sample.windows)} windows judge", flush=True)
    for row in judged(outcome, task, sample, variants):
        print(json.dumps(row), flush=True)
    print(f"{time.process_time() - started:.0f} s")


if __name__ == "__main__":
    main()
