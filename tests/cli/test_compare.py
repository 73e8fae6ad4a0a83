"""`headscope compare` on the screen, as JSON and as a figure."""

import json

import pandas as pd

from headscope.cli.compare_tables import print_match
from headscope.compare.quantities import QUANTITIES


def test_tables_fit_into_100_columns(command, demo_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    outcome = command("compare", demo_run.folder, demo_run.folder)
    assert outcome.code == 0
    for quantity in QUANTITIES:
        assert quantity.title in outcome.out
    tables, _, notes = outcome.out.partition("±     half")
    assert max(map(len, tables.splitlines())) <= 100
    assert "…  " not in tables, "no number is cut"
    assert "minus demo (run, 1)" in notes
    assert "documents are too few" in notes


def test_steps_have_a_row_each_and_say_what_is_not_clear(command, demo_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    outcome = command("compare", demo_run.folder, demo_run.folder, "--steps")
    assert outcome.code == 0
    assert max(map(len, outcome.out.partition("\nagree ")[0].splitlines())) <= 100
    lines = [line.split() for line in outcome.out.splitlines()]
    value = demo_run.layers["mean_distance"]
    assert any(line[:1] == ["1"] and line[1].startswith(f"{value[0]:.0f}"[:1]) for line in lines)
    fastest = outcome.out.partition("changes fastest between")[2]
    assert fastest.count("no clear step") > len(QUANTITIES)
    assert " yes" not in fastest
    assert "no lens study in the folder" in outcome.out


def test_html_writes_a_page(command, demo_run, tmp_path):
    target = tmp_path / "models.html"
    outcome = command("compare", demo_run.folder, demo_run.folder, "--html", target)
    assert outcome.code == 0
    assert f"page  {target}" in outcome.out
    assert "<h1>Models side by side</h1>" in target.read_text()


def test_json_is_json_alone(command, demo_run):
    runs = [demo_run.folder] * 2
    outcome = command("compare", *runs, "--json", "--steps", "--match", "--texts", 2)
    found = json.loads(outcome.out)
    tables = {"thirds", "curves", "roles", "claims", "signal", "training", "fastest"}
    assert set(found) == tables | {"remarks", "steps", "matches"}
    assert found["steps"] == [1, 2]
    assert found["thirds"][-1]["difference"] == 0
    assert len(found["curves"]) == 2 * 6 * len(QUANTITIES)
    (match,) = found["matches"].values()
    assert len(match) == len(demo_run.heads)
    assert all(row["layer"] == row["other_layer"] for row in match)


def test_the_match_table_has_a_line_for_every_head(capsys):
    heads = [
        {"stack": "encoder", "layer": 3, "head": 7, "other_layer": 12, "other_head": 11}
        | {"cka": 0.812, "runner_up_layer": 2, "runner_up_head": 1, "runner_up_cka": 0.5}
        | {"null": 0.07, "mutual": mutual}
        for mutual in (True, False)
    ]
    print_match(pd.DataFrame(heads), "a", "b")
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "3.7" in line]
    numbers = ["encoder", "3.7", "12.11", "0.81", "2.1", "0.50", "0.07"]
    assert lines == [[*numbers, "yes"], numbers]


def test_the_figure_is_written_in_the_format_of_its_name(command, demo_run, tmp_path):
    path = tmp_path / "side.svg"
    outcome = command("compare", demo_run.folder, demo_run.folder, "--figure", path)
    assert outcome.out.splitlines()[-1].split() == ["figure", str(path)]
    assert path.read_bytes().startswith(b"<?xml")


def test_mistakes_take_one_line(command, demo_run, tmp_path):
    alone = command("compare", demo_run.folder)
    assert (alone.code, alone.err.count("\n")) == (2, 1)
    assert "two runs" in alone.err
    figure = command("compare", *[demo_run.folder] * 2, "--figure", tmp_path / "side.gif")
    assert (figure.code, figure.err.count("\n")) == (2, 1)
    assert ".png, .svg, .pdf" in figure.err
