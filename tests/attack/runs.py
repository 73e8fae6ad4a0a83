"""Hostile run folders: read, resumed, and full of links.

The subject is a finished run of a tiny model, with runs of the untrained model inside. Each case
spoils a copy, uses it, and then looks: was anything outside touched, did a number change?

Not tried, since nothing can tell: numbers forged with care in every file that holds them, or texts
of windows that are put in the place of others. A run is its author's word.
"""

import contextlib
import hashlib
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pyarrow.parquet as pq

import headscope as hs
from headscope.cli.info import info_command
from headscope.measuring.reduce import reduce_run
from headscope.models.loaded import LoadedModel
from headscope.runs.examples import read_examples
from tests.attack.case import Case
from tests.attack.entries import (
    ENTRIES,
    LINKS,
    content_of,
    in_one_line,
    put_entry,
    put_link,
    remove,
    victim_beside,
)
from tests.attack.run_forgery import (
    ODD_JSON,
    ROW_CHANGES,
    WINDOW_CHANGES,
    change_arrays,
    change_json,
    change_results,
    change_table,
    places_of,
    put_receipts_right,
)
from tests.compare.tiny_bert import TEXTS, loaded, tiny_bert
from tests.faults.mutate import mutated, mutated_json

CATEGORY = "runs"

