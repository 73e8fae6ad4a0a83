"""`headscope sweep` and `headscope stability`: tables for people, JSON for scripts."""

import json


def test_sweep_shows_the_layers_of_the_paper_and_marks_the_runs_own_threshold(command, copied_run):
    outcome = command("sweep", copied_run)
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert [line[0] for line in lines if line[1:2] == ["top:0.01*"]] == ["1", "3", "5"]
    assert [line[0] for line in lines if line[1:2] == ["0.3*"]] == ["1", "3", "5"]
    assert [line[0] for line in lines if line and line[-1].endswith("thresholds.png")] == ["figure"]
    assert (copied_run / "figures" / "thresholds.png").is_file()
    every = command("sweep", copied_run, "--all").out
    assert sum(line.split()[1:2] == ["max:0.5"] for line in every.splitlines()) == 6


def test_sweep_as_json_is_the_table(command, demo_run):
    rows = json.loads(command("sweep", demo_run.folder, "--json").out)
    table = demo_run.sweep()
    assert len(rows) == len(table)
    assert rows[0]["mean_distance"] == table["mean_distance"].iloc[0].round(10)
    assert rows[-1]["mean_distance"] is None


def test_stability_shows_measures_roles_and_what_it_cannot_answer(command, demo_run):
    outcome = command("stability", demo_run.folder)
    assert outcome.code == 0
    assert "encoder: 2 random subsets" in outcome.out
    assert "same sentence excess" in outcome.out
    assert "of 72 heads keep theirs" in outcome.out
    assert "not answered: domains: two labels are needed" in outcome.out
    assert "nan" not in outcome.out


def test_stability_shows_domains(command, demo_run):
    outcome = command("stability", demo_run.folder, "--by", "document", "--subset", 4)
    assert "mean over heads in each domain" in outcome.out
    assert "by chance" in outcome.out


def test_stability_as_json_has_all_tables(command, demo_run):
    found = json.loads(command("stability", demo_run.folder, "--json").out)
    assert found["texts"] == 12
    assert sum(found["subsets"]["texts"].values()) == 12
    assert {row["head"] for row in found["subsets"]["heads"]} == set(range(1, 13))
    assert found["domains"] is None
    assert found["unanswered"]


def test_mistakes_take_one_line(command, demo_run, tmp_path):
    for arguments in (
        ("stability", demo_run.folder, "--by", "colour"),
        ("stability", demo_run.folder, "--subset", 0),
        ("sweep", tmp_path / "nothing"),
    ):
        outcome = command(*arguments)
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        assert outcome.out == ""
