"""A family that nobody knows, and that calls scaled_dot_product_attention by itself."""

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel

from tests.models.custom_interface import CustomConfig


class DirectAttention(nn.Module):
    def __init__(self, config: CustomConfig) -> None:
        super().__init__()
        self.config = config
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.gate = nn.Linear(config.hidden_size, config.hidden_size)
        self.out_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)
            for part in self.qkv(states).chunk(3, dim=-1)
        )
        heads = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        joined = heads.transpose(1, 2).flatten(2)
        if self.config.gated:
            joined = joined * self.gate(states).sigmoid()
        return self.out_proj(joined)


class DirectModel(PreTrainedModel):
    config_class = CustomConfig
    _supports_sdpa = True

    def __init__(self, config: CustomConfig) -> None:
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(DirectAttention(config) for _ in range(config.layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embed

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor]:
        states = self.embed(input_ids)
        mask = attention_mask.bool()[:, None, None, :]
        for layer in self.layers:
            states = states + layer(states, mask)
        return (states,)
