"""One text at a time: every matrix of every head, and what is read off them."""

from headscope.look.look import look
from headscope.look.view import View

__all__ = ["View", "look"]
