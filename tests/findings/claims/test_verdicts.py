"""The verdicts of a run as a table: a list as before, printed, and shown in notebooks."""

import pytest

from headscope.findings.claims import CLAIMS
from headscope.findings.claims.verdicts import Verdicts


@pytest.fixture(scope="module")
def verdicts(verdict_run):
    return verdict_run.claims()


def test_it_iterates_like_a_list(verdicts):
    assert [verdict.name for verdict in verdicts] == [claim.name for claim in CLAIMS]
    assert len(verdicts) == len(CLAIMS)
    assert verdicts[0] is next(iter(verdicts))
    assert [v.name for v in verdicts[1:3]] == [claim.name for claim in list(CLAIMS)[1:3]]
    assert verdicts["range"].name == "range"
    with pytest.raises(KeyError, match="no claim 'rang'; there are"):
        verdicts["rang"]


def test_it_prints_every_claim_with_its_status(verdicts):
    text = repr(verdicts)
    assert max(map(len, text.splitlines())) <= 100
    for verdict in verdicts:
        assert any(
            line.startswith(verdict.name) and f" {verdict.status} " in line + " "
            for line in text.splitlines()
        )
        assert "\n" not in repr(verdict)
    assert repr(Verdicts([])) == "no verdicts"


def test_it_shows_itself_in_notebooks_with_everything_escaped(verdicts):
    html = verdicts._repr_html_()
    assert html.count("<tr>") == len(verdicts) + 1
    assert "&lt;" in html or "<s>" not in html


def test_as_a_frame_it_has_a_row_per_verdict(verdicts):
    frame = verdicts.to_frame()
    assert list(frame["status"]) == [verdict.status for verdict in verdicts]
    known = frame["effect"].notna()
    assert (frame["low"][known] <= frame["effect"][known]).all()
