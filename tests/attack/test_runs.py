"""A short form of the attack on runs, and the attacks that once succeeded, by name."""

import shutil
from pathlib import Path

import h5py
import pytest

import headscope as hs
from headscope.errors import HeadscopeError, RunError
from tests.attack.run_forgery import put_receipts_right
from tests.attack.runs import cases
from tests.nursery import compile_once

NUMBER = 42
"""Of hostile runs: six of each of the seven kinds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    compile_once()
    return tmp_path_factory.mktemp("attack")


def test_hostile_runs_are_refused_in_one_line_or_do_no_harm(folder):
    outcomes = []
    for case in cases(seed=1, number=NUMBER, folder=folder):
        try:
            case.attack()
            outcomes.append("harmless")
        except HeadscopeError:
            outcomes.append("refused")
        except Exception as error:
            raise AssertionError(f"{case.name}: {type(error).__name__}: {error}") from error
    assert len(outcomes) == NUMBER
    assert {"harmless", "refused"} == set(outcomes), (
        "a suite in which all is the same shows nothing"
    )


@pytest.mark.parametrize("total", ["total_distance_sum", "total_repetition_expected"])
def test_a_total_that_is_gone_does_not_take_its_measures_away_silently(demo_run, tmp_path, total):
    run = Path(shutil.copytree(demo_run.folder, tmp_path / "run"))
    with h5py.File(run / "results.nc", "a") as file:
        del file["encoder"][total]
        file["encoder"].create_group(total)  # what stands in its place is no array
    put_receipts_right(run)
    with pytest.raises(RunError, match="but not the totals that give it"):
        hs.open_run(run).heads  # noqa: B018  reading it is the point
