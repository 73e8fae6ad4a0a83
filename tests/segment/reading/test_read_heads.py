"""What heads write at each token does not depend on threads, batches or company."""

import numpy as np
import pytest
import torch

from headscope.models import linear_maps
from headscope.segment.reading.read_heads import identity_maps, read_heads, read_sites
from headscope.segment.reading.window_batches import overlap_windows, text_tokenizer
from headscope.segment.topics.sentence_similarity import sentence_vectors

TEXTS = ["A short one.", "", "The river rose all night, and nobody slept. " * 60, "Why not?"]


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_two_threads_read_what_one_reads_alone(demo_model, two_threads):
    sites = read_sites(demo_model, (1, 4))
    encodings = [text_tokenizer(demo_model).encode(text) for text in TEXTS]
    together = read_heads(demo_model, encodings, sites, identity_maps(sites))
    torch.set_num_threads(1)
    for reading, encoding in zip(together, encodings, strict=True):
        (alone,) = read_heads(demo_model, [encoding], sites, identity_maps(sites))
        torch.testing.assert_close(reading.columns, alone.columns, atol=1e-4, rtol=0)
        torch.testing.assert_close(reading.signals, alone.signals, atol=1e-4, rtol=0)


def test_a_sentence_vector_is_the_mean_of_the_last_hidden_states(demo_model, two_threads):
    tokenizer = text_tokenizer(demo_model)
    vectors = sentence_vectors(demo_model, [tokenizer.encode(text) for text in TEXTS])
    torch.set_num_threads(1)  # two threads inside one product wait for each other on a busy machine
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = tokenizer.encode(text).token_ids.tolist()
        kept = [torch.zeros(1, len(vector))] if not ids else []
        for window in overlap_windows(0, len(ids), size=126, margin=12):
            body = ids[window.start : window.end]
            whole = torch.tensor([[*tokenizer.prefix_ids, *body, *tokenizer.suffix_ids]])
            with torch.inference_mode():
                states = demo_model.model(input_ids=whole).last_hidden_state[0, 1:-1]
            kept.append(states[window.kept_start - window.start : window.kept_end - window.start])
        expected = torch.cat(kept).double().mean(0)
        torch.testing.assert_close(torch.from_numpy(vector), expected, atol=1e-5, rtol=0)


def test_rough_reading_is_near_the_exact_one_and_only_on_request(demo_model, monkeypatch):
    monkeypatch.setattr(linear_maps, "can_be_rough", lambda: True)
    encodings = [text_tokenizer(demo_model).encode(text) for text in TEXTS]
    exact, again, rough = (
        sentence_vectors(demo_model, encodings, exact=wanted) for wanted in (True, True, False)
    )
    assert np.array_equal(exact, again)
    lengths = np.linalg.norm(exact, axis=1)
    apart = np.linalg.norm(rough - exact, axis=1)
    assert (apart[lengths > 0] > 1e-4).all(), "it was used"
    assert (apart <= 0.03 * lengths).all()
