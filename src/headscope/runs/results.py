"""results.nc: the reduced arrays of a run, one netCDF group per attention stack."""

import secrets
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headscope.errors import RunError, StorageError, in_one_line
from headscope.runs.files import remove, take_name

FILE_NAME = "results.nc"

MOST_BYTES = 1 << 34
"""The arrays of a stack, unpacked. A small file can claim any size; 64 layers of 64 heads take a
tenth of this."""


def write_results(folder: Path, results: Mapping[str, xr.Dataset]) -> None:
    """Write the datasets of all stacks into one file, whole or not at all."""
    temporary = folder / f".{FILE_NAME}.{secrets.token_hex(8)}.part"
    try:
        for number, (stack, dataset) in enumerate(results.items()):
            dataset.to_netcdf(
                temporary,
                group=stack,
                mode="a" if number else "w",
                engine="h5netcdf",
                # With a checksum of every chunk: a flipped bit is an error, not another number.
                encoding={
                    name: {"zlib": True, "complevel": 1, "fletcher32": True}
                    for name in dataset.data_vars
                },
            )
        take_name(temporary, folder / FILE_NAME)
    # Without space, HDF5 raises whatever it was doing.
    except (OSError, RuntimeError) as error:
        remove(temporary)
        raise StorageError(
            f"cannot write {folder / FILE_NAME}: {in_one_line(error)}; free space there, then run "
            "the same command again: what was finished is kept"
        ) from error


def read_results(folder: Path, stack: str) -> xr.Dataset:
    """The dataset of one stack, in memory."""
    path = folder / FILE_NAME
    if not path.is_file():
        raise RunError(
            f"{folder} has no {FILE_NAME}: the run is not finished; run the same analyze command "
            "again to finish it"
        )
    try:
        with xr.open_dataset(path, group=stack, engine="h5netcdf") as dataset:
            if dataset.nbytes > MOST_BYTES:
                raise ValueError(f"its arrays claim {dataset.nbytes >> 30} GiB")
            return dataset.load()
    # A damaged file makes HDF5 and what is around it raise almost anything.
    except Exception as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; delete it and run the same analyze "
            "command again"
        ) from error
