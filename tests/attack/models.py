"""Hostile models: small good ones, changed by one to three mutations each.

A model is loaded, checked, and reads a text. Whatever its files say, no pickle is opened, no kernel
is fetched, nothing is asked of the network, and files outside its folder stay as they are.
"""

import json
import pickle
import random
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, LlamaConfig, LlamaModel
from transformers.integrations import hub_kernels

from headscope.errors import HeadscopeError
from headscope.models.load import load_model
from headscope.models.quiet import quiet_loading
from tests.attack.case import Case
from tests.attack.model_mutations import MUTATIONS
from tests.text.tiny_tokenizers import byte_level, wordpiece

CATEGORY = "models"
LONGEST_S = 20
"""Of computing: the machine may be busy with other things."""
_TEXT = "The cat sat on the mat. Words repeat, words return!"


class Touched(BaseException):
    """A model reached what no model may reach. Not an Exception, so that nothing catches it."""


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many hostile models; the same for the same seed."""
    bases = _good_models(folder / "good models")
    mutations, weights = zip(*MUTATIONS, strict=True)
    for place in range(number):
        rng = random.Random(f"{seed}-{place}")
        base = rng.choice(bases)
        drawn = rng.choices(mutations, weights, k=rng.choice([1, 1, 1, 2, 3]))
        chosen = list(dict.fromkeys(drawn))
        words = ", ".join(mutation.__name__.replace("_", " ") for mutation in chosen)
        yield Case(
            f"{place}: {base.name}, {words}",
            partial(_attack, base, chosen, f"{seed}-{place}", folder),
        )


def _attack(base: Path, mutations: list[Any], seed: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        model, outside = Path(place) / "model", Path(place) / "outside"
        shutil.copytree(base, model)
        _victim(outside, base)
        rng = random.Random(f"{seed} mutations")
        done = ", ".join(mutate(model, outside, rng) for mutate in mutations)
        before, started = _snapshot(outside), time.process_time()
        try:
            with nothing_else_touched():
                _use(model)
        except HeadscopeError as error:
            if "\n" in str(error) or len(str(error)) > 2_000 or "Type-check" in str(error):
                raise AssertionError(f"{done}: not a line for users: {str(error)[:500]}") from error
            raise
        except BaseException as error:
            error.add_note(done)
            raise
        finally:
            assert _snapshot(outside) == before, f"{done}: files outside were changed"
            assert time.process_time() - started < LONGEST_S, f"{done}: took too long"


def _use(folder: Path) -> None:
    model = load_model(folder)
    if model.tokenizer is None:
        return
    tokens = model.tokenizer.encode(_TEXT).token_ids[: (model.tokenizer.max_tokens or 8) - 4]
    ids = torch.tensor(tokens.tolist() or [0])[None]
    model.forward(ids, torch.ones_like(ids), lambda capture: None)


@contextmanager
def nothing_else_touched() -> Iterator[None]:
    """While open, pickles, kernels of the hub and the network raise `Touched`."""

    def refuse(what: str) -> Any:
        def touched(*_: object, **__: object) -> None:
            raise Touched(what)

        return touched

    with ExitStack() as stack:
        for owner, name in (
            *((pickle, name) for name in ("load", "loads", "Unpickler", "_Unpickler")),
            *((owner, "load") for owner in (torch, torch.serialization, torch.hub)),
            (socket.socket, "connect"),
            *((hub_kernels, name) for name in ("get_kernel", "load_and_register_attn_kernel")),
        ):
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, refuse(f"{owner} {name}")))
        yield


def _good_models(folder: Path) -> list[Path]:
    """Three tiny models of different families, made once."""
    torch.manual_seed(0)
    bert = BertConfig(
        vocab_size=200,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    gpt2 = GPT2Config(
        vocab_size=512,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    llama = LlamaConfig(
        vocab_size=512,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    made = []
    for name, kind, config, tokenizer in (
        ("bert", BertModel, bert, wordpiece),
        ("gpt2", GPT2Model, gpt2, byte_level),
        ("llama", LlamaModel, llama, byte_level),
    ):
        if not (folder / name).exists():
            with quiet_loading():
                kind(config).save_pretrained(folder / name)
                tokenizer().save_pretrained(folder / name)
        made.append(folder / name)
    return made


class _Trap:
    """Its pickle writes a file when it is opened."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def _victim(folder: Path, base: Path) -> None:
    """Files that no model may read or change, and a pickle that changes them when it is opened."""
    folder.mkdir()
    (folder / "precious.json").write_text(json.dumps({"model_type": "bert"}))
    shutil.copy(base / "model.safetensors", folder)
    (folder / "trap.bin").write_bytes(pickle.dumps(_Trap(folder / "the pickle was opened")))


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
