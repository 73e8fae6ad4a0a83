"""results.nc: the reduced arrays of a run, one netCDF group per attention stack."""

import os
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from headscope.errors import RunError

FILE_NAME = "results.nc"


def write_results(folder: Path, results: Mapping[str, xr.Dataset]) -> None:
    """Write the datasets of all stacks into one file, whole or not at all."""
    temporary = folder / f".{FILE_NAME}.{os.getpid()}.part"
    try:
        for number, (stack, dataset) in enumerate(results.items()):
            dataset.to_netcdf(
                temporary,
                group=stack,
                mode="a" if number else "w",
                engine="h5netcdf",
                encoding={name: {"zlib": True, "complevel": 1} for name in dataset.data_vars},
            )
        temporary.replace(folder / FILE_NAME)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(f"cannot write {folder / FILE_NAME}: {error}; free space there") from error


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
            return dataset.load()
    except (OSError, KeyError, ValueError) as error:
        raise RunError(
            f"{path} cannot be read: {error}; delete it and run the same analyze command again"
        ) from error
