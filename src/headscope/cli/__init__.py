"""The command line, one file a command: parse, call one function, say what was written."""

from headscope.cli.app import main

__all__ = ["main"]
