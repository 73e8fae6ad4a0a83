"""How far a run is, read from its log."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from headscope.runs.lock import is_being_written, only_writer
from headscope.runs.log_reader import LOG_NAME, RECENT_S, read_progress

BEGUN = datetime(2030, 1, 1, tzinfo=UTC)


def write_log(folder, *lines: dict) -> None:
    with (folder / LOG_NAME).open("a") as file:
        for line in lines:
            time = BEGUN + timedelta(seconds=line["elapsed_s"])
            file.write(json.dumps({"time": time.isoformat()} | line) + "\n")


def progress(elapsed_s: float, done: int, event: str = "progress") -> dict:
    return {
        "elapsed_s": elapsed_s,
        "event": event,
        "stage": "texts",
        "total": 1000,
        "done": done,
    }


def test_the_end_is_estimated_from_the_rate_since_the_stage_began(tmp_path):
    """200 of 1000 were there before; 100 more took 50 s, so the other 700 take 350 s."""
    write_log(tmp_path, progress(10, 200, event="stage"), progress(30, 240), progress(60, 300))
    state = read_progress(tmp_path)
    assert (state.stage, state.done, state.total) == ("texts", 300, 1000)
    assert state.rate == pytest.approx(2.0)
    assert state.left == timedelta(seconds=350)
    assert state.end == BEGUN + timedelta(seconds=60 + 350)


def test_the_rate_is_that_of_the_last_minutes(tmp_path):
    """Slow for an hour, then ten times as fast: only what was lately counts."""
    write_log(tmp_path, progress(0, 0, event="stage"), progress(3600, 36))
    write_log(tmp_path, *(progress(3600 + s, 36 + s // 10) for s in range(60, 661, 60)))
    assert RECENT_S == 600
    assert read_progress(tmp_path).rate == pytest.approx(0.1)


def test_a_clock_that_is_set_back_changes_no_rate(tmp_path):
    write_log(tmp_path, progress(0, 0, event="stage"))
    write_log(tmp_path, progress(50, 100) | {"time": "2029-06-01T00:00:00+00:00"})
    assert read_progress(tmp_path).rate == pytest.approx(2.0)


def test_a_second_start_does_not_take_its_rate_from_the_first(tmp_path):
    write_log(tmp_path, progress(0, 0, event="stage"), progress(500, 100))
    write_log(tmp_path, progress(1, 100, event="stage"), progress(11, 200))
    assert read_progress(tmp_path).rate == pytest.approx(10.0)


def test_failures_are_counted_by_kind_over_all_starts(tmp_path):
    def line(event: str, kind: str) -> dict:
        return {"elapsed_s": 1, "event": event, "kind": kind}

    write_log(
        tmp_path,
        line("said", "worker lost"),
        line("said", "remark"),
        line("ended", "RunError"),
        line("said", "worker lost"),
        line("ended", "interrupted"),
        line("said", "damaged shard"),
        line("ended", "finished"),
    )
    failures = {"worker lost": 2, "RunError": 1, "damaged shard": 1}
    assert read_progress(tmp_path).failures == failures


@pytest.mark.parametrize("junk", ['{"time": "2030', "[]", "\x00\xff", '{"event": "stage"}', "null"])
def test_lines_that_are_cut_short_or_foreign_are_passed_over(tmp_path, junk):
    write_log(tmp_path, progress(0, 0, event="stage"), progress(50, 100))
    with (tmp_path / LOG_NAME).open("a") as file:
        file.write(junk)
    assert read_progress(tmp_path).done == 100


def test_a_run_without_a_log_has_no_live_state(tmp_path):
    assert read_progress(tmp_path) is None


def test_a_folder_is_being_written_while_its_writer_holds_it(tmp_path):
    assert not is_being_written(tmp_path)
    with only_writer(tmp_path):
        assert is_being_written(tmp_path)
    assert not is_being_written(tmp_path)


def test_copies_in_a_corpus_are_no_failure(tmp_path):
    said = {"elapsed_s": 1.0, "event": "said", "message": "2 of 3 documents are copies"}
    write_log(tmp_path, said | {"kind": "duplicates"}, said | {"kind": "damaged shard"})
    assert read_progress(tmp_path).failures == {"damaged shard": 1}
