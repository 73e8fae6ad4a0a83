"""Windows as a model reads them: token ids, masks, and what a decoder reads of the same text."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from transformers import PretrainedConfig


class TextInputs:
    """What a loaded model makes of windows before it runs."""

    _padding_id: int

    @property
    def config(self) -> PretrainedConfig:
        """The model's configuration."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        raise NotImplementedError

    @property
    def start_token_id(self) -> int:
        """The token that the decoder of an encoder-decoder reads first."""
        start: int | None = getattr(self.config, "decoder_start_token_id", None)
        return self._padding_id if start is None else start

    def _text_inputs(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
    ) -> dict[str, Tensor]:
        inputs = self.encoder_inputs(token_ids, attention_mask)
        if self.config.is_encoder_decoder:
            inputs |= self.decoder_inputs(token_ids, attention_mask)
        return inputs

    def encoder_inputs(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
    ) -> dict[str, Tensor]:
        """The windows as the model reads them, with the model's own padding id under the mask."""
        mask = attention_mask.to(self.device).long()
        ids = token_ids.to(self.device).masked_fill(mask == 0, self._padding_id)
        return {"input_ids": ids, "attention_mask": mask}

    def decoder_inputs(
        self,
        token_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | Bool[Tensor, "batch token"],
    ) -> dict[str, Tensor]:
        """The windows as the decoder of an encoder-decoder reads them: shifted right by one.

        The decoder starts with its own start token and never reads the last position. So its query
        i is at token i - 1 of the window, and a window of n tokens has n decoder queries.
        """
        encoder = self.encoder_inputs(token_ids, attention_mask)
        shifted = encoder["input_ids"].roll(1, dims=1)
        shifted[:, 0] = self.start_token_id
        mask = encoder["attention_mask"]
        shifted = shifted.masked_fill(mask == 0, self._padding_id)
        return {"decoder_input_ids": shifted, "decoder_attention_mask": mask}
