"""Loading without output: progress bars and advice of other libraries do not belong in ours."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import transformers.utils.logging as transformers_logging
from huggingface_hub.utils.tqdm import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)


@contextmanager
def quiet_loading() -> Iterator[None]:
    """While open, transformers and the hub print errors only, and no progress bars."""
    # transformers turns the hub's progress on and off along with its own.
    verbosity = transformers_logging.get_verbosity()
    hub_progress = not are_progress_bars_disabled()
    loading_progress = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if loading_progress:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        if hub_progress:
            enable_progress_bars()


@contextmanager
def quiet_native_code() -> Iterator[None]:
    """While open, nothing reaches standard error, not even from native code.

    A tokenizer whose file is damaged may panic: Rust then prints a trace of its own, before we can
    say in one line what is wrong.
    """
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # there is no standard error
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
