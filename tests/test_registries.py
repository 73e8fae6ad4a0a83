"""Each kind of thing has one registry: what is added there from outside shows up everywhere."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import headscope as hs
from headscope.errors import CorpusError, SettingsError
from headscope.findings.claims import CLAIMS, Claim
from headscope.findings.claims.claim import Finding
from headscope.findings.findings_table import finding_columns, finding_rows
from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.roles import ROLES, Role, Trait
from headscope.measures import MEASURES, Measure
from headscope.pages.figures import FIGURES, RunFigure
from headscope.system.registry import Registry
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.readers import READERS, Reader, file_endings

TOY_MEASURE = Measure(
    name="toy_span",
    title="toy span",
    unit="toy tokens",
    numerator="distance_sum",
    denominator="texts",
    definition="The toy definition: sum of distances per window.",
    misleads="A toy misleads always.",
    form=".0f",
    in_findings="toy meaning",
)
TOY_FIGURE = RunFigure(
    name="toy-figure",
    draw=lambda findings: Figure(figsize=(1, 1)),
    caption="A toy caption.",
    section="A toy section",
)
TOY_CLAIM = Claim(
    name="toy-claim",
    title="toys are measured",
    paper="The paper says nothing of toys.",
    definition="Always holds.",
    null="no toys",
    breaks="a toy that breaks",
    figure="toy-figure",
    judge=lambda evidence: Finding(
        status="holds",
        effect=Interval(1.0, 0.5, 1.5),
        unit="toys",
        null=None,
        p_value=None,
        summary="one toy was found",
    ),
)
TOY_ROLE = Role(
    name="toy",
    letter="Y",
    colour="#123456",
    meaning="a head that plays",
    trait=Trait(lambda heads: pd.Series(1.0, index=heads.index), 0.99),
)
TOY_READER = Reader(
    name="toy",
    endings=(".toy",),
    read=lambda source, columns: iter(
        Document(id=f"{source.name}:{n}", text=text)
        for n, text in enumerate(source.text().split("%"))
    ),
    holds="what stands between two per cent signs is a document",
)


@pytest.fixture
def run(demo_run):
    """The shared run, opened again: nothing was read from it yet."""
    return hs.open_run(demo_run.folder)


@pytest.fixture
def page(run, tmp_path):
    return lambda: run.report(tmp_path / "report.html").path.read_text()


def test_a_new_measure_is_in_tables_report_and_docs(run, page):
    with MEASURES.including(TOY_MEASURE):
        heads = run.heads
        per_window = heads["mean_distance"] * heads["pairs"] / heads["texts"]
        np.testing.assert_allclose(heads["toy_span"], per_window)
        assert "toy_span" in run.layers
        titles = [column.title for column in finding_columns()]
        row = finding_rows(run.layers)[0]
        assert row[titles.index("toy span")] == f"{run.layers['toy_span'][0]:.0f}"
        assert "toy_span" in set(run.stability().subsets.agreement["measure"])
        html = page()
        assert "toy span" in html
        assert "The toy definition" in html
    assert "toy_span" not in hs.open_run(run.folder).heads


def test_a_new_figure_is_drawn_and_has_its_section(run, page, tmp_path):
    with FIGURES.including(TOY_FIGURE):
        files = run.figures(tmp_path / "figures", formats=["svg"], only=["toy-figure"]).files
        assert [file.name for file in files] == ["toy-figure.svg"]
        html = page()
        assert "A toy caption." in html
        assert "<h2>A toy section" in html
        assert 'href="#encoder-toy-figure"' in html
    with pytest.raises(SettingsError, match="'toy-figure' is unknown"):
        run.figure("toy-figure")


def test_a_new_claim_is_judged_and_in_the_report(verdict_run, tmp_path):
    with CLAIMS.including(TOY_CLAIM):
        run = hs.open_run(verdict_run.folder)
        verdicts = {verdict.name: verdict for verdict in run.claims()}
        assert verdicts["toy-claim"].status == "holds"
        html = run.report(tmp_path / "report.html").path.read_text()
        assert "Toys are measured" in html
        assert "One toy was found." in html
    assert "toy-claim" not in [claim.name for claim in CLAIMS]


def test_a_new_role_has_its_letter_colour_and_meaning(run, page):
    with ROLES.including(TOY_ROLE):
        assert "toy" in set(run.roles["role"])
        html = page()
        assert ".report .role-toy { background: #123456;" in html
        assert "a head that plays" in html
        assert 'class="role role-toy"' in html
        run.figure("roles")


def test_a_new_reader_reads_files_of_its_ending_alone_and_in_folders(tmp_path):
    (tmp_path / "two.toy").write_text("First text.%Second text.")
    with pytest.raises(CorpusError, match="of no known format"):
        read_corpus([tmp_path / "two.toy"])
    with READERS.including(TOY_READER):
        assert ".toy" in file_endings()
        for source in (tmp_path / "two.toy", tmp_path):
            documents = list(read_corpus([source]))
            assert [document.text for document in documents] == ["First text.", "Second text."]


def test_every_ending_that_is_offered_has_a_reader_of_its_own():
    endings = file_endings()
    assert len(endings) == len(set(endings))
    for reader in READERS:
        assert reader.endings, reader.name


def test_a_name_that_is_taken_or_unknown_is_refused():
    registry = Registry("measure", [TOY_MEASURE])
    with pytest.raises(SettingsError, match="'toy_span' is there already"):
        registry.add(TOY_MEASURE)
    with pytest.raises(SettingsError, match="measure: 'norm' is unknown; choose one of toy_span"):
        registry["norm"]
    registry.remove("toy_span")
    assert not len(registry)
    assert not list(registry)
