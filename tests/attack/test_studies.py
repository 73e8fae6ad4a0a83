"""A short form of the attack on studies."""

import random
from collections import Counter

import numpy as np
import pytest
import safetensors.numpy

from headscope.errors import HeadscopeError, RunError
from tests.attack import studies
from tests.attack.run_forgery import put_receipts_right

NUMBER = 28
"""Of hostile folders: four of each of the seven kinds, pruned models among them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("attack")


def test_hostile_studies_are_refused_in_one_line_or_do_no_harm(folder):
    ended = Counter()
    for case in studies.cases(seed=5, number=NUMBER, folder=folder):
        try:
            case.attack()
            ended["harmless"] += 1
        except HeadscopeError:
            ended["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{case.name}: {type(error).__name__}: {error}") from error
    assert ended.total() == NUMBER
    assert min(ended["harmless"], ended["refused"]) > 3, "a suite that shows nothing"


@pytest.mark.parametrize(
    ("name", "value"),
    [("target", 2.0**62), ("target", -1.0), ("predicted", 0.5), ("rank", 0.0), ("kl", 1e200)],
)
def test_guesses_that_no_lens_makes_are_refused(folder, tmp_path, name, value):
    home = studies.home_of(folder)
    spoilt = studies.copy_of(home, "lens", tmp_path)
    path = spoilt / "shards" / "00000.safetensors"
    arrays = {key: values.copy() for key, values in safetensors.numpy.load_file(path).items()}
    arrays[name][np.isfinite(arrays[name])] = value
    path.write_bytes(safetensors.numpy.save(arrays))
    put_receipts_right(spoilt)
    with pytest.raises(RunError, match="numbers that lens does not measure"):
        studies.study(home, "lens", spoilt)


def test_the_attack_sees_a_number_that_changes(folder):
    def change(study, chance):
        path = study / "shards" / "00000.safetensors"
        arrays = safetensors.numpy.load_file(path)
        path.write_bytes(safetensors.numpy.save(arrays | {"kl": arrays["kl"] + 1}))
        put_receipts_right(study)
        return studies.KEPT

    case = studies.case_of("ablate", change, random.Random(0), folder, place=0)
    with pytest.raises(AssertionError, match="changed silently"):
        case.attack()


def test_the_attack_sees_a_touched_victim(folder):
    def touch(study, chance):
        (study.parent / "victim" / "manifest.json").write_text("{}")
        return studies.KEPT

    case = studies.case_of("ablate", touch, random.Random(0), folder, place=0)
    with pytest.raises(AssertionError, match="something outside was touched"):
        case.attack()
