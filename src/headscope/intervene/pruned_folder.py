"""Folders of a model without some of its heads.

The folder itself has the shapes of the model, and loads wherever that did: what the heads write is
multiplied by zero. The folder `smaller` in it, where the family allows it, has their weights cut
out: `hs.load_model` reads it, or the five lines in its README.md.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headscope.errors import HeadscopeError, ModelError, RunError, StorageError, in_one_line
from headscope.intervene.cut_heads import cut_heads
from headscope.intervene.projection_edit import ProjectionEdit, edited, projection_of
from headscope.intervene.stored_weights import StoredWeights
from headscope.models.check.probe import probe_of
from headscope.models.folder import model_file, read_object
from headscope.models.head_writes import HeadWrites, find_writes
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.models.output_head import output_head_of
from headscope.models.quiet import quiet_loading
from headscope.models.small_files import CONFIG
from headscope.models.smaller import MARK, SMALLER
from headscope.models.weight_files import INDEX

SMALLER_FOLDER = "smaller"
_SMALL_FILES = (".json", ".txt", ".model", ".spm", ".jinja", ".codes", ".bpe", ".vocab")
_ATTENTION_BIAS = "attention_bias"
"""The switch of config.json that gives the Llama family and its kin biases in attention."""
_README = """\
# A model without some of its attention heads

Their weights are cut out, so layers differ in their number of heads, for which transformers has no
setting. headscope loads this folder by its path; so does this, without headscope:

```python
from safetensors.torch import load_file
from transformers import AutoConfig, {family}
import torch

model = {family}.from_config(AutoConfig.from_pretrained(folder))
for name, weight in load_file(f"{{folder}}/model.safetensors").items():
    module, _, parameter = name.rpartition(".")
    setattr(model.get_submodule(module), parameter, torch.nn.Parameter(weight))
model.tie_weights()
model.eval()
```

