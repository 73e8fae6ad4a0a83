"""The hash by which a run knows the weights that it was made with."""

import hashlib

import torch
from torch import nn


def weights_hash(model: nn.Module) -> str:
    """SHA-256 over name, dtype, shape and bytes of the state dict's entries, sorted by name.

    Args:
        model: With its weights loaded.
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().flatten()
        digest.update(flat.view(torch.uint8).numpy())
    return digest.hexdigest()
