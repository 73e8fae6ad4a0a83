"""results.nc: the reduced arrays of a run, one netCDF group per attention stack.

Beside it is its receipt, results.json, with its SHA-256.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path

import h5netcdf
import h5py
import xarray as xr
from xarray.backends import H5NetCDFStore

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_there, is_unchanged, read_json, remove_file, write_whole
from headscope.runs.manifest import RECEIPTS_SINCE, Manifest
from headscope.runs.result_check import refuse_wrong_layout, refuse_wrong_numbers
from headscope.system.untrusted import UntrustedFileError

FILE_NAME = "results.nc"
RECEIPT = "results.json"

MOST_BYTES = 1 << 34
"""Limit for the unpacked arrays of a stack. A small file can claim any size; 64 layers of 64 heads
take a tenth of this."""


def write_results(
    folder: Path, manifest: Manifest, results: Mapping[str, xr.Dataset], within: Path | None = None
) -> None:
    """Write the datasets of all stacks into one file, whole or not at all; then its receipt.

    Args:
        folder: The run folder.
        manifest: Of the run.
        results: By stack.
        within: The run folder that this one lies in, if any.
    """
    within = within or folder
    # In memory first: HDF5 that runs out of disk takes the whole process with it.
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        for stack, dataset in results.items():
            dataset.dump_to_store(
                H5NetCDFStore(file, group=stack, mode="a"),
                # A checksum for every chunk, for those who read the file with other programs.
                encoding={
                    name: {"zlib": True, "complevel": 1, "fletcher32": True}
                    for name, variable in dataset.variables.items()
                    if variable.dtype.kind in "fiub" and variable.ndim
                },
            )
    # The old receipt goes first: it would call the new results damaged.
    remove_file(folder / RECEIPT, within=within)
    digest = write_whole(folder / FILE_NAME, buffer.getvalue(), within=within)
    receipt = {"run": manifest.digest, FILE_NAME: digest}
    write_whole(folder / RECEIPT, json.dumps(receipt).encode(), within=within)


def read_results(
    folder: Path, manifest: Manifest, stack: str, within: Path | None = None
) -> xr.Dataset:
    """The dataset of one stack, in memory, once it is shown to fit the manifest.

    Args:
        folder: The run folder.
        manifest: Of the run.
        stack: One of its stacks.
        within: The run folder that this one lies in, if any.
    """
    path = folder / FILE_NAME
    within = within or folder
    if not is_there(path, within=within):
        raise RunError(
            f"{folder} has no {FILE_NAME}: the run is not finished; run the same analyze command "
            "again to finish it"
        )
    receipt = folder / RECEIPT
    try:
        # Runs of older versions have no receipt, nor has one killed just before writing it.
        if is_there(receipt, within=within):
            recorded = read_json(receipt, within=within)
            if not is_unchanged(path, str(recorded.get(FILE_NAME)), within=within):
                raise ValueError("it is damaged")
            if manifest.schema >= RECEIPTS_SINCE and recorded.get("run") != manifest.digest:
                raise ValueError("it belongs to another run")
        # If attributes cannot be read, h5netcdf would print a traceback when it closes the file.
        with h5py.File(path) as file:
            dict(file.attrs)
            _refuse_other_files(file)
            if stack in file:
                _refuse_other_files(file[stack])
        with xr.open_dataset(path, group=stack, engine="h5netcdf") as dataset:
            if dataset.nbytes > MOST_BYTES:
                raise ValueError(f"its arrays claim {dataset.nbytes >> 30} GiB")
            refuse_wrong_layout(dataset, manifest, stack, matrices=within == folder)
            loaded = dataset.load()
        refuse_wrong_numbers(loaded, manifest, stack)
        return loaded
    except UntrustedFileError:
        raise
    # On a damaged file, HDF5 and the libraries around it raise almost anything.
    except Exception as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; run the same analyze command again: "
            "it is made again from the shards"
        ) from error


def _refuse_other_files(group: h5py.Group) -> None:
    """HDF5 can link to other files, or have its data in them; ours never does."""
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name[:60]!r} is a link")
        item = group[name]
        if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            raise ValueError(f"the data of {name[:60]!r} lie in another file")
