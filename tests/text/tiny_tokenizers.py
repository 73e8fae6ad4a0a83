"""Tiny tokenizers of the three common builds, made on the spot."""

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer, WordPieceTrainer
from transformers import PreTrainedTokenizerFast

SAMPLE = [
    "The cat sat on the mat. The dog, however, did not sit on it!",
    "Naïve cafés in Zürich serve 3.5 cups a day; don't they? “Yes,” he said.",
    "Words repeat, words return, and the same words end a sentence.",
]


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT has it: lower-cased, [CLS] text [SEP]."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(
        SAMPLE, WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def byte_level() -> PreTrainedTokenizerFast:
    """As GPT-2 has it: bytes, no special tokens around a text, no padding token."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=320,
        show_progress=False,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    backend.train_from_iterator(SAMPLE, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<|end|>", bos_token="<|end|>", eos_token="<|end|>"
    )


def llama_like() -> PreTrainedTokenizerFast:
    """As Llama has it: a prepended "▁", pieces over spaces, bytes for the unknown, <s> in front."""
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    backend = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.train_from_iterator(
        SAMPLE, BpeTrainer(vocab_size=420, special_tokens=special, show_progress=False)
    )
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def word_level() -> PreTrainedTokenizerFast:
    """Eight tokens, for models of the smallest vocabulary."""
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "the", "cat", "sat", "."]
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
