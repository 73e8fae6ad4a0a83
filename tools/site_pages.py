"""Pages of the site that are made when it is built: API, commands, notebooks, files of the project.

mkdocs calls the functions whose names begin with `on_` (see mkdocs.yml). Nothing here is written to
the repository.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

import headscope
from headscope.cli.app import build_app

ROOT = Path(__file__).parents[1]
PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Files of the repository that are pages of the site, too."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    made = {"reference/api.md": api_page(), "reference/commands.md": commands_page()}
    for source, target in PROJECT.items():
        made[target] = (ROOT / source).read_text(encoding="utf-8")
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        page, pictures = notebook_page(path)
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=page))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page, whose links to files of the repository lead to the site where it has them."""
    sources = {target: source for source, target in PROJECT.items()}
    here = page.file.src_uri
    # Links are relative to where the file is in the repository.
    home = Path(sources[here]).parent if here in sources else (Path("docs") / here).parent
    depth = "../" * here.count("/")

    def lead(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if re.match(r"[a-z]+:", target):
            return found[0]
        path = Path(*_walked(home / target)).as_posix()
        if path in PROJECT:
            return f"[{words}]({depth}{PROJECT[path]}{anchor})"
        if path.startswith("docs/"):
            inside = path.removeprefix("docs/")
            return found[0] if here not in sources else f"[{words}]({depth}{inside}{anchor})"
        if path == "README.md":
            return f"[{words}]({depth}index.md)"
        return words  # a file that is not on the site

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)", lead, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Take out the addresses that the theme could load scripts from: diagrams, old browsers."""
    for script in Path(config.site_dir, "assets", "javascripts").glob("bundle.*.js"):
        text = script.read_text(encoding="utf-8")
        local = re.sub(r"https://unpkg\.com/[\w@./-]*", "data:text/javascript,", text)
        script.write_text(local, encoding="utf-8")


def _walked(path: Path) -> Iterator[str]:
    """The parts of a path with `..` resolved."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return iter(parts)


def api_page() -> str:
    """Everything that `import headscope` offers, from its docstrings."""
    addresses = [f"{home}.{name}" for name, home in headscope._HOMES.items()]
    # Functions first: their names are lower case.
    ordered = sorted(addresses, key=lambda address: address.rsplit(".", 1)[1][0].isupper())
    return "\n\n".join(
        [
            "# Python",
            "`import headscope as hs`; everything below is `hs.NAME`. Settings that change a "
            "number, with their defaults, are those of [Settings](#headscope.settings.Settings).",
            *(f"::: {address}" for address in ordered),
            "::: headscope.settings.Settings",
        ]
    )


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook with its outputs as Markdown, and its pictures by name."""
    body, resources = MarkdownExporter().from_filename(str(path))
    pictures = {f"{path.stem}-{name}": data for name, data in resources["outputs"].items()}
    for name in resources["outputs"]:
        body = body.replace(f"({name})", f"({path.stem}-{name})")
    body = re.sub(r"<style scoped>.*?</style>", "", body, flags=re.DOTALL)
    # Plain tables look like those of other pages, and scroll in themselves on a phone.
    body = body.replace('<table border="1" class="dataframe">', "<table>")
    note = f"*This page is a notebook: [{path.name}]({path.name}). Its cells are run by a test.*"
    title, _, rest = body.lstrip().partition("\n")
    return f"{title}\n\n{note}\n\n{rest.lstrip()}", pictures


def commands_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    group = typer.main.get_command(build_app())
    context = group.make_context("headscope", [], resilient_parsing=True)
    sections = [
        "# Commands",
        "Each command has `--help`. `--json`, where there is one, prints the tables for programs. "
        "Exit codes: 0 done, 1 the run failed, 2 the input was wrong, 130 interrupted.",
    ]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        sections.append(command_section(name, command, context))
    return "\n\n".join(sections)


def command_section(name: str, command: Any, context: Any) -> str:
    """One command: its help, its usage, and a row per argument and option."""
    own = command.make_context(name, [], parent=context, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(own))
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        names = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
        if parameter.param_type_name == "argument":
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        rows.append((names, _plain(getattr(parameter, "help", "") or ""), _default(parameter)))
    table = ["| option | meaning | default |", "| --- | --- | --- |"]
    table += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n\n".join(
        [
            f"## {name}",
            _plain(command.help or ""),
            f"```\nheadscope {name} {usage}\n```",
            "\n".join(table),
        ]
    )


def _default(parameter: Any) -> str:
    default = parameter.default
    if default is None or default is False or default == "" or callable(default):
        return ""
    return "on" if default is True else f"`{default}`"


def _plain(text: str) -> str:
    """Help without the marks of rich; what is bold there is code here."""
    return re.sub(r"\[/?b\]", "`", text).replace("<", "&lt;").strip()
