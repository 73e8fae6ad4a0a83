"""One text at a time (`look`): every matrix of every head, and what follows from them (`view`)."""

from headscope.look.look import look
from headscope.look.view import View

__all__ = ["View", "look"]
