"""The model of a configuration, plain or tapped, and the windows that every way reads.

Nothing that measures is imported here: the others are compared with the memory of the process that
holds the bare model, which must load no library that the model does not need.
"""

from pathlib import Path
from typing import Literal

import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, PreTrainedModel

from common.configurations import Configuration
from headscope.errors import CorpusError
from headscope.models.load import load_model, max_tokens
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading
from headscope.models.source import find_model
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text.corpus import read_corpus
from headscope.text.windows import Window, WindowTokenizer, iter_windows


def folder_of(configuration: Configuration, models: Path) -> Path:
    """The folder with the tokenizer, and with the weights unless they are random."""
    name = configuration.name
    return find_model(models / name if configuration.from_models else "demo").path


def plain_model(
    configuration: Configuration, models: Path, attention: Literal["sdpa", "eager"]
) -> PreTrainedModel:
    """The model as transformers gives it."""
    if configuration.name == "base":
        # BERT-base with random weights: weights do not matter for speed.
        torch.manual_seed(0)
        return BertModel._from_config(BertConfig(), attn_implementation=attention).eval()  # type: ignore[no-untyped-call,no-any-return]
    with quiet_loading():
        return AutoModel.from_pretrained(  # type: ignore[no-any-return]
            folder_of(configuration, models), dtype="float32", attn_implementation=attention
        ).eval()


def tapped_model(configuration: Configuration, models: Path) -> LoadedModel:
    """The model as headscope reads it."""
    folder = folder_of(configuration, models)
    if configuration.name == "base":
        plain = plain_model(configuration, models, "eager")
        return load_model(plain, tokenizer=AutoTokenizer.from_pretrained(folder))
    return load_model(folder)


def plain_tokenizer(folder: Path, model: PreTrainedModel) -> HeadscopeTokenizer:
    """A tokenizer that cuts windows for a plain model as for a tapped one."""
    return HeadscopeTokenizer(AutoTokenizer.from_pretrained(folder), max_tokens(model))


def windows_of(
    tokenizer: WindowTokenizer | None, window_tokens: int, texts: int, corpus: str = "demo"
) -> list[Window]:
    """The first windows of a corpus that are full, or at most two tokens short."""
    assert tokenizer is not None
    windows = iter_windows(
        read_corpus([corpus]),
        tokenizer,
        window_tokens=window_tokens,
        min_tokens=fewest_tokens(window_tokens),
        limit=texts,
    )
    if not (found := list(windows)):
        raise CorpusError(f"no document of {corpus} has {window_tokens} tokens")
    return found


def fewest_tokens(window_tokens: int) -> int:
    """The fewest tokens a window may have, special ones not counted: all are nearly full."""
    return window_tokens - 2
