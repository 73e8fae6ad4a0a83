"""Which files of a folder headscope made: only those are removed, and links are never followed."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from headscope.errors import RunError, StorageError, option, shortened
from headscope.runs.files import is_there
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.system.terminal import visible
from headscope.system.untrusted import UntrustedFileError, refuse_links

_FOLDERS = {
    "windows": re.compile(r"\d{5,}\.parquet"),
    "shards": re.compile(r"\d{5,}\.(parquet|safetensors|json)"),
    "robustness": re.compile(r"(heads|layers|attention)\.parquet|receipt\.json"),
    "signal": re.compile(r"sums\.safetensors|receipt\.json"),
    "figures": re.compile(r"[\w-]+\.(png|svg|pdf)"),
}
"""The folders of a run, and the names of the files in them."""
_FILES = re.compile(
    r"manifest\.json|results\.(nc|json)|examples\.parquet|report\.html|study\.json|"
    r"probe\.safetensors|lens\.parquet|"
    r"finished\.json|log\.jsonl|\.lock"
)
_NOT_NUMBERS = ("report.html", "finished.json", "log.jsonl", ".lock")
_NULLS = re.compile(r"untrained-\d+")
_REMAINS = re.compile(r"\..+\.([0-9a-f]{16}|fetched)\.part")
"""Half-written files, as `write_whole` and the exchange of shards name them."""


def refuse_links_inside(folder: Path) -> None:
    """Refuse a run folder with a link, pipe or device anywhere in it, by its name.

    Args:
        folder: A folder that is about to be written. It may itself be reached through links.
    """
    for entry, mode in _entries(folder):
        if stat.S_ISLNK(mode):
            raise UntrustedFileError(
                f"{entry} is a link: headscope writes to no folder with links inside, which may "
                "lead to other files of yours; put the file or folder itself there, or remove it"
            )
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UntrustedFileError(
                f"{entry} is neither a file nor a folder, so headscope did not make it; remove it"
            )


def remove_run_folder(path: Path, within: Path) -> None:
    """Delete a run that lies inside another one, such as that of an untrained model.

    Everything in it must bear a name that headscope gives; otherwise nothing is deleted.

    Args:
        path: The folder; nothing happens if there is none.
        within: The run folder that it belongs to.
    """
    refuse_links(path, within)
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path} is in the way of a run: it is no folder; move it away")
    refuse_links_inside(path)
    for entry, mode in _entries(path):
        if not _is_ours(entry.relative_to(path), stat.S_ISDIR(mode)):
            raise RunError(
                f"{path} is not deleted: {entry.relative_to(path)} in it is not a file of a run; "
                "move it away"
            )
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise StorageError(f"cannot delete {path}: {error.strerror}; delete it") from error


def remove_remains(folder: Path) -> None:
    """Delete what writers that died left half-written in the folders of a run.

    Args:
        folder: The run folder, in which there are no links.
    """
    for entry, mode in _entries(folder):
        ours = _is_ours(entry.relative_to(folder), is_folder=False)
        if stat.S_ISREG(mode) and _REMAINS.fullmatch(entry.name) and ours:
            entry.unlink(missing_ok=True)


def files_of_run(folder: Path) -> list[Path]:
    """The files that the numbers of a run are in, relative to its folder, in order of their names.

    Pages and figures, which are drawn from them, are not among them, nor lock and log.

    Args:
        folder: The run folder.
    """
    found = []
    for entry, mode in _entries(folder):
        relative = entry.relative_to(folder)
        drawn = relative.parts[0] == "figures" or relative.name in _NOT_NUMBERS
        remains = _REMAINS.fullmatch(entry.name) is not None
        if stat.S_ISREG(mode) and not drawn and not remains and _is_ours(relative, False):
            found.append(relative)
    return sorted(found)


def refuse_foreign_folder(folder: Path) -> None:
    """Accept an empty folder, a run, or the rest of one that has no manifest yet; no other.

    Args:
        folder: Where a run is to be written.
    """
    try:
        str(folder).encode()
        there = folder.exists()
    except (OSError, UnicodeEncodeError, ValueError):
        raise RunError(
            f"{shortened(visible(str(folder)))} cannot be the name of a run folder: it is too "
            f"long, or not valid UTF-8; choose another {option('out')}"
        ) from None
    if not there:
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; choose a folder with {option('out')}")
    if not is_there(folder / MANIFEST, within=folder) and (foreign := foreign_names(folder)):
        raise RunError(
            f"{folder} is not a run and not empty (it holds {', '.join(foreign[:3])}); "
            f"choose another {option('out')}"
        )


def foreign_names(folder: Path) -> list[str]:
    """What lies in a folder that headscope does not put there before a run has its manifest.

    Args:
        folder: An existing folder.
    """
    foreign = []
    for entry, mode in _entries(folder):
        relative = entry.relative_to(folder)
        early = relative.parts[0] in ("windows", ".lock", "log.jsonl")
        remains = _REMAINS.fullmatch(entry.name) is not None
        if not (early or remains) or not _is_ours(relative, stat.S_ISDIR(mode)):
            foreign.append(str(relative))
    return sorted(foreign)


def _is_ours(relative: Path, is_folder: bool) -> bool:
    """Whether headscope gives this name to something in a run folder."""
    parts = relative.parts
    if parts[0] == "nulls":
        if len(parts) <= 2:
            return is_folder and (len(parts) == 1 or bool(_NULLS.fullmatch(parts[1])))
        return bool(_NULLS.fullmatch(parts[1])) and _is_ours(Path(*parts[2:]), is_folder)
    *folders, name = parts
    if is_folder:
        return not folders and name in _FOLDERS
    if len(folders) > 1 or (folders and folders[0] not in _FOLDERS):
        return False
    names = _FOLDERS[folders[0]] if folders else _FILES
    return bool(names.fullmatch(name) or _REMAINS.fullmatch(name))


def _entries(folder: Path) -> Iterator[tuple[Path, int]]:
    """Everything below a folder with its mode, links not followed; folders before their content."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"cannot look into {here}: {error.strerror}; check it") from error
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue  # a process that writes the run has just renamed it
            yield Path(entry.path), mode
            if stat.S_ISDIR(mode):
                waiting.append(Path(entry.path))
