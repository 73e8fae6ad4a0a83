"""Good files of every kind, to be spoilt."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

KEPT = Path(__file__).parents[1] / "runs" / "kept"

_ROWS = [
    {"text": "One sentence. “Zwei”,\nand three.", "id": "a", "genre": "news"},
    {"text": "Second, text with words.", "id": "b", "genre": None},
    {"text": "", "id": None, "genre": "mail"},
]
_CONLLU = """# newdoc id = mail-1
# genre = news
# text = It is. Don't go
1\tIt\tit\tPRON\t_\t_\t_\t_\t_\t_
2\tis\tbe\tAUX\t_\t_\t_\t_\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t_\t_\t_\t_

# newpar
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t_\t_\t_\t_
2\tn't\tnot\tPART\t_\t_\t_\t_\t_\t_
2.1\thidden\thide\tVERB\t_\t_\t_\t_\t_\t_
3\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_
"""


def _parquet(rows: list[dict[str, object]], **options: object) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream, **options)
    return stream.getvalue()


SEEDS: dict[str, list[bytes]] = {
    ".txt": [b"A text. Its end.\n\nAnother paragraph, of Mr. Who.", "Ünï 你好。 𝄞".encode()],
    ".md": [b"# A *text*\n\n- with a list\n- of two. Really!\n"],
    ".jsonl": ["\n".join(json.dumps(row) for row in _ROWS).encode()],
    ".csv": ['text,id,genre\n"One. “Zwei”,\nthree.",a,news\n"Second, text",b\n'.encode()],
    ".tsv": [b'text\tid\tgenre\n"One.\nthree."\ta\tnews\nSecond, text\tb\t\n'],
    ".parquet": [
        _parquet(_ROWS),
        _parquet(_ROWS * 40, compression="zstd", row_group_size=16),
        _parquet([{"text": "x", "id": {"deep": [1, 2]}, "genre": ["a"]}]),
        _parquet([{"text": {"en": "x"}, "id": "b"}]),
    ],
    ".conllu": [_CONLLU.encode()],
}

LOG = b"\n".join(
    json.dumps(
        {"time": f"2026-01-01T00:00:{second:02d}+00:00", "elapsed_s": second, **facts}
    ).encode()
    for second, facts in enumerate(
        [
            {"event": "started", "process": 7},
            {"event": "stage", "stage": "texts", "total": 9, "done": 0},
            {"event": "progress", "stage": "texts", "total": 9, "done": 4},
            {"event": "said", "kind": "worker lost", "message": "a worker was lost"},
            {"event": "progress", "stage": "texts", "total": 9, "done": 8},
            {"event": "ended", "kind": "StorageError"},
        ]
    )
)
"""What a run wrote down of itself."""
