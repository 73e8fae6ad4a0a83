"""What heads learn, and when: a tiny BERT, measured while it trains.

    python examples/03_training_steps.py --out runs/training

trains 4 layers of 4 heads by masked-language modelling on two thirds of the demo corpus, keeps the
model at a few steps, and measures each of them on the other third, which it never trains on. The
figure, `training.png`, shows range, separators, sentences and roles over the steps. It takes a few
minutes on two cores. With so little text the model learns little: look for what comes first.
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

STEPS = (0, 50, 200, 800)
WINDOW = 128
BATCH = 16
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/training"))
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    parser.add_argument("--texts", type=int, default=100, help="windows that are measured")
    parser.add_argument("--width", type=int, default=128, help="d_model")
    arguments = parser.parse_args()
    watch_training(arguments.out, arguments.steps, arguments.texts, arguments.width)


def watch_training(out: Path, steps: Sequence[int], texts: int, width: int) -> Path:
    """The path of the figure, after training, measuring and comparing."""
    steps = sorted(steps)
    documents = [document.text for document in read_demo()]
    held_out = documents[::3]
    training = [text for number, text in enumerate(documents) if number % 3]
    corpus = out / "held-out.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in held_out))

    checkpoints = train(training, out / "checkpoints", steps, width)
    runs = [
        hs.analyze(
            checkpoint, corpus, texts=texts, nulls=0, out=out / checkpoint.name, progress=False
        )
        for checkpoint in checkpoints
    ]
    comparison = hs.compare(runs, steps=steps)
    # Heads are judged against those of step 0: what they show there does not come from training.
    for step, (_, roles) in zip(steps, comparison.roles.groupby("run", sort=False), strict=True):
        heads = ", ".join(f"{row.heads} {row.role}" for row in roles.itertuples())
        print(f"step {step}: heads by role: {heads}")
    path = out / "training.png"
    comparison.figure().savefig(path, dpi=200)
    print(f"figure  {path}")
    return path


def train(texts: Sequence[str], out: Path, steps: Sequence[int], width: int) -> list[Path]:
    """The folders of the model after each of the steps, tokenizer included."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(texts)
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
    folders = []
    for step in range(max(steps) + 1):
        if step in steps:
            folders.append(out / f"step-{step:05d}")
            model.save_pretrained(folders[-1])
            tokenizer.save_pretrained(folders[-1])
        batch = windows[torch.randint(len(windows), (BATCH,))]
        inputs, labels = mask(batch, tokenizer)
        loss = model.train()(input_ids=inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        if step in steps or step % 100 == 0:
            print(f"step {step}: loss {loss.item():.2f}", flush=True)
    return folders


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
