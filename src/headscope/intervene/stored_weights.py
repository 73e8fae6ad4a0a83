"""The weights of a model as its files hold them, to be changed and written again.

Only tensors that differ are replaced, under the names that they have in the files. So nothing else
changes, whatever transformers would make of it when it saves a model.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from headscope.errors import ModelError
from headscope.models.loaded import LoadedModel
from headscope.models.weight_files import INDEX, find_weights

Place = tuple[Path, str]
"""A file, and the name of a tensor in it."""


class StoredWeights:
    """The tensors of a model's files. Changes are in memory until they are saved."""

    def __init__(self, model: LoadedModel, folder: Path) -> None:
        """Read them.

        Args:
            model: With the weights of these files.
            folder: Its folder.
        """
        files = find_weights(folder)
        if files is None:
            raise ModelError(
                f"cannot write {model.name} again: its weights are not in safetensors files; save "
                "it as such first (save_pretrained)"
            )
        self._model = model.name
        self._parameters = dict(model.model.named_parameters())
        self._tensors = {path: load_file(path) for path in files.paths}
        self._places: dict[str, Place] = {}

    def place(self, parameter: str) -> Place:
        """Where a parameter is stored.

        Args:
            parameter: Its name in the model, which need not be that in the file.
        """
        if parameter not in self._places:
            self._places[parameter] = self._find(parameter)
        return self._places[parameter]

    def _find(self, parameter: str) -> Place:
        value = self._parameters[parameter].detach().cpu()
        same = [
            (path, name)
            for path, tensors in self._tensors.items()
            for name, tensor in tensors.items()
            if tensor.shape == value.shape and torch.equal(tensor.to(value.dtype), value)
        ]
        # Of equal tensors the one whose name ends alike: names differ by a prefix at most.
        named = [
            place
            for place in same
            if f".{place[1]}".endswith(f".{parameter}") or f".{parameter}".endswith(f".{place[1]}")
        ]
        if len(named or same) != 1:
            raise ModelError(
                f"cannot write {self._model} again: {parameter} is {len(named or same)} times in "
                "its files; save it with save_pretrained first, and prune that folder"
            )
        return (named or same)[0]

    def bias_place(self, weight: str) -> Place:
        """Where the bias of a linear map is stored, or would be.

        Args:
            weight: The name of its weight in the model.
        """
        path, name = self.place(weight)
        if not name.endswith("weight"):
            raise ModelError(
                f"cannot write {self._model} again: {weight} is stored as {name[:100]!r}, so the "
                "name of its bias is not known"
            )
        return path, name.removesuffix("weight") + "bias"

    def get(self, place: Place) -> Tensor | None:
        """The tensor in a place; None where there is none.

        Args:
            place: From `place` or `bias_place`.
        """
        return self._tensors[place[0]].get(place[1])

    def put(self, place: Place, value: Tensor) -> None:
        """Put a tensor in a place, with the dtype of the one that is there, if any.

        Args:
            place: From `place` or `bias_place`.
            value: The tensor.
        """
        before = self.get(place)
        dtype = value.dtype if before is None else before.dtype
        self._tensors[place[0]][place[1]] = value.detach().cpu().to(dtype).contiguous()

    def save(self, folder: Path) -> None:
        """Write all tensors, into files named as those that they come from.

        Args:
            folder: Where to.
        """
        for path, tensors in self._tensors.items():
            save_file(tensors, folder / path.name, metadata={"format": "pt"})
            (folder / path.name).chmod(0o644)  # safetensors writes for the owner alone
        if len(self._tensors) > 1:
            everything = [each for tensors in self._tensors.values() for each in tensors.values()]
            size = sum(tensor.numel() * tensor.element_size() for tensor in everything)
            files = {name: path.name for path, each in self._tensors.items() for name in each}
            index = {"metadata": {"total_size": size}, "weight_map": files}
            (folder / INDEX).write_text(json.dumps(index, indent=2))
