"""What is compiled ahead is what runs use, and it is compiled once."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from headscope.kernels.cpu import compile_ahead, fused
from headscope.kernels.cpu.compile_ahead import Part
from headscope.kernels.cpu.fused import fused_statistics
from headscope.kernels.cpu.jit.warm_up import tiny_products, tiny_task, tiny_tokens
from headscope.settings import Settings
from tests.kernels.random_layers import padded_batch, random_layer, random_text


class Called(Exception):
    """Carries what compiled code was called with."""


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """A machine on which nothing is compiled, and no process was started."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compile_ahead, "_running", {})
    return tmp_path


@pytest.mark.parametrize("minimal", [True, False])
@pytest.mark.parametrize("tiled", [False, True], ids=["windows", "tiles"])
def test_a_run_hands_over_the_types_that_are_compiled_ahead(minimal, tiled, monkeypatch):
    def caught(*arguments):
        raise Called(arguments)

    if tiled:
        monkeypatch.setattr(fused, "TILE_NUMBERS", 0)
    for name in ("measure_short_windows", "sum_tile"):
        monkeypatch.setattr(fused.compiled, name, caught)
    of_tokens = []
    measure_tokens = fused.measure_tokens
    monkeypatch.setattr(
        fused, "measure_tokens", lambda *given: (of_tokens.append(given), measure_tokens(*given))
    )
    rng = np.random.default_rng(0)
    texts = [random_text(rng, n) for n in (12, 9)]
    settings = Settings(window_tokens=16, minimal=minimal)
    z, attention = random_layer(rng, texts)
    mass = attention.sum(-2).float()
    batch = padded_batch(texts, settings)
    with pytest.raises(Called) as raised:
        fused_statistics(z.float(), mass, batch, causal=False, settings=settings)
    products, *_, task = raised.value.args[0]
    for ours, compiled in zip(task, tiny_task(), strict=True):
        for field in compiled._fields:
            pair = (numba.typeof(getattr(ours, field)), numba.typeof(getattr(compiled, field)))
            assert pair[0] == pair[1], field
    tile = np.zeros((3, 3), np.float32)
    assert numba.typeof(products) == numba.typeof(tile if tiled else tiny_products())
    vectors, mass, tokens, *_ = of_tokens[0]
    assert numba.typeof(tokens) == numba.typeof(tiny_tokens())
    for given, axes in ((vectors, 4), (mass, 3)):
        assert given.dtype == np.float32
        assert given.ndim == axes
        assert given.flags.c_contiguous


def test_what_is_compiled_is_not_compiled_again(fresh):
    command = [sys.executable, "-m", "headscope.kernels.cpu.jit.warm_up", Part.COUNTS]
    subprocess.run(command, check=True, env={**os.environ, "XDG_CACHE_HOME": str(fresh)})
    kept = list(fresh.rglob("count_pairs.count_rows-*.nbc"))
    assert len(kept) == 1
    for part in (Part.WINDOWS, Part.TILES):
        compile_ahead.mark_as_compiled(part)
    compile_ahead.compile_ahead(window_tokens=4096)
    assert not compile_ahead.is_compiling()
    assert not compile_ahead._running


def test_tiles_are_compiled_for_long_windows_alone(fresh, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/true")
    compile_ahead.compile_ahead(window_tokens=128)
    assert set(compile_ahead._running) == {Part.COUNTS, Part.WINDOWS}
    compile_ahead.compile_ahead(window_tokens=512)
    assert set(compile_ahead._running) == set(Part)
    compile_ahead.wait_until_compiled()
    assert not compile_ahead.is_compiling()


def test_where_no_process_can_be_started_code_is_compiled_later(fresh, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(fresh / "nothing"))
    compile_ahead.compile_ahead(window_tokens=128)
    compile_ahead.wait_until_compiled()
    assert not compile_ahead._running


def test_where_no_code_can_be_kept_nothing_is_compiled_ahead(fresh, monkeypatch):
    (fresh / "headscope").write_text("a file where a folder should be")
    compile_ahead.compile_ahead(window_tokens=128)
    assert not compile_ahead._running
