"""The command line, one file a command: parse, call one function, say what was written."""

import sys


def main() -> None:
    """Run a command; errors meant for users take one line of standard error."""
    try:
        from headscope.cli.app import main as run_command
    # Where memory is short, libraries fail while they are loaded, each in its own way.
    except (MemoryError, ImportError, OSError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if sys.stderr is not None:
            sys.stderr.write(
                f"headscope: cannot be loaded: {reason}; check the installation, and whether "
                "memory is limited (ulimit -v)\n"
            )
        sys.exit(1)
    run_command()


__all__ = ["main"]
