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
from headscope.runs.files import is_unchanged, read_json, remove_file, write_whole

FILE_NAME = "results.nc"
RECEIPT = "results.json"

MOST_BYTES = 1 << 34
"""Limit for the unpacked arrays of a stack. A small file can claim any size; 64 layers of 64 heads
take a tenth of this."""


def write_results(folder: Path, results: Mapping[str, xr.Dataset]) -> None:
    """Write the datasets of all stacks into one file, whole or not at all; then its receipt."""
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
    remove_file(folder / RECEIPT)
    receipt = {FILE_NAME: write_whole(folder / FILE_NAME, buffer.getvalue())}
    write_whole(folder / RECEIPT, json.dumps(receipt).encode())


def read_results(folder: Path, stack: str) -> xr.Dataset:
    """The dataset of one stack, in memory."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise RunError(
            f"{folder} has no {FILE_NAME}: the run is not finished; run the same analyze command "
            "again to finish it"
        )
    receipt = folder / RECEIPT
    try:
        # Runs of older versions have no receipt, nor has one killed just before writing it.
        if receipt.exists() and not is_unchanged(path, str(read_json(receipt).get(FILE_NAME))):
            raise ValueError("it is damaged")
        # If attributes cannot be read, h5netcdf would print a traceback when it closes the file.
        with h5py.File(path) as file:
            dict(file.attrs)
        with xr.open_dataset(path, group=stack, engine="h5netcdf") as dataset:
            if dataset.nbytes > MOST_BYTES:
                raise ValueError(f"its arrays claim {dataset.nbytes >> 30} GiB")
            return dataset.load()
    # On a damaged file, HDF5 and the libraries around it raise almost anything.
    except Exception as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; run the same analyze command again: "
            "it is made again from the shards"
        ) from error
