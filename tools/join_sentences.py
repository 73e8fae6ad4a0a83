"""Joins the sentences of a treebank without documents into rows, each a document of its own.

python -m tools.join_sentences IN.conllu.gz OUT.conllu [SENTENCES]

Some treebanks hold single sentences (German GSD, Dutch Alpino, Chinese GSD). A window needs
several, so every SENTENCES of them (20 by default) are joined in the order of the file. Neighbours
need not belong together: what such a corpus says about sentences holds, about topics it does not.
"""

import gzip
import sys
from pathlib import Path


def join_sentences(text: str, sentences: int) -> str:
    """The treebank with a document of that many sentences each.

    Args:
        text: In CoNLL-U.
        sentences: Of each document.
    """
    blocks = [block for block in text.strip().split("\n\n") if block.strip()]
    joined = []
    for number, block in enumerate(blocks):
        lines = [
            line for line in block.splitlines() if not line.startswith(("# newdoc", "# newpar"))
        ]
        if number % sentences == 0:
            lines.insert(0, f"# newdoc id = row-{number // sentences:03d}")
        joined.append("\n".join(lines))
    return "\n\n".join(joined) + "\n\n"


def main(source: str, target: str, sentences: str = "20") -> None:
    data = Path(source).read_bytes()
    text = (gzip.decompress(data) if source.endswith(".gz") else data).decode()
    Path(target).write_text(join_sentences(text, int(sentences)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
