"""Files that change behind our back: seen by their checksum, made again, and said."""

import random
import shutil

import pytest

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.measuring.reduce import reduce_run
from tests.faults.subject import assert_same_results
from tests.faults.test_kills import moments

FILES = [
    "shards/00002.parquet",
    "shards/00002.safetensors",
    "shards/00002.json",
    "windows/00001.parquet",
    "results.nc",
]
OF_NULLS = [
    "nulls/untrained-1/shards/00000.parquet",
    "nulls/untrained-1/windows/00000.parquet",
]


def damage(path, chance: random.Random) -> str:
    """What was done to the file: cut off, a bit flipped, a stretch zeroed, or deleted."""
    content = bytearray(path.read_bytes())
    place = chance.randrange(len(content))
    how = chance.choice(["cut", "bit", "zeros", "gone"])
    if how == "gone":
        path.unlink()
        return how
    if how == "cut":
        del content[place:]
    elif how == "bit":
        content[place] ^= 1 << chance.randrange(8)
    else:
        content[place : place + 64] = bytes(len(content[place : place + 64]))
    path.write_bytes(content)
    return how


@pytest.fixture
def damaged_copy(undisturbed, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(undisturbed.folder, out)
    return out


@pytest.mark.fault("a file of the run cut, zeroed, deleted, or with a bit flipped")
@pytest.mark.parametrize("seed", moments(1, 10))
def test_a_damaged_run_is_made_whole(subject, undisturbed, damaged_copy, seed):
    chance = random.Random(seed)
    name = FILES[seed % len(FILES)]
    before = (damaged_copy / name).read_bytes()
    damage(damaged_copy / name, chance)
    said = subject.run(damaged_copy)
    assert said.code == 0, said.err
    run = hs.open_run(damaged_copy)
    assert_same_results(run, undisturbed)
    changed = not (damaged_copy / name).is_file() or (damaged_copy / name).read_bytes() != before
    if name.startswith(("shards", "windows")):
        assert not changed
        assert "damaged" in said.err


@pytest.mark.long
@pytest.mark.fault("a file of an untrained model damaged")
@pytest.mark.parametrize("name", OF_NULLS)
def test_damaged_untrained_models_are_made_whole(subject, undisturbed_with_nulls, tmp_path, name):
    out = tmp_path / "run"
    shutil.copytree(undisturbed_with_nulls.folder, out)
    damage(out / name, random.Random(name))
    assert_same_results(subject.analyse(out, nulls=4), undisturbed_with_nulls)


@pytest.mark.fault("reading a run with a damaged shard or texts")
@pytest.mark.parametrize("name", FILES[1:])
def test_damage_is_never_read_as_numbers(undisturbed, damaged_copy, name):
    """Every byte matters: wherever a bit flips, readers refuse or see what was written."""
    chance = random.Random(name)
    whole = (damaged_copy / name).read_bytes()
    rows = undisturbed.rows().to_table()
    texts = undisturbed.windows().to_table()
    for _ in range(8):
        content = bytearray(whole)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (damaged_copy / name).write_bytes(content)
        run = hs.open_run(damaged_copy)
        try:
            assert run.rows().to_table().equals(rows)
            assert run.windows().to_table().equals(texts)
            reduce_run(run.files) if name.startswith("shards") else run.arrays
        except HeadscopeError:
            continue
        else:
            assert_same_results(run, undisturbed)
