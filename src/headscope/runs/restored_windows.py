"""Windows of a run held against windows that were cut again from the same corpus."""

from headscope.runs.files import is_unchanged, read_bytes, write_whole
from headscope.runs.folder import RunFolder
from headscope.runs.window_files import read_window_table, window_file


def restore_windows(run: RunFolder, cut_again: RunFolder) -> bool:
    """Whether the windows of a run are those that were cut again; if so, damaged ones are replaced.

    Args:
        run: Whose windows may be damaged, or not those of its corpus.
        cut_again: The same windows, just cut, in a folder of this process.
    """
    corpus, again = run.manifest.corpus, cut_again.manifest.corpus
    if corpus.shard_texts != again.shard_texts:
        return False
    damaged = []
    for number, expected in enumerate(corpus.window_hashes):
        whole = is_unchanged(run.path / window_file(number), expected, within=run.within)
        if expected == again.window_hashes[number]:
            if not whole:
                damaged.append(number)
        # Another version of Arrow writes the same windows in other bytes.
        elif not (whole and _same_table(run, cut_again, number)):
            return False
    for number in damaged:
        name = window_file(number)
        write_whole(run.path / name, read_bytes(cut_again.path / name), within=run.within)
    return True


def _same_table(run: RunFolder, other: RunFolder, number: int) -> bool:
    ours = read_window_table(run.path, run.manifest, number, within=run.within)
    theirs = read_window_table(other.path, other.manifest, number, within=other.within)
    return bool(ours.equals(theirs))
