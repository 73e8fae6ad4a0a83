"""Writes a run of the current run format for the tests to keep, made with a tiny random model.

    python -m tools.keep_run

Run it once when `SCHEMA` is raised, and commit the folder, tests/runs/kept/schema-N: it records
what runs of that version look like. Folders of older versions are never written again.
"""

import contextlib
import tempfile
from pathlib import Path

import headscope as hs
from headscope.runs.manifest import SCHEMA
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert

KEPT = Path(__file__).parents[1] / "tests" / "runs" / "kept"


def main() -> None:
    out = KEPT / f"schema-{SCHEMA}"
    if out.exists():
        raise SystemExit(f"{out} is there already")
    # In that folder: the manifest names the corpus as it was asked for.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        corpus = Path("texts")
        corpus.mkdir()
        for number, text in enumerate(TEXTS):
            (corpus / f"{number}.txt").write_text(text)
        hs.analyze(
            loaded(tiny_bert()),
            corpus,
            out=out,
            window=16,
            min_tokens=4,
            shard_windows=8,
            nulls=0,
            minimal=True,
            signal=True,
            report=False,
            progress=False,
        )
    # Neither is part of the format, and the log names this machine.
    for name in (".lock", "log.jsonl"):
        (out / name).unlink()


if __name__ == "__main__":
    main()
