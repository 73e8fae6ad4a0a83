"""Hostile folders of studies: what ablate, lens and reach keep, resumed and read; pruned models.

The subjects are finished studies of a tiny model, a run with a reach study in it, and that model
without some heads. Each case spoils a copy and uses it. Then: was anything outside touched, did a
number change? Not tried, as for runs: numbers forged with care in every file that holds them.
"""

import json
import math
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import safetensors.numpy
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from tests.attack.case import Case
from tests.attack.entries import (
    ENTRIES,
    LINKS,
    content_of,
    in_one_line,
    put_entry,
    put_link,
    victim_beside,
)
from tests.attack.run_forgery import (
    ODD_JSON,
    ROW_CHANGES,
    WINDOW_CHANGES,
    change_json,
    change_table,
    places_of,
    put_receipts_right,
)
from tests.faults.mutate import mutated, mutated_json
from tests.lens.texts import TEXTS
from tests.text.tiny_tokenizers import byte_level

CATEGORY = "studies"
STUDIES = ("ablate", "lens", "reach")
IN_RUN = "run"
"""A run whose folder holds a reach study."""
PRUNED = "pruned"
OPTIONS: dict[str, Any] = {"window": 64, "min_tokens": 6, "shard_windows": 4}

KEPT, ANOTHER, RETOLD = "kept", "another", "retold"
"""What a spoilt folder says of itself: that it is what it was; that it is another one, so that its
numbers may differ; or other windows, which are believed unless they are cut again."""
Spoil = Callable[[Path, random.Random], str]


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many hostile studies, the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many cases.
        folder: An empty folder of this category, or one that it has used before.
    """
    _truth(home_of(folder))  # before processes are forked: each would make it again
    spoils = [_link, _json, _cells, _tables, _bytes, _swap, _entry]
    subjects = [*STUDIES, IN_RUN]
    for place in range(number):
        chance = random.Random(f"studies {seed} {place}")
        if place % 9 == 8:
            yield case_of(PRUNED, _pruned, chance, folder, place)
        else:
            spoil = spoils[place % len(spoils)]
            yield case_of(
                subjects[place // len(spoils) % len(subjects)], spoil, chance, folder, place
            )


def case_of(subject: str, spoil: Spoil, chance: random.Random, folder: Path, place: int) -> Case:
    """A study that is spoilt and used."""
    home = home_of(folder)
    action = chance.choice(["again", "again", "unfinished", "read"])

    def attack() -> None:
        spoilt = copy_of(home, subject, folder / "cases" / str(place))
        victim = victim_beside(spoilt)
        before = content_of(victim)
        try:
            target = spoilt / "reach" if subject == IN_RUN else spoilt
            said = spoil(target, chance)
            if action == "unfinished":
                with suppress(OSError):
                    (target / "shards" / "00001.json").unlink()
            found = _use(home, subject, spoilt, action)
            believed = said == ANOTHER or (said == RETOLD and action != "unfinished")
            same = believed or found == _truth(home)[subject]
            assert same, f"{subject}: numbers changed silently"
        finally:
            assert content_of(victim) == before, "something outside was touched"
            shutil.rmtree(spoilt.parent)

    name = f"{subject}, {action}: {spoil.__name__.strip('_')} ({place})"
    return Case(name, partial(in_one_line, attack))


def copy_of(home: Path, subject: str, folder: Path) -> Path:
    """A copy of a study, to be spoilt, in a folder that is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / subject, folder / subject)
    return folder / subject


def _use(home: Path, subject: str, folder: Path, action: str) -> str:
    """Use a folder; the numbers that it gives."""
    if subject == PRUNED:
        for model in (folder, folder / "smaller"):
            hs.load_model(model, head=True)
        return ""
    if subject == IN_RUN:
        return hs.open_run(folder).heads.to_csv()
    if action == "read":
        _refused_as_run(folder)
    elif subject == "lens":
        return study(home, subject, folder)
    if action == "read" and subject == "reach":
        from headscope.findings.reach.read import read_reach

        return _numbers(read_reach(RunFolder(folder, Manifest.read(folder))).to_json())
    return study(home, subject, folder)


