"""Tables on standard output."""

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from headscope.findings.findings_table import finding_columns, finding_rows
from headscope.measures.tables import layer_table
from headscope.run import Run


def print_findings(run: Run) -> None:
    """The findings of a run, a table for each attention stack."""
    corpus, model = run.manifest.corpus, run.manifest.model
    console = Console(highlight=False)
    for stack, dataset in run.stacks.items():
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            title=escape(
                f"{model.name}, {stack}: {corpus.windows:,} texts of {', '.join(corpus.sources)}"
            ),
            title_justify="left",
            caption="expected: the same share among all pairs of the text at the same distances",
            caption_justify="left",
        )
        for finding in finding_columns():
            table.add_column(finding.title, justify="right")
        for row in finding_rows(layer_table(dataset)):
            table.add_row(*row)
        console.print(table)
