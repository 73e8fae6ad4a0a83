"""The model of a configuration, plain or tapped, and the texts that every way reads.

Nothing that measures is imported here: the memory of the process with the bare model is what others
are compared with, and holds no library that this model does not need.
"""

from pathlib import Path
from typing import Literal

import torch
from configurations import Configuration
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, PreTrainedModel

from headscope.errors import CorpusError
from headscope.models.load import load_model, max_tokens
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading
from headscope.models.source import find_model
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text.corpus import read_corpus
from headscope.text.windows import Window, WindowTokenizer, iter_windows


def folder_of(configuration: Configuration, models: Path) -> Path:
    """Where the tokenizer lies, and the weights, if they are not random."""
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
    """What cuts the texts of a plain model as those of a tapped one are cut."""
    return HeadscopeTokenizer(AutoTokenizer.from_pretrained(folder), max_tokens(model))


def windows_of(
    tokenizer: WindowTokenizer | None, window_tokens: int, texts: int, corpus: str = "demo"
) -> list[Window]:
    """The first texts of a corpus that fill a window, or lack two tokens at most."""
    assert tokenizer is not None
    windows = iter_windows(
        read_corpus([corpus]),
        tokenizer,
        window_tokens=window_tokens,
        min_tokens=fewest_tokens(window_tokens),
        limit=texts,
    )
    if not (found := list(windows)):
        raise CorpusError(f"no text of {corpus} has {window_tokens} tokens")
    return found


def fewest_tokens(window_tokens: int) -> int:
    """Of a text, special tokens aside: all are to be nearly as long as a window."""
    return window_tokens - 2