def _refused_as_run(folder: Path) -> None:
    """A study is no run, whatever its files say."""
    try:
        hs.open_run(folder).heads  # noqa: B018  reading it is the point
    except HeadscopeError:
        return


def study(home: Path, subject: str, folder: Path) -> str:
    """What a study finds; the same call resumes."""
    model, corpus = _model(home), home / "texts.jsonl"
    options = {"out": folder, "progress": False}
    if subject == "ablate":
        return _numbers(hs.ablate(model, corpus, texts=None, **OPTIONS, **options).to_json())
    if subject == "lens":
        more = {"texts": None, "positions": 4, "probe": "tokens"}
        return _numbers(hs.lens(model, corpus, **more, **OPTIONS, **options).to_json())
    reach = hs.reach(
        model, corpus, window=64, windows=6, untrained=1, skip=("shuffled",), **options
    )
    return _numbers(reach.to_json())


def _numbers(values: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in values.items() if name != "folder"})


@cache
def _model(home: Path) -> LoadedModel:
    return hs.load_model(home / "model", head=True)


@cache
def home_of(folder: Path) -> Path:
    """The studies that are spoilt, made once."""
    home = folder / "base"
    if not (home / "done").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        (home / "texts.jsonl").write_text(
            "".join(
                json.dumps({"text": " ".join([one, *TEXTS[:place], *TEXTS[place + 1 :]])}) + "\n"
                for place, one in enumerate(TEXTS)
            )
        )
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=512, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, intermediate_size=16, max_position_embeddings=64,
        )  # fmt: skip
        with quiet_loading():
            LlamaForCausalLM(config).save_pretrained(home / "model")
            byte_level().save_pretrained(home / "model")
        for subject in STUDIES:
            study(home, subject, home / subject)
        hs.analyze(
            _model(home), home / "texts.jsonl", out=home / IN_RUN, window=64, min_tokens=6, nulls=0,
            minimal=True, report=False, progress=False,
        )  # fmt: skip
        shutil.copytree(home / "reach", home / IN_RUN / "reach")
        hs.prune(
            home / "model", home / "texts.jsonl", heads=1, by="random", window=64,
            out=home / PRUNED, progress=False,
        )  # fmt: skip
        (home / "done").touch()
    return home


@cache
def _truth(home: Path) -> dict[str, str]:
    found = {subject: study(home, subject, home / subject) for subject in STUDIES}
    return found | {IN_RUN: hs.open_run(home / IN_RUN).heads.to_csv(), PRUNED: ""}


def _names(folder: Path) -> list[str]:
    there = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))]
    return [*there, "figures", "figures/lens-layers.png", "probe.safetensors", "reach"]


def _link(folder: Path, chance: random.Random) -> str:
    """A link in place of a file or folder, whatever it leads to."""
    # The victim lies beside the outermost folder, so names are relative to that.
    outermost = folder.parent if folder.parent.name == IN_RUN else folder
    name = (folder / chance.choice(_names(folder))).relative_to(outermost)
    put_link(outermost, str(name), chance.choice(LINKS))
    return KEPT


def _entry(folder: Path, chance: random.Random) -> str:
    """A pipe, a device, a folder in place of a file, a file in place of a folder."""
    put_entry(folder / chance.choice(_names(folder)), chance.choice(ENTRIES))
    return KEPT


def _json(folder: Path, chance: random.Random) -> str:
    """Another value anywhere in the manifest, a receipt, or the result."""
    name = chance.choice(["manifest.json", "manifest.json", "shards/00000.json", "study.json"])
    path = folder / name
    values = json.loads(path.read_text())
    change_json(path, chance.choice(places_of(values)), chance.choice(ODD_JSON))
    if chance.random() < 0.2:
        path.write_text(json.dumps(mutated_json(json.loads(path.read_text()), chance)))
    if name == "manifest.json" and chance.random() < 0.7:
        put_receipts_right(folder)
    # Facts of other kinds, such as the name of the model or of the corpus, are the author's word.
    return ANOTHER if name == "manifest.json" else KEPT


