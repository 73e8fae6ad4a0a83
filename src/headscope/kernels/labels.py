"""What is known of the tokens of a batch of texts before any head is looked at."""

from dataclasses import dataclass

from jaxtyping import Bool, Int
from torch import Tensor

GROUPS = ("sentence", "token", "word", "lemma")
"""The ways in which two tokens of a text may belong together."""

SENTENCE, TOKEN, WORD, LEMMA = range(len(GROUPS))


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """The labels of the tokens of a padded batch."""

    real: Bool[Tensor, "batch token"]
    """True for tokens, False for padding."""
    special: Bool[Tensor, "batch token"]
    """[CLS], [SEP], <s>, BOS and the like."""
    separator: Bool[Tensor, "batch token"]
    """Tokens that end a sentence: . ! ? and their full-width forms."""
    token_ids: Int[Tensor, "batch token"]
    kinds: Int[Tensor, "batch token"]
    """The `TokenKind` of each token."""
    groups: Int[Tensor, "group batch token"]
    """For each of `GROUPS` an id: two tokens belong together where it is equal and not negative."""

    def counted(self, special_tokens: bool) -> Bool[Tensor, "batch token"]:
        """The tokens that may form pairs."""
        return self.real if special_tokens else self.real & ~self.special


def together(
    groups: Int[Tensor, "group batch token"],
) -> Bool[Tensor, "group batch token token"]:
    """Whether two tokens belong together, in each way."""
    return (groups[..., :, None] == groups[..., None, :]) & (groups >= 0)[..., :, None]
