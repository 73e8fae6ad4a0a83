"""A short form of `make fuzz`, and manifests as hypothesis makes them up."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.errors import RunError
from headscope.runs.manifest import Manifest
from headscope.system.untrusted import UntrustedFileError
from tests.faults.fuzz import fuzz
from tests.faults.seed_files import KEPT

pytestmark = pytest.mark.filterwarnings("default")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=9), values),
    max_leaves=12,
)
MANIFEST = json.loads((KEPT / "schema-2" / "manifest.json").read_text())
FIELDS = [
    (outer, inner)
    for outer, values in MANIFEST.items()
    for inner in (values if isinstance(values, dict) else [None])
]


def test_fuzzed_input_is_read_or_refused_in_one_line():
    """10,000 of them in `make fuzz`."""
    outcomes = list(fuzz(range(150)))
    assert [outcome.how for outcome in outcomes if outcome.failed] == []
    assert {outcome.how for outcome in outcomes} == {"read", "refused"}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(field=st.sampled_from(FIELDS), value=JSON)
def test_a_manifest_with_any_value_anywhere_is_read_or_refused(tmp_path, field, value):
    outer, inner = field
    changed = json.loads(json.dumps(MANIFEST))
    if inner is None:
        changed[outer] = value
    else:
        changed[outer][inner] = value
    (tmp_path / "manifest.json").write_text(json.dumps(changed))
    try:
        manifest = Manifest.read(tmp_path)
    except RunError as error:
        message = str(error)
    else:
        message = repr(manifest.stacks)
    assert "\n" not in message


def test_files_that_are_no_files_do_not_make_readers_wait(tmp_path):
    """A pipe in the place of a file would be waited for, for ever."""
    import os

    for name in ("shards/00000.json", "shards/00000.parquet", "windows/00000.parquet"):
        folder = tmp_path / name.replace("/", "-")
        shutil.copytree(KEPT / "schema-2", folder)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        run = hs.open_run(folder)
        with pytest.raises((RunError, UntrustedFileError), match=name):
            run.rows(), run.windows()