def _cells(folder: Path, chance: random.Random) -> str:
    """Other numbers, shapes or names in the arrays of a shard, with receipts that fit."""
    path = folder / "shards" / "00000.safetensors"
    arrays = safetensors.numpy.load_file(path)
    name = chance.choice(sorted(arrays))
    values = arrays[name].copy()
    match chance.randrange(8):
        case 0:
            arrays[name] = values[:-1]
        case 1:
            arrays[f"{name}x"] = arrays.pop(name)
        case 2:
            arrays[name] = values.astype(chance.choice([np.float32, np.int64, np.float16]))
        case 3:
            arrays[name] = values.reshape(-1)
        case 4:
            values[...] = math.nan
            arrays[name] = values
        case _:
            odd = chance.choice([math.nan, math.inf, -1.0, 0.0, 0.5, 1e6, 2.0**62, 1e300, -1e300])
            places = np.random.default_rng(chance.randrange(99)).random(values.shape) < 0.5
            values[places] = odd
            arrays[name] = values
    path.write_bytes(
        safetensors.numpy.save({key: np.ascontiguousarray(one) for key, one in arrays.items()})
    )
    put_receipts_right(folder)
    return ANOTHER


def _tables(folder: Path, chance: random.Random) -> str:
    """Windows or rows that do not fit the manifest, with receipts that fit."""
    kind = chance.choice(["windows", "windows", "shards"])
    changes = WINDOW_CHANGES if kind == "windows" else ROW_CHANGES
    there = ("text", "a row", "rows", "a column", "no rows")
    how = chance.choice([how for how in sorted(changes) if kind == "windows" or how.endswith(there)
                         or how.startswith(there)])  # fmt: skip
    with_text = kind == "windows" or " in " not in how or how.endswith("in text")
    change = changes[how if with_text else "a row twice"]
    try:
        change_table(folder / kind / "00000.parquet", change, chance)
    except pa.ArrowException:
        return ANOTHER  # such a value does not fit into the column
    put_receipts_right(folder)
    return RETOLD if kind == "windows" else ANOTHER


def _bytes(folder: Path, chance: random.Random) -> str:
    """Bytes flipped, cut, doubled; half of the time with receipts that fit."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    path = chance.choice(files)
    path.write_bytes(mutated(path.read_bytes(), chance))
    if chance.random() < 0.5 and path.suffix != ".json":
        put_receipts_right(folder)
        return ANOTHER
    return ANOTHER if path.name == "manifest.json" else KEPT


def _swap(folder: Path, chance: random.Random) -> str:
    """A shard, or windows, of another study or in the place of another."""
    deep = 3 if folder.parent.name == IN_RUN else 2
    other = folder.parents[deep] / "base" / chance.choice(STUDIES)
    source, target = chance.choice([(folder, "00001"), (other, "00000"), (other, "00001")])
    of_source = "00000" if source == folder else target
    names = chance.choice([("parquet", "safetensors", "json"), ("safetensors",), ("json",)])
    for ending in names:
        shutil.copy(
            source / "shards" / f"{of_source}.{ending}", folder / "shards" / f"{target}.{ending}"
        )
    if chance.random() < 0.3:
        put_receipts_right(folder)
        return ANOTHER
    return KEPT


def _pruned(folder: Path, chance: random.Random) -> str:
    """Heads that are gone, shapes and files of a pruned model that do not fit."""
    name = chance.choice(["heads.json", "smaller/heads.json", "config.json", "smaller/config.json"])
    path = folder / name
    match chance.randrange(5):
        case 0:
            put_link(folder, name, chance.choice(LINKS))
        case 1:
            put_entry(path, chance.choice(ENTRIES))
        case 2:
            weights = path.with_name("model.safetensors")
            arrays = safetensors.numpy.load_file(weights)
            key = chance.choice(sorted(arrays))
            arrays[key] = chance.choice([arrays[key][:1], arrays[key][:0], arrays[key].ravel()])
            weights.write_bytes(safetensors.numpy.save(arrays))
        case 3:
            path.write_bytes(mutated(path.read_bytes(), chance))
        case _:
            values = json.loads(path.read_text())
            change_json(path, chance.choice(places_of(values)), chance.choice(ODD_JSON))
    return ANOTHER
