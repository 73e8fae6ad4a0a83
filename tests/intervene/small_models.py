"""Tiny random models with their heads, in folders, and windows for them."""

import shutil
from pathlib import Path

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from headscope.text.kinds import TokenKind
from headscope.text.windows import Window
from tests.demo_texts import demo_model_folder

VOCABULARY = 30522
"""That of the demo tokenizer, which they all have."""
_BERT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
_LLAMA = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
MODELS = {
    "bert": lambda: BertModel(BertConfig(**_BERT)),
    "bert-masked": lambda: BertForMaskedLM(BertConfig(**_BERT)),
    "bert-names": lambda: BertForTokenClassification(BertConfig(**_BERT, num_labels=5)),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=4, n_positions=64)
    ),
    "gpt2-deep": lambda: GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY,
            n_embd=16,
            n_layer=4,
            n_head=4,
            n_positions=64,
            tie_word_embeddings=False,
        )
    ),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**_LLAMA)),
    "roberta": lambda: RobertaForMaskedLM(RobertaConfig(**_BERT, pad_token_id=0)),
    "modernbert": lambda: ModernBertForMaskedLM(
        ModernBertConfig(
            **_BERT,
            pad_token_id=0,
            cls_token_id=101,
            sep_token_id=102,
            bos_token_id=101,
            eos_token_id=102,
        )
    ),
    "t5": lambda: T5ForConditionalGeneration(
        T5Config(
            vocab_size=VOCABULARY,
            d_model=16,
            d_kv=4,
            d_ff=24,
            num_layers=2,
            num_heads=4,
            decoder_start_token_id=0,
        )
    ),
}


def write_model(name: str, folder: Path) -> Path:
    """Write one of the models into a folder, with the demo model's tokenizer.

    Args:
        name: A key of `MODELS`.
        folder: Where to.
    """
    torch.manual_seed(3)
    model = MODELS[name]()
    with torch.no_grad():  # larger than the initial ones, so that heads matter
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(6)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (demo_model_folder() / file).exists():
            shutil.copyfile(demo_model_folder() / file, folder / file)
    return folder


def some_windows(lengths: tuple[int, ...] = (12, 9, 15), seed: int = 0) -> list[Window]:
    """Windows of random tokens between [CLS] and [SEP], each of a document of its own.

    Args:
        lengths: In tokens, the special ones included.
        seed: Of the tokens.
    """
    generator = np.random.default_rng(seed)
    windows = []
    for number, length in enumerate(lengths):
        ids = generator.integers(2000, VOCABULARY, length).astype(np.int32)
        ids[0], ids[-1] = 101, 102
        kinds = np.full(length, TokenKind.CONTENT, dtype=np.int32)
        kinds[0], kinds[-1] = TokenKind.SPECIAL, TokenKind.SPECIAL_SEPARATOR
        places = np.arange(length, dtype=np.int32)
        inner = np.where((places == 0) | (places == length - 1), -1, places - 1).astype(np.int32)
        windows.append(
            Window(
                document=f"document {seed}-{number}",
                label=None,
                tokens=tuple(map(str, ids)),
                token_ids=ids,
                starts=inner,
                ends=inner,
                sentence_ids=np.minimum(inner, 0),
                word_ids=inner,
                form_ids=inner,
                lemma_ids=inner,
                head_ids=inner,
                kinds=kinds,
            )
        )
    return windows
