"""The report of a run, put together from its findings and written to a file."""

from pathlib import Path

from headscope.findings.claims.judge import judge
from headscope.findings.claims.sanity import sanity_signs
from headscope.findings.run_findings import RunFindings
from headscope.measures.tables import layer_table
from headscope.pages.figures import FIGURES, StackFindings, draw_figures
from headscope.pages.report.examples import example_texts, focal_counts
from headscope.pages.report.page import Report, RunReport, StackReport, report_page
from headscope.runs.examples import read_examples
from headscope.runs.files import write_whole


def write_report(run: RunFindings, path: Path) -> Report:
    """The report of a run.

    Args:
        run: What was found.
        path: The file to write.
    """
    figures = [figure for figure in FIGURES if figure.in_report]
    evidence = run.evidence()
    stacks = [
        StackReport(
            name=stack,
            results=results,
            layers=layer_table(results),
            heads=run.heads[run.heads["stack"] == stack],
            roles=run.roles[run.roles["stack"] == stack],
            verdicts=judge(evidence[stack]),
            signs=[sign for sign in sanity_signs(evidence[stack]) if sign.seen],
            figures=draw_figures(figures, StackFindings.of(run, stack)),
        )
        for stack, results in run.stacks.items()
    ]
    folder = run.folder
    with run.refusing_unreadable():
        focal = focal_counts(folder.rows(), folder.windows())
        examples = example_texts(read_examples(folder.path), folder.windows())
    page = report_page(
        RunReport(
            manifest=run.manifest,
            stacks=stacks,
            focal=focal,
            examples=examples,
            stability=run.stability(),
            left_out=folder.left_out,
        )
    )
    write_whole(path, page.encode())
    return Report(path)
