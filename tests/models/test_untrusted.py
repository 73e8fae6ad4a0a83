"""Files of a model are not believed: each claim of SECURITY.md about models, one by one."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from headscope.errors import HeadscopeError
from headscope.models import load_model
from tests.attack.models import nothing_else_touched
from tests.faults.subject import save_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("saved"))


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def assert_refused(folder: Path, match: str) -> None:
    with nothing_else_touched(), pytest.raises(HeadscopeError, match=match) as refusal:
        load_model(folder)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 1000


def as_shards(folder: Path, last: object) -> None:
    """The same weights by an index, whose last entry is something else."""
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    names = [*load_file(folder / "part.safetensors")]
    files = dict.fromkeys(names, "part.safetensors") | {names[-1]: last}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "adapter_model.bin", "weights.pt"])
def test_an_index_that_names_a_pickle_is_refused_and_the_pickle_is_not_opened(
    copied: Path, name: str
) -> None:
    torch.save(load_file(copied / "model.safetensors"), copied / name)
    as_shards(copied, name)
    assert_refused(copied, "not a safetensors file")


def test_weights_that_a_config_names_are_not_read(copied: Path) -> None:
    expected = load_model(copied).weights_hash
    torch.save({}, copied / "adapter_model.bin")
    change(copied / "config.json", transformers_weights="adapter_model.bin")
    with nothing_else_touched():
        assert load_model(copied).weights_hash == expected
    (copied / "model.safetensors").unlink()
    assert_refused(copied, "allow_pickle=True")


@pytest.mark.parametrize("name", ["../outside.safetensors", "ABSOLUTE", "sub/../x.safetensors", 3])
def test_weights_outside_the_folder_are_refused(copied: Path, tmp_path: Path, name: object) -> None:
    outside = tmp_path / "outside.safetensors"
    shutil.copy(copied / "model.safetensors", outside)
    as_shards(copied, str(outside) if name == "ABSOLUTE" else name)
    assert_refused(copied, "not the name of a file in this folder|maps no weights")


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
@pytest.mark.parametrize("form", ["a pipe", "/dev/zero", "a link outside", "a circle"])
def test_what_is_no_file_of_the_folder_is_refused_at_once(
    copied: Path, tmp_path: Path, file: str, form: str
) -> None:
    outside = tmp_path / "outside"
    (copied / file).rename(outside)
    if form == "a pipe":
        os.mkfifo(copied / file)
    else:
        targets = {"a link outside": outside, "a circle": copied / file}
        (copied / file).symlink_to(targets.get(form, form))
    assert_refused(copied, "not a regular file|is a link|no config.json")


def test_links_of_the_hub_cache_are_followed_inside_their_repository(
    saved: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "models--owner--name"
    snapshot, blobs = repository / "snapshots" / "0a1b", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for place, path in enumerate(sorted(saved.iterdir())):
        shutil.copy(path, blobs / str(place))
        (snapshot / path.name).symlink_to(Path("../../blobs") / str(place))
    assert load_model(snapshot).weights_hash == load_model(saved).weights_hash
    (snapshot / "model.safetensors").unlink()
    (snapshot / "model.safetensors").symlink_to(saved / "model.safetensors")
    assert_refused(snapshot, "a link to a file outside")


@pytest.mark.parametrize(
    "key", ["_attn_implementation", "attn_implementation", "_attn_implementation_internal"]
)
@pytest.mark.parametrize("place", [None, "text_config", "encoder"])
def test_no_config_chooses_the_attention_that_runs(
    copied: Path, key: str, place: str | None
) -> None:
    evil = {key: "somebody/kernel"}
    change(copied / "config.json", **(evil if place is None else {place: evil}))
    with nothing_else_touched():
        model = load_model(copied)
    assert "somebody" not in str(model.config.to_dict())
    assert "somebody" not in str(model.config._attn_implementation)


def test_quantised_models_are_refused_by_that_word(copied: Path) -> None:
    change(copied / "config.json", quantization_config={"quant_method": "gptq", "bits": 4})
    assert_refused(copied, "quantised")


@pytest.mark.parametrize(
    "changed",
    [
        {"tokenizer_file": "/etc/hostname", "vocab_file": "/dev/zero"},
        {"auto_map": {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}},
        {"sp_model_kwargs": {"model_file": "/dev/zero"}, "chat_template": "{{ evil }}"},
        {"fast_tokenizer_files": ["../outside.json"], "name_or_path": "somebody/tokenizer"},
    ],
)
def test_a_tokenizer_config_leads_nowhere(
    saved: Path, copied: Path, changed: dict[str, object]
) -> None:
    change(copied / "tokenizer_config.json", **changed)
    with nothing_else_touched():
        tokenizer = load_model(copied).tokenizer
    ours = load_model(saved).tokenizer
    assert tokenizer is not None
    assert ours is not None
    assert tokenizer.fingerprint == ours.fingerprint


def test_an_encoder_that_claims_to_have_a_decoder_is_refused(copied: Path) -> None:
    change(copied / "config.json", is_encoder_decoder=True)
    assert_refused(copied, "has no decoder")


def test_a_tokenizer_that_is_no_tokenizer_is_refused(copied: Path) -> None:
    change(copied / "tokenizer_config.json", tokenizer_class="AutoModel")
    assert_refused(copied, "not the name of a tokenizer")


@pytest.mark.parametrize("heads", [0, -4, 5, 10**9, 1.5, "4", None, [], True])
def test_impossible_heads_take_one_line(copied: Path, heads: object) -> None:
    change(copied / "config.json", num_attention_heads=heads)
    assert_refused(copied, "cannot load")


@pytest.mark.parametrize(
    ("key", "number", "match"),
    [
        ("num_hidden_layers", 10**9, "at most 1,000 such parts"),
        ("num_hidden_layers", 900, "far more"),
        ("vocab_size", 10**8, "far more weights"),
        ("hidden_size", 10**9, "more than any model has"),
        ("max_position_embeddings", 10**7, "far more weights"),
        ("intermediate_size", 10**8, "far more weights"),
        ("intermediate_size", 64, r"its file holds .* 32, .* asks for 64"),
    ],
)
def test_a_config_that_claims_more_than_the_files_hold_is_refused_before_it_is_built(
    copied: Path, key: str, number: int, match: str
) -> None:
    change(copied / "config.json", **{key: number})
    assert_refused(copied, match)


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused_where_it_gives_one(
    copied: Path,
) -> None:
    """Tokens beyond the table may be there, as in some checkpoints, as long as no text has them."""
    weights = load_file(copied / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    save_file(weights | {name: weights[name][:6].clone()}, copied / "model.safetensors")
    change(copied / "config.json", vocab_size=6)
    assert_refused(copied, "vectors for 6 tokens only")


def test_an_empty_vocabulary_is_refused(copied: Path) -> None:
    tokenizer = json.loads((copied / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {}
    change(copied / "tokenizer.json", model=tokenizer["model"])
    assert_refused(copied, "vocabulary")


def test_a_normalizer_that_multiplies_texts_is_refused(copied: Path) -> None:
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
    change(copied / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [step] * 12})
    assert_refused(copied, "times longer")
