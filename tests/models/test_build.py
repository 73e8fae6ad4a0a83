"""Models built from files: the ones that transformers builds, and none larger than its files."""

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from headscope.errors import HeadscopeError
from headscope.models import load_model
from headscope.models.load import _read
from headscope.models.quiet import quiet_loading
from headscope.models.source import ModelSource
from tests.models.families import FAMILIES, Family, build
from tests.text.tiny_tokenizers import word_level


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.title)
def test_a_folder_gives_the_model_that_transformers_gives(family: Family, tmp_path: Path) -> None:
    build(family).save_pretrained(tmp_path)
    with quiet_loading():
        ours, _ = _read(
            ModelSource("ours", tmp_path),
            torch.float32,
            allow_pickle=False,
            trust_remote_code=False,
            with_tokenizer=False,
        )
        theirs = AutoModel.from_pretrained(
            tmp_path, dtype=torch.float32, attn_implementation="eager"
        )
    assert type(ours) is type(theirs)
    assert ours.config.to_dict() == theirs.config.to_dict()
    weights, expected = ours.state_dict(), theirs.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)


TEXT = [family for family in FAMILIES if family.modality == "text" and not family.refused]


@pytest.mark.parametrize("family", TEXT, ids=lambda family: family.title)
def test_no_number_of_a_config_makes_a_model_larger_than_its_files(
    family: Family, tmp_path: Path
) -> None:
    """Each whole number of the config, times a billion: refused, or without effect, at once."""
    build(family).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    true = json.loads(path.read_text())
    for key in [key for key, value in true.items() if type(value) is int]:
        path.write_text(json.dumps(true | {key: 10**9}))
        started = time.process_time()
        with suppress(HeadscopeError):
            load_model(tmp_path, tokenizer=word_level())
        assert time.process_time() - started < 20, key
