"""A family that nobody knows, written as transformers asks: attention through the interface."""

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.masking_utils import create_bidirectional_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS


class CustomConfig(PretrainedConfig):
    model_type = "headscope_custom"

    def __init__(self, hidden_size=24, heads=3, layers=2, vocab_size=40, gated=False, **kwargs):
        self.hidden_size, self.heads, self.layers = hidden_size, heads, layers
        self.vocab_size, self.gated = vocab_size, gated
        super().__init__(**kwargs)


def eager_attention_forward(module, query, key, value, attention_mask, scaling, dropout=0.0, **_):
    scores = query @ key.transpose(-1, -2) * scaling
    if attention_mask is not None:
        scores = scores + attention_mask
    attention = scores.softmax(dim=-1)
    return (attention @ value).transpose(1, 2), attention


class CustomAttention(nn.Module):
    def __init__(self, config: CustomConfig) -> None:
        super().__init__()
        self.config = config
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.k_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.v_proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.gate = nn.Linear(config.hidden_size, config.hidden_size)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (
            project(states).unflatten(-1, (self.config.heads, -1)).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        joined, _ = attend(self, query, key, value, mask, scaling=query.shape[-1] ** -0.5)
        joined = joined.flatten(2)
        if self.config.gated:
            joined = joined * self.gate(states).sigmoid()
        return self.o_proj(joined)


class CustomModel(PreTrainedModel):
    config_class = CustomConfig
    _supports_sdpa = True

    def __init__(self, config: CustomConfig) -> None:
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(CustomAttention(config) for _ in range(config.layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embed

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor]:
        states = self.embed(input_ids)
        mask = create_bidirectional_mask(self.config, states, attention_mask)
        for layer in self.layers:
            states = states + layer(states, mask)
        return (torch.tanh(states),)
