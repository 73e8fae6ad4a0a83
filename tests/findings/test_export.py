"""Tables for other programs: what another library reads is what the run says."""

import json
import os

import duckdb
import numpy as np
import pandas as pd
import pytest

from headscope.errors import RunError, SettingsError


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_what_duckdb_reads_is_what_the_run_has(demo_run, tmp_path, to):
    written = demo_run.export(tmp_path / "out", to=to)
    assert list(written) == ["heads", "layers", "roles", "claims", "sweep", "rows"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(
        f"{n}.{to}" for n in written
    )
    heads = duckdb.sql(f"SELECT * FROM '{written['heads']}' ORDER BY layer, head").df()
    expected = demo_run.heads.sort_values(["layer", "head"]).reset_index(drop=True)
    assert list(heads.columns) == list(expected.columns)
    np.testing.assert_allclose(heads["mean_distance"], expected["mean_distance"])
    rows = duckdb.sql(f"SELECT count(*), sum(pairs) FROM '{written['rows']}'").fetchall()[0]
    table = demo_run.rows().to_table()
    assert rows == (table.num_rows, pytest.approx(sum(table["pairs"].to_pylist())))


def test_an_unknown_format_and_a_file_in_the_way_are_refused(demo_run, tmp_path):
    with pytest.raises(SettingsError, match="'xlsx' is unknown; choose csv or parquet"):
        demo_run.export(tmp_path, to="xlsx")
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="is a file"):
        demo_run.export(tmp_path / "file")
    for name in ("rows.csv", "heads.csv"):  # written batch by batch, and whole
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        os.mkfifo(folder / name)
        with pytest.raises(RunError, match=f"{name}: it is no regular file"):
            demo_run.export(folder, to="csv")
        assert (folder / name).is_fifo()


def test_the_command_says_what_it_wrote(demo_run, tmp_path, monkeypatch, capsys):
    from headscope.cli import main

    monkeypatch.chdir(tmp_path)
    arguments = ["headscope", "export", str(demo_run.folder), "--to", "csv", "--json"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    written = json.loads(capsys.readouterr().out)
    assert written["heads"] == f"{demo_run.folder.name}-csv/heads.csv"
    assert len(pd.read_csv(written["roles"])) == len(demo_run.roles)
