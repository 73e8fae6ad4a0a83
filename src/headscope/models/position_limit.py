"""How long a text a model can read."""

from torch import nn
from transformers import PreTrainedModel


def max_tokens(model: PreTrainedModel) -> int | None:
    """The longest text in tokens, special ones included; None when the configuration has no limit.

    Families that count positions from the padding id on (RoBERTa, MPNet) lose the entries up to
    it: their tables of 514 hold 512 positions.
    """
    limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - skipped
    return limit
