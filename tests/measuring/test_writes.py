"""Write strength and written deviation against plain loops over hooks, and their laws."""

import numpy as np
import pytest
import torch

from headscope.kernels.head_writes import WriteSums
from headscope.measuring.writes import measure_writes
from headscope.models import load_model
from headscope.text.kinds import TokenKind
from headscope.text.windows import Window
from tests.models.families import FAMILIES, build

CHOSEN = {"BERT": "encoder.layer", "GPT-2": "h", "Llama": "layers"}


def windows_of(lengths, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for number, length in enumerate(lengths):
        zeros = np.zeros(length, dtype=np.int32)
        kinds = np.full(length, TokenKind.CONTENT, dtype=np.int32)
        kinds[-1] = TokenKind.SPECIAL
        made.append(
            Window(
                document=f"d{number}",
                label=None,
                tokens=("x",) * length,
                token_ids=rng.integers(3, 50, length).astype(np.int32),
                **dict.fromkeys(
                    (
                        "starts",
                        "ends",
                        "sentence_ids",
                        "word_ids",
                        "form_ids",
                        "lemma_ids",
                        "head_ids",
                    ),
                    zeros,
                ),
                kinds=kinds,
            )
        )
    return made


def by_plain_loops(model, family, windows):
    """Strength and deviation of each head of each layer, a window and a token at a time."""
    blocks = model.get_submodule(CHOSEN[family.title])
    projections = [m for n, m in model.named_modules() if n.endswith(family.projection)]
    written, streams = {}, {}
    seen_streams, seen_joined = [], []

    def enter(_, given, options):
        seen_streams.append((given or tuple(options.values()))[0][0])

    for block in blocks:
        block.register_forward_pre_hook(enter, with_kwargs=True)
    for projection in projections:
        projection.register_forward_pre_hook(lambda _, given: seen_joined.append(given[0][0]))
    for window in windows:
        seen_streams.clear()
        seen_joined.clear()
        with torch.no_grad():
            model(input_ids=torch.tensor(window.token_ids[None], dtype=torch.long))
        seen = list(zip(seen_streams, seen_joined, strict=True))
        for layer, (stream, joined) in enumerate(seen):
            heads = 4
            width = joined.shape[-1] // heads
            for token in range(1, len(stream) - 1):  # neither position 0 nor the special last one
                streams.setdefault(layer, []).append(float(stream[token].double().norm()))
                for head in range(heads):
                    alone = torch.zeros_like(joined[token])
                    alone[head * width : (head + 1) * width] = joined[
                        token, head * width : (head + 1) * width
                    ]
                    with torch.no_grad():
                        module = projections[layer]
                        vector = module(alone[None])[0] - module(torch.zeros_like(alone)[None])[0]
                    written.setdefault((layer, head), []).append(vector.double().numpy())
    strength, deviation = {}, {}
    for (layer, head), vectors in written.items():
        size = sum(streams[layer]) / len(streams[layer])
        mean = sum(vectors) / len(vectors)
        strength[layer, head] = sum(np.linalg.norm(v) for v in vectors) / len(vectors) / size
        spread = sum(np.sum((v - mean) ** 2) for v in vectors) / len(vectors)
        deviation[layer, head] = np.sqrt(spread) / size
    return strength, deviation


@pytest.mark.parametrize("title", CHOSEN)
def test_strength_and_deviation_equal_plain_loops(title):
    family = next(family for family in FAMILIES if family.title == title)
    windows = windows_of([9, 5, 7])
    strength, deviation = by_plain_loops(build(family), family, windows)
    measured = measure_writes(load_model(build(family)), windows, batch_tokens=20)
    assert len(measured.sums) == 2
    for site, sums in measured.sums.items():
        assert sums.tokens == 7 + 3 + 5
        for head in range(site.heads):
            at = (site.layer - 1, head)
            assert sums.strength[head] == pytest.approx(strength[at], rel=1e-5)
            assert sums.deviation[head] == pytest.approx(deviation[at], rel=1e-5)


def test_sums_of_parts_are_those_of_the_whole():
    family = next(family for family in FAMILIES if family.title == "BERT")
    model, windows = load_model(build(family)), windows_of([9, 5, 7, 8, 6])
    whole = measure_writes(model, windows).sums
    parts = [measure_writes(model, windows[:2]).sums, measure_writes(model, windows[2:]).sums]
    for site, sums in whole.items():
        joined = parts[0][site] + parts[1][site]
        swapped = parts[1][site] + parts[0][site]
        for name in WriteSums.__dataclass_fields__:
            np.testing.assert_allclose(
                getattr(joined, name), getattr(sums, name), rtol=1e-5, atol=1e-6
            )
            np.testing.assert_array_equal(getattr(joined, name), getattr(swapped, name))
        np.testing.assert_allclose(
            sums.deviation, (parts[0][site] + parts[1][site]).deviation, rtol=1e-5
        )


def test_covariance_gives_the_written_deviation_and_mean():
    family = next(family for family in FAMILIES if family.title == "GPT-2")
    model, windows = load_model(build(family)), windows_of([9, 8])
    measured = measure_writes(model, windows)
    for site, sums in measured.sums.items():
        weight = measured.writes.found[site].weight.double().numpy()
        for head in range(site.heads):
            part = slice(head * site.d_head, (head + 1) * site.d_head)
            covariance = sums.covariance[part, part]
            spread = np.sqrt(np.trace(weight[head].T @ covariance @ weight[head]))
            assert spread / (sums.stream / sums.tokens) == pytest.approx(
                sums.deviation[head], rel=1e-4
            )
            assert np.linalg.norm(sums.mean[head] @ weight[head]) == pytest.approx(
                np.linalg.norm(sums.written[head] / sums.tokens), rel=1e-4
            )
    without = measure_writes(model, windows, outer=False).sums
    with pytest.raises(ValueError, match="not summed"):
        _ = next(iter(without.values())).covariance


def test_a_large_mean_does_not_swallow_the_deviation():
    """Single precision holds seven digits: sums of squares must be taken around the mean."""
    from headscope.kernels.head_writes import write_root, write_sums

    torch.manual_seed(0)
    z = torch.randn(1, 2, 400, 4) * 1e-3 + 10
    weight = torch.randn(2, 4, 6)
    sums = write_sums(
        z, torch.ones(1, 400, 6), torch.ones(1, 400, dtype=torch.bool), write_root(weight)
    )
    exact = z.double()[0]
    vectors = torch.einsum("htd,hdm->htm", exact, weight.double())
    spread = (vectors - vectors.mean(1, keepdim=True)).square().sum(-1).mean(-1).sqrt()
    np.testing.assert_allclose(sums.deviation * 6**0.5, spread.numpy(), rtol=1e-3)