`heads.json` lists the heads that are gone.
"""


def holds_bias(model: LoadedModel, writes: HeadWrites) -> bool:
    """Whether a model, once written, can have a bias in the output projection of a layer.

    Args:
        model: The model.
        writes: How the heads of the layer write.
    """
    return projection_of(model, writes).bias is not None or bool(biases_by_config(model))


def refuse_without_biases(model: LoadedModel) -> None:
    """Refuse a model that has no biases for what heads write on average, before it is measured.

    Args:
        model: The model.
    """
    if not all(holds_bias(model, each) for each in find_writes(model, model.sites).found.values()):
        raise _no_bias(model)


def _no_bias(model: LoadedModel) -> ModelError:
    return ModelError(
        f"{model.name} has no bias that could hold what its heads write on average; pass "
        "replace='zero' (--replace zero)"
    )


def biases_by_config(model: LoadedModel) -> frozenset[str]:
    """The parameters that the model would have as well if its config asked for attention biases.

    Args:
        model: The model.
    """
    values = model.config.to_dict()
    if values.get(_ATTENTION_BIAS) is not False:
        return frozenset()
    wanted = type(model.config).from_dict({**values, _ATTENTION_BIAS: True})
    with torch.device("meta"), quiet_loading():
        other = type(model.model)._from_config(wanted)  # type: ignore[no-untyped-call]
    own = {name for name, _ in model.model.named_parameters()}
    more = frozenset(name for name, _ in other.named_parameters() if name not in own)
    return more if all(name.endswith(".bias") for name in more) else frozenset()


def write_pruned(
    model: LoadedModel, edits: Collection[ProjectionEdit], out: Path, notes: Mapping[str, Any]
) -> str | None:
    """Write a model without some of its heads; gives why there is no smaller one, if there is none.

    Args:
        model: The model, with its own weights.
        edits: From `edits_without`.
        out: A folder that does not exist yet, or is empty.
        notes: What heads.json says.
    """
    with _new_folder(out) as folder, _source_folder(model) as source:
        stored = StoredWeights(model, source)
        config = read_object(source, CONFIG) or {}
        if _put_projections(model, edits, stored):
            config |= {_ATTENTION_BIAS: True}
        _write_small_files(source, folder, config, notes)
        stored.save(folder)
        reason = cut_heads(model, edits, stored)
        if reason is None:
            smaller = folder / SMALLER_FOLDER
            smaller.mkdir()
            _write_small_files(source, smaller, config, {**notes, SMALLER: True})
            (smaller / "README.md").write_text(_readme(model))
            stored.save(smaller)
            reason = _difference(model, edits, smaller)
            if reason is not None:
                shutil.rmtree(smaller)
    return reason


def _difference(model: LoadedModel, edits: Collection[ProjectionEdit], smaller: Path) -> str | None:
    """Why a smaller model is not the one that was pruned; None if it is.

    A family may have other numbers that belong to heads, such as T5 its position biases.
    """
    options = {
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "head": output_head_of(model.model) is not None,
    }
    probe = probe_of(model.model).padded
    try:
        other = load_model(smaller, **options)  # type: ignore[arg-type]
        with torch.inference_mode():
            found = other.model(**probe, **other.call_options)[0]
    except (HeadscopeError, RuntimeError, ValueError) as error:
        return f"attention of this family needs all heads of a layer ({in_one_line(error)[:200]})"
    with torch.inference_mode(), edited(model, edits):
        expected = model.model(**probe, **model.call_options)[0]
    same = found.shape == expected.shape and bool(
        (found - expected).norm() <= 10 * model.check.tolerance * expected.norm()
    )
    return None if same else "the smaller model does not put out what the pruned model does"


def _put_projections(
    model: LoadedModel, edits: Collection[ProjectionEdit], stored: StoredWeights
) -> bool:
    """Store the edited projections. Whether the config must ask for attention biases now."""
    own = dict(model.model.named_parameters())
    new: dict[str, Tensor] = {}
    for edit in edits:
        weight = edit.writes.weight_name
        assert weight is not None
        matrix = edit.weight.reshape(-1, edit.weight.shape[-1])
        stored.put(stored.place(weight), matrix.T if edit.writes.by_columns else matrix)
        if edit.bias is None:
            continue
        bias = weight.removesuffix("weight") + "bias"
        if bias in own:
            stored.put(stored.bias_place(weight), own[bias].detach() + edit.bias)
        else:
            new[bias] = edit.bias
    if not new:
        return False
    possible = biases_by_config(model)
    if not new.keys() <= possible:
        raise _no_bias(model)
    for bias in possible:
        weight = bias.removesuffix("bias") + "weight"
        zeros = own[weight].new_zeros(own[weight].shape[0])
        stored.put(stored.bias_place(weight), new.get(bias, zeros))
    return True


def _write_small_files(
    source: Path, folder: Path, config: Mapping[str, Any], notes: Mapping[str, Any]
) -> None:
    """Copy the tokenizer and other small files of a model; write its config and heads.json."""
    for entry in sorted(os.scandir(source), key=lambda one: one.name):
        small = entry.name.endswith(_SMALL_FILES) and entry.name not in (INDEX, MARK, CONFIG)
        if small and not entry.is_dir(follow_symlinks=False):
            real = model_file(source, entry.name)
            if real is not None:
                shutil.copyfile(real, folder / entry.name)
    (folder / CONFIG).write_text(json.dumps(config, indent=2))
    (folder / MARK).write_text(json.dumps(notes, indent=2))


def _readme(model: LoadedModel) -> str:
    written = (model.config.architectures or [""])[0]
    families = {
        "ForCausalLM": "AutoModelForCausalLM",
        "ForMaskedLM": "AutoModelForMaskedLM",
        "ForTokenClassification": "AutoModelForTokenClassification",
        "ForSequenceClassification": "AutoModelForSequenceClassification",
    }
    family = next((auto for end, auto in families.items() if written.endswith(end)), "AutoModel")
    return _README.format(family=family)


@contextmanager
def _source_folder(model: LoadedModel) -> Iterator[Path]:
    """While open, the folder of a model; of a model object, a copy without its tokenizer."""
    if model.path is not None:
        yield model.path
        return
    with tempfile.TemporaryDirectory(prefix="headscope-") as scratch, quiet_loading():
        model.model.save_pretrained(scratch)
        yield Path(scratch)


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """While open, a temporary folder beside `out`, which gets that name if all goes well."""
    refuse_full_folder(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}; choose another --out") from error
    try:
        yield part
        part.chmod(0o755)  # mkdtemp makes folders for their owner alone
        with suppress(FileNotFoundError):
            out.rmdir()  # it is empty
        part.replace(out)
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}; choose another --out") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def refuse_full_folder(out: Path) -> None:
    """Refuse a path at which something is already.

    Args:
        out: Where a model is to be written.
    """
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise RunError(f"{out} is there already; choose another --out")
