"""Do 1, 2 and 4 threads give the same numbers, bit for bit?

    python benchmarks/thread_bits.py [--threads 1 2 4] [MODEL [OPTION ...]]
    python benchmarks/thread_bits.py demo
    python benchmarks/thread_bits.py .cache/models/smollm2 --corpus FILE --window 512 --texts 8

The same `headscope analyze`, each time in a process that has that number of threads. Compared are
all arrays of results.nc, the columns of all rows, the sums of all shards, the windows, the pairs of
the example windows and every file of the sample (robustness/), for the model and its untrained
models. Printed are those that differ in any bit, and by how much.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5netcdf
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load_file

Arrays = dict[str, np.ndarray]


def arrays_of(run: Path) -> Arrays:
    """All numbers of a run folder, by file and name."""
    found: Arrays = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        match path.suffix:
            case ".safetensors":
                found |= {f"{name}/{key}": values for key, values in load_file(path).items()}
            case ".parquet":
                table = pq.read_table(path)
                found |= {
                    f"{name}/{column.name}": _values(table[column.name]) for column in table.schema
                }
            case ".nc":
                with h5netcdf.File(path) as file:
                    found |= dict(_variables(file, name))
    return found


def _values(column: pa.ChunkedArray) -> np.ndarray:
    """The values of a column; lists and words as objects."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.to_numpy()
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _variables(group: h5netcdf.Group, name: str) -> Iterator[tuple[str, np.ndarray]]:
    for key, variable in group.variables.items():
        yield f"{name}/{key}", variable[...]
    for key, inner in group.groups.items():
        yield from _variables(inner, f"{name}/{key}")


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are equal, NaN to NaN."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return one.tolist() == other.tolist()
    return one.tobytes() == other.tobytes()


def difference(one: np.ndarray, other: np.ndarray) -> str:
    """How far two arrays that differ are apart."""
    if one.shape != other.shape or not np.issubdtype(one.dtype, np.number):
        return f"{one.dtype} {one.shape}, {other.dtype} {other.shape}"
    apart = np.nan_to_num(np.abs(one.astype(float) - other.astype(float)))
    return f"{np.count_nonzero(apart)} of {one.size}, by up to {apart.max():.3g}"


def analyse(model: str, options: list[str], out: Path, threads: int) -> Arrays:
    """All numbers of a run that had that number of threads."""
    print(f"{model}, {threads} threads", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "headscope", "analyze", "--model", model, "--out", str(out)]
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    asked = [*command, "--no-report", "--threads", str(threads), *options]
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL, env=os.environ | limits)
    return arrays_of(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    args, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as place:
        first, *others = [
            analyse(args.model, options, Path(place) / str(threads), threads)
            for threads in args.threads
        ]
    differing = 0
    for threads, other in zip(args.threads[1:], others, strict=True):
        for name in sorted(set(first) | set(other)):
            if name not in first or name not in other:
                print(f"{threads} threads: {name} is in one run only")
            elif not same_bits(first[name], other[name]):
                print(f"{threads} threads: {name}: {difference(first[name], other[name])}")
            else:
                continue
            differing += 1
    counts = ", ".join(map(str, args.threads))
    print(f"{args.model}, threads {counts}: {len(first)} arrays, {differing} that differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
