"""`headscope info` on a run that is under way in another process."""

import json
import shutil
import time

from headscope.runs.lock import only_writer
from headscope.system.journal import Journal


def test_info_shows_how_far_a_live_run_is(command, demo_run, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(demo_run.folder, out)
    (out / "results.nc").unlink()
    (out / "log.jsonl").unlink()
    with only_writer(out), Journal(every_s=0.0) as journal:
        journal.keep_in(out)
        journal.stage("texts", total=12, done=2)
        journal.say("worker 7 was lost", kind="worker lost")
        time.sleep(0.02)
        journal.advance(4)
        text = command("info", out)
        facts = json.loads(command("info", out, "--json").out)
    assert text.code == 0
    assert "running: texts, 6 of 12" in text.out
    assert facts["state"] == "running: texts, 6 of 12"
    assert facts["failures"] == "1 worker lost"
    assert {"rate", "left", "estimated end", "last sign of life"} <= set(facts)
    facts = json.loads(command("info", out, "--json").out)
    assert facts["state"].startswith("unfinished (")
    assert "estimated end" not in facts
