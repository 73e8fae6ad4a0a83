"""What a model learns, and when: a tiny BERT, measured while it trains.

    python examples/03_training_steps.py --out runs/training

trains 4 layers of 4 heads by masked-language modelling on two thirds of the demo corpus, keeps the
model at a few steps, and measures each of them on the other third, which it never trains on: what
heads write, and what each layer guesses of hidden tokens. The figure, `training.png`, shows loss,
entropy, range, separators, sentences, signal to noise and roles over the steps, and where each
changes fastest. It takes a few minutes on two cores. The long form,

    python examples/03_training_steps.py --out runs/training --seeds 3

trains three models, so that intervals cover other seeds, too. With so little text a model learns
little: look for what comes first. An interrupted call goes on when it is given again.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import WordPieceTrainer
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

import headscope as hs
from headscope.text.demo import read_demo

STEPS = (0, 10, 30, 60, 120, 250, 500, 1000)
WINDOW = 128
BATCH = 16
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/training"))
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    parser.add_argument("--seeds", type=int, default=1, help="models that are trained")
    parser.add_argument("--texts", type=int, default=100, help="windows that are measured")
    parser.add_argument("--width", type=int, default=128, help="d_model")
    given = parser.parse_args()
    watch_training(given.out, sorted(given.steps), given.seeds, given.texts, given.width)


def watch_training(out: Path, steps: Sequence[int], seeds: int, texts: int, width: int) -> Path:
    """The path of the figure, after training, measuring and comparing."""
    documents = [document.text for document in read_demo()]
    held_out = documents[::3]
    training = [text for number, text in enumerate(documents) if number % 3]
    corpus = out / "held-out.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in held_out))

    runs = []
    for seed in range(seeds):
        name = f"seed-{seed}"
        for checkpoint in train(training, out / "checkpoints" / name, steps, width, seed):
            folder = out / name / checkpoint.name
            asked = {"texts": texts, "progress": False}
            runs.append(hs.analyze(checkpoint, corpus, nulls=0, report=False, out=folder, **asked))
            # Every hidden token is scored. A lens study in the folder of a run belongs to it.
            hs.lens(checkpoint, corpus, positions=None, out=folder / "lens", **asked)
            print(f"measured  {folder}", flush=True)
    # Steps and seeds are read from the names of the folders.
    comparison = hs.compare(runs, steps=True)
    for change in comparison.fastest[comparison.fastest["clear"]].itertuples():
        between = f"from step {change.from_step} to {change.to_step}"
        by = f"{change.change:+.3g} [{change.low:+.3g}, {change.high:+.3g}]"
        print(f"{change.quantity}, {change.part} layers: changes fastest {between}, by {by}")
    path = out / "training.png"
    comparison.figure().savefig(path, dpi=200)
    print(f"figure  {path}")
    return path


def train(
    texts: Sequence[str], out: Path, steps: Sequence[int], width: int, seed: int
) -> list[Path]:
    """The folders of the model after each of the steps, tokenizer included."""
    folders = {step: out / f"step-{step:05d}" for step in steps}
    if all((folder / "tokenizer.json").exists() for folder in folders.values()):
        return list(folders.values())
    tokenizer = same_tokenizer(texts, out.parent / "tokenizer")
    torch.manual_seed(seed)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=4 * width,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=WINDOW,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    windows = cut(texts, tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 100))
    for step in range(max(steps) + 1):
        if step in folders:
            model.save_pretrained(folders[step])
            tokenizer.save_pretrained(folders[step])
        batch = windows[torch.randint(len(windows), (BATCH,))]
        inputs, labels = mask(batch, tokenizer)
        loss = model.train()(input_ids=inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        if step in folders or step % 100 == 0:
            print(f"seed {seed}, step {step}: loss {loss.item():.2f}", flush=True)
    return list(folders.values())


def same_tokenizer(texts: Sequence[str], folder: Path) -> PreTrainedTokenizerFast:
    """One tokenizer for all seeds: which of equally frequent pieces it has is chance."""
    if not (folder / "tokenizer.json").exists():
        train_tokenizer(texts).save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def train_tokenizer(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A small WordPiece vocabulary of these texts, built as BERT's is."""
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(
        texts, WordPieceTrainer(vocab_size=2000, special_tokens=SPECIAL, show_progress=False)
    )
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=WINDOW,
        **{f"{role}_token": token for role, token in names.items()},
    )


def cut(texts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> torch.Tensor:
    """All windows of 126 tokens that start at a multiple of 32, between [CLS] and [SEP]."""
    body = WINDOW - 2
    windows = []
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        windows += [ids[first : first + body] for first in range(0, len(ids) - body + 1, 32)]
    around = tokenizer.cls_token_id, tokenizer.sep_token_id
    return torch.tensor([[around[0], *window, around[1]] for window in windows])


def mask(
    batch: torch.Tensor, tokenizer: PreTrainedTokenizerFast
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs with 15 % of the tokens hidden as BERT hides them, and the labels."""
    chosen = (torch.rand(batch.shape) < 0.15) & (batch >= len(SPECIAL))
    how = torch.rand(batch.shape)
    inputs = batch.masked_fill(chosen & (how < 0.8), tokenizer.mask_token_id)
    other = torch.randint(len(SPECIAL), len(tokenizer), batch.shape)
    inputs = torch.where(chosen & (how >= 0.9), other, inputs)
    return inputs, batch.masked_fill(~chosen, -100)


if __name__ == "__main__":
    main()
