"""Tables on standard output: what fits, and what is never cut."""

import pytest

from headscope.cli.tables import Column, cell, print_table
from headscope.measures import MEASURES
from headscope.measures.measure import Measure

SWEPT = Measure(
    name="shorter",
    title="shorter than most",
    unit="share of pairs",
    numerator="distance_sum",
    denominator="pairs",
    form=".4f",
    in_sweep=True,
    definition="A toy.",
    misleads="Always.",
)


def test_titles_wrap_at_spaces_and_nothing_is_cut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    titles = ["layer", "distinct focal tokens", "attention on . ! ?"]
    print_table([Column(title, number=True) for title in titles], [["1", "2.5", "0.039"]])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 30
    assert set(" ".join(titles).split()) <= set(shown.split())


def test_a_table_too_wide_for_the_terminal_keeps_all_its_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "12")
    print_table([Column("name"), Column("extraordinary", number=True)], [["a", "1"]])
    assert "extraordinary" in capsys.readouterr().out


def test_titles_and_captions_are_plain_text(capsys):
    print_table([Column("[b]")], [["x"], None, ["y"]], title="[red]", caption="[i]")
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("[b]", "[red]", "[i]"))


def test_an_absent_number_is_a_dash():
    assert cell(float("nan"), ".3f") == "-"
    assert cell(1234, ",d") == "1,234"


@pytest.mark.parametrize("name", ["sweep", "stability"])
def test_tables_of_a_run_fit_into_80_columns(command, copied_run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    shown = command(name, copied_run).out
    tables = [line for line in shown.splitlines() if not line.startswith(("figure", "not answ"))]
    assert max(map(len, tables)) <= 80
    assert "…" not in shown


def test_findings_of_a_run_fit_into_80_columns(command, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ("--texts", 2, "--layers", "1,6", "--nulls", 0, "--out", tmp_path / "run", "-q")
    shown = command("analyze", *arguments).out
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "attention" in shown.split()


def test_a_new_measure_shows_up_in_the_sweep(command, copied_run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    with MEASURES.including(SWEPT):
        shown = command("sweep", copied_run).out
    assert "shorter than most" in shown
    assert "shorter than most" not in command("sweep", copied_run).out
