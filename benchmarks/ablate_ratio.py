"""How long does switching off every head take, against a plain loop over hooks?

python benchmarks/ablate_ratio.py [--windows 32] [--heads 12] [--rounds 1]

BERT-base geometry with random weights, windows of 128 tokens, batches of 8. The plain loop is a
transformers model with sdpa attention, a forward pre-hook that zeroes the head's slice before the
output projection, and a whole pass per head. Both compare last states with the intact ones. Seconds
are those of the process (one thread), in turns in one run, layer by layer. With fewer than 12 heads
per layer, the intact pass, which both make once a batch, is counted at its share of 12 heads.
"""

import argparse
import time

import torch
from transformers import PreTrainedModel

from common.configurations import CONFIGURATIONS
from common.models_and_windows import plain_model, tapped_model, windows_of
from headscope.measuring.outcome import Outcome, OutcomeBatch
from headscope.models.continuation import Continuation
from headscope.models.loaded import LoadedModel

BATCH, ALL_HEADS, LAYERS = 8, 12, 12


def plain_pass(model: PreTrainedModel, batch: OutcomeBatch, layer: int, head: int) -> torch.Tensor:
    """Last states without a head, as one would write it by hand."""

    def drop(_: object, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
        joined = given[0].clone()
        joined.view(*joined.shape[:-1], ALL_HEADS, -1)[..., head, :] = 0
        return (joined,)

    dense = model.encoder.layer[layer].attention.output.dense
    hook = dense.register_forward_pre_hook(drop)
    try:
        with torch.inference_mode():
            return model(**batch.inputs).last_hidden_state  # type: ignore[no-any-return]
    finally:
        hook.remove()


def change(states: torch.Tensor, intact: torch.Tensor, batch: OutcomeBatch) -> torch.Tensor:
    """1 - cosine of the mean states, and the change of states, of each window."""
    mask = batch.scored[..., None]
    pooled, before = ((each * mask).sum(1) for each in (states, intact))
    moved = ((states - intact) * mask).pow(2).sum((1, 2)) / (intact * mask).pow(2).sum((1, 2))
    return torch.stack([1 - torch.cosine_similarity(pooled, before), moved])


def seconds_of_plain(model: PreTrainedModel, batches: list[OutcomeBatch], heads: int) -> float:
    """Seconds of the plain loop, the intact pass at its share."""
    start = time.process_time()
    with torch.inference_mode():
        intact = [model(**batch.inputs).last_hidden_state for batch in batches]
    share = (time.process_time() - start) * heads / ALL_HEADS
    start = time.process_time()
    for batch, before in zip(batches, intact, strict=True):
        for layer in range(LAYERS):
            for head in range(heads):
                change(plain_pass(model, batch, layer, head), before, batch)
    return share + time.process_time() - start


def seconds_of_ours(
    model: LoadedModel, outcome: Outcome, batches: list[OutcomeBatch], heads: int
) -> float:
    """Seconds of what `hs.ablate` does, the intact pass at its share."""
    going_on = Continuation(model, outcome.network)
    going_on.prove(list(batches[0].inputs))
    total = 0.0
    for batch in batches:
        start = time.process_time()
        recording = going_on.record(batch.inputs)
        intact = outcome.reading(recording.output, batch)
        total += (time.process_time() - start) * heads / ALL_HEADS
        start = time.process_time()
        for site in model.sites:
            for head in range(1, heads + 1):
                gates = [{(site.stack, site.layer, head): 0.0}] * len(batch.scored)
                with model.gates(gates):
                    output = going_on.run(site, batch.inputs, recording)
                outcome.compare(outcome.reading(output, batch), intact)
        total += time.process_time() - start
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", type=int, default=32)
    parser.add_argument("--heads", type=int, default=ALL_HEADS, help="Heads per layer.")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    configuration = CONFIGURATIONS["base"]
    model = tapped_model(configuration, None)
    plain = plain_model(configuration, None, "sdpa")
    windows = windows_of(model.tokenizer, 128, args.windows)
    outcome = Outcome(model)
    batches = [
        outcome.prepare(windows[first : first + BATCH]) for first in range(0, len(windows), BATCH)
    ]
    plain_pass(plain, batches[0], 0, 0)  # what is set up once
    for _ in range(args.rounds):
        by_hand = seconds_of_plain(plain, batches, args.heads)
        ours = seconds_of_ours(model, outcome, batches, args.heads)
        print(
            f"{len(windows)} windows, {LAYERS} x {args.heads} heads: plain loop {by_hand:.1f} s, "
            f"headscope {ours:.1f} s, ratio {ours / by_hand:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