Spoil = Callable[[Path, random.Random], None]


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many hostile runs, the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many cases.
        folder: An empty folder of this category, or one that it has used before.
    """
    _truth(_base(folder))  # before processes are forked: each would read it again
    kinds = [_linked, _manifest, _tables, _bytes, _results, _swapped, _odd_entries]
    for place in range(number):
        chance = random.Random(f"{seed} {place}")
        yield kinds[place % len(kinds)](chance, folder, place)


@cache
def _model() -> LoadedModel:
    return loaded(tiny_bert())


def _analyse(folder: Path, out: Path, **options: object) -> hs.Run:
    return hs.analyze(
        _model(),
        folder / "texts",
        out=out,
        window=16,
        min_tokens=4,
        shard_windows=4,
        nulls=3,
        null_seeds=2,
        minimal=True,
        report=False,
        progress=False,
        **options,
    )


def _base(folder: Path) -> Path:
    """The run that is spoilt, made once."""
    base = folder / "base"
    if not (base / "done").exists():
        shutil.rmtree(base, ignore_errors=True)
        (folder / "texts").mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(TEXTS):
            (folder / "texts" / f"{number}.txt").write_text(text)
        _analyse(folder, base / "run").report()
        (base / "done").touch()
    return base / "run"


@cache
def _truth(base: Path) -> dict[str, object]:
    return _numbers(hs.open_run(base), results_of_nulls=True)


def _numbers(run: hs.Run, *, results_of_nulls: bool) -> dict[str, object]:
    """What must not change silently."""
    numbers: dict[str, object] = {}
    for null in run.untrained:
        name = null.folder.name
        numbers[name] = null.findings.window_table("encoder", ["pairs"]).columns["pairs"].tolist()
        if results_of_nulls:
            numbers[f"results of {name}"] = _results_of(null)
    with run.files.refusing_unreadable():  # datasets of Arrow, which raise errors of their own
        numbers["rows"] = run.rows().to_table().to_pylist()
        numbers["windows"] = run.windows().to_table().to_pylist()
    numbers["results"] = _results_of(run)
    return numbers


_TABLES: dict[tuple[str, ...], str] = {}
"""By the content of manifest, results and receipt: reading results takes half a second."""


def _results_of(run: hs.Run) -> str:
    names = ("manifest.json", "results.nc", "results.json")
    content = [(run.folder / n).read_bytes() if (run.folder / n).is_file() else b"" for n in names]
    key = tuple(hashlib.sha256(part).hexdigest() for part in content)
    if key not in _TABLES:
        _TABLES[key] = run.heads.to_csv()
    return _TABLES[key]


def _copy(folder: Path, place: int) -> Path:
    run = folder / "cases" / f"{place}" / "run"
    shutil.rmtree(run.parent, ignore_errors=True)
    shutil.copytree(_base(folder), run)
    return run


def _use(
    folder: Path, run: Path, action: str, *, nulls: bool, believed: bool, retold: bool = False
) -> None:
    """Do something with a spoilt run, then read it. AssertionError if a number changed.

    Args:
        folder: Of the category.
        run: The spoilt run.
        action: What is done.
        nulls: Whether the results of the untrained models are read, too.
        believed: Whether the run says itself that it is another one, so that numbers may differ.
        retold: Whether it may have other texts, with the same numbers.
    """
    match action:
        case "resume":
            _analyse(folder, run)
        case "reduce":
            reduce_run(hs.open_run(run).files)
        case "report":
            hs.open_run(run).report()
        case "figures":
            hs.open_run(run).figures(only=["summed"], formats=["png"])
        case "merge":
            hs.merge([run, _base(folder)], run.parent / "merged", report=False)
    _say_info(run)
    opened = hs.open_run(run)
    read_examples(run, opened.manifest)
    truth = _truth(_base(folder))
    for name, value in _numbers(opened, results_of_nulls=nulls).items():
        may_differ = believed or (retold and name == "windows")
        assert may_differ or value == truth[name], f"{name} changed silently"


def _say_info(run: Path) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        info_command(run)
    assert said.getvalue().isprintable() or not set(said.getvalue()) & set("\x1b\x07\x9b\u202e")


ACTIONS = ("read", "info", "resume", "reduce", "merge")


def _case(
    name: str,
    chance: random.Random,
    folder: Path,
    place: int,
    spoil: Spoil,
    *,
    action: str | None = None,
    believed: bool = False,
    retold: bool = False,
) -> Case:
    chosen = action or chance.choice(ACTIONS)

    def attack() -> None:
        run = _copy(folder, place)
        victim = victim_beside(run)
        before = content_of(victim)
        planted: list[Path] = []
        try:
            spoil(run, chance)
            planted += run.rglob("thesis.txt")
            nulls = "untrained" in name and "results" in name
            _use(folder, run, chosen, nulls=nulls, believed=believed, retold=retold)
        finally:
            assert content_of(victim) == before, "something outside was touched"
            assert all(path.exists() for path in planted), "a file of somebody else was deleted"
            shutil.rmtree(run.parent)

    return Case(f"{chosen}: {name}", partial(in_one_line, attack))


def _names(folder: Path) -> list[str]:
    """Everything in the run, and names that it may get."""
    base = _base(folder)
    there = [str(path.relative_to(base)) for path in sorted(base.rglob("*"))]
    return [*there, "figures", "figures/summed.png", "nulls/untrained-9"]


def _linked(chance: random.Random, folder: Path, place: int) -> Case:
    """A link in place of a file or folder, whatever it leads to."""
    name = chance.choice(_names(folder))
    target = chance.choice(LINKS)

    def spoil(run: Path, chance: random.Random) -> None:
        put_link(run, name, target)
        if chance.random() < 0.5:
            with contextlib.suppress(OSError):  # the folder may be a link to itself by now
                (run / "shards" / "00001.json").unlink()

    action = chance.choice([*ACTIONS, "resume", "report", "figures"])
    return _case(f"{name} as a link to {target}", chance, folder, place, spoil, action=action)


def _odd_entries(chance: random.Random, folder: Path, place: int) -> Case:
    """A pipe, a socket, a device, a folder in place of a file, a file in place of a folder."""
    name = chance.choice(_names(folder))
    kind = chance.choice(ENTRIES)

    def spoil(run: Path, chance: random.Random) -> None:
        put_entry(run / name, kind)

    action = chance.choice([*ACTIONS, "report", "figures"])
    return _case(f"{name} as {kind}", chance, folder, place, spoil, action=action)


def _manifest(chance: random.Random, folder: Path, place: int) -> Case:
    """Another value anywhere in the manifest, a receipt, or the manifest of an untrained model."""
    base = _base(folder)
    files = ["manifest.json"] * 5 + [
        "shards/00000.json",
        "results.json",
        "nulls/untrained-0/manifest.json",
    ]
    name = chance.choice(files)
    values = json.loads((base / name).read_text())
    where = chance.choice(places_of(values))
    value = chance.choice(ODD_JSON)
    right = chance.random() < 0.5

    def spoil(run: Path, chance: random.Random) -> None:
        change_json(run / name, where, value)
        if chance.random() < 0.2:
            path = run / name
            path.write_text(json.dumps(mutated_json(json.loads(path.read_text()), chance)))
        if right and name == "manifest.json":
            put_receipts_right(run)

    # Once every receipt names the changed manifest, it is another run that says so itself.
    return _case(
        f"{name}: {where} is {str(value)[:30]!r}", chance, folder, place, spoil, believed=right
    )


def _tables(chance: random.Random, folder: Path, place: int) -> Case:
    """Windows, rows or sums that do not fit the manifest, with right checksums."""
    kind = chance.choice(["windows", "windows", "shards", "shards", "safetensors"])
    number = chance.randrange(3)
    changes = WINDOW_CHANGES if kind == "windows" else ROW_CHANGES
    how = chance.choice(sorted(changes))
    counts = kind == "windows" and chance.random() < 0.5
    action = chance.choice(["read", "resume", "reduce", "merge"])

    def spoil(run: Path, chance: random.Random) -> None:
        if kind == "safetensors":
            change_arrays(run / "shards" / f"{number:05d}.safetensors", chance)
        else:
            path = run / kind / f"{number:05d}.parquet"
            change_table(path, changes[how], chance)
            if counts:
                _count_windows_again(run)
        put_receipts_right(run)
        if action == "resume" and kind == "windows":
            (run / "shards" / f"{number:05d}.json").unlink()

    # Sums are not in the rows: reading alone shows the results, which are as they were.
    name = "sums spoilt" if kind == "safetensors" else f"{kind}: {how}"
    # Whole windows in another order, with all checksums made right, are told from the corpus alone.
    retold = name in ("windows: a row in place of another", "windows: rows reversed")
    return _case(name, chance, folder, place, spoil, action=action, retold=retold)


def _count_windows_again(run: Path) -> None:
    sizes = [
        pq.read_metadata(path).num_rows for path in sorted((run / "windows").glob("*.parquet"))
    ]
    change_json(run / "manifest.json", ("corpus", "shard_texts"), sizes)
    change_json(run / "manifest.json", ("corpus", "windows"), sum(sizes))


def _bytes(chance: random.Random, folder: Path, place: int) -> Case:
    """Bytes flipped, cut, doubled; half of the time with checksums that fit."""
    base = _base(folder)
    files = [str(path.relative_to(base)) for path in sorted(base.rglob("*")) if path.is_file()]
    name = chance.choice([file for file in files if not file.endswith((".lock", "report.html"))])
    right = chance.random() < 0.5

    def spoil(run: Path, chance: random.Random) -> None:
        path = run / name
        path.write_bytes(mutated(path.read_bytes(), chance))
        if right and path.suffix != ".json":
            put_receipts_right(run / "/".join(name.split("/")[: 2 if "nulls" in name else 0]))

    return _case(f"{name} with other bytes", chance, folder, place, spoil, believed=right)


def _results(chance: random.Random, folder: Path, place: int) -> Case:
    """results.nc that lies, with a right checksum."""

    def spoil(run: Path, chance: random.Random) -> None:
        outside = run.parent / "victim" / "untrained-0" / "thesis.txt"
        change_results(run / "results.nc", chance, outside)
        put_receipts_right(run)

    action = chance.choice(["read", "info", "reduce"])
    return _case("results.nc spoilt", chance, folder, place, spoil, action=action)


def _swapped(chance: random.Random, folder: Path, place: int) -> Case:
    """Whole files of one run, or of one shard, in the place of another's."""
    endings = [f"shards/{{}}.{ending}" for ending in ("json", "parquet", "safetensors")]
    swaps: dict[str, tuple[list[str], list[str]]] = {
        "a shard of the untrained model": (
            [f"nulls/untrained-0/{name.format('00000')}" for name in endings],
            [name.format("00000") for name in endings],
        ),
        "another shard": (
            [name.format("00001") for name in endings],
            [name.format("00000") for name in endings],
        ),
        "windows of another shard": (["windows/00001.parquet"], ["windows/00000.parquet"]),
        "results of the untrained model": (
            ["nulls/untrained-0/results.nc", "nulls/untrained-0/results.json"],
            ["results.nc", "results.json"],
        ),
        "an untrained model of another seed": (["nulls/untrained-1"], ["nulls/untrained-0"]),
        "the manifest of the untrained model": (
            ["nulls/untrained-0/manifest.json"],
            ["manifest.json"],
        ),
    }
    name = chance.choice(sorted(swaps))

    def spoil(run: Path, chance: random.Random) -> None:
        for source, target in zip(*swaps[name], strict=True):
            remove(run / target)
            if (run / source).is_dir():
                shutil.copytree(run / source, run / target)
            else:
                shutil.copy(run / source, run / target)

    return _case(f"{name} put in place", chance, folder, place, spoil)
