"""A page of results: prose from a template, tables from records, and for each table where it was measured.

A line ``<!-- NAME.md -->`` in the template is the place of a table. `kept/NAME.md` beside the template holds the table;
its first line says which commit, day and machine it was made with, or since when it has been in the documents. The
tables of a new run are brought into `kept` by naming the run's folder on the command line.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from lab.experiments.common.made import Made, made_now, said

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
RESULTS = ROOT / "docs" / "results"
PLACE = re.compile(r"^<!-- (\S+)\.md -->$", re.MULTILINE)
MADE = re.compile(r"<!-- (\[.*\]) -->\n\n")
CAPTION = re.compile(r"^\*(?:Recorded|No record kept)\b.*\*$", re.MULTILINE)
INDEX = """\
# Results

Each page holds the figures of one paper or subject. A command of the repository writes it, and its first lines name the
command. The line above each table says which commit, day and machine the table comes from. Tables without a record were
measured with an earlier version; the line above them says since when they have been in the documents.

| page | tables with a record | tables without | newest |
| --- | --- | --- | --- |
{lines}

```{{toctree}}
:hidden:

{names}
```
"""


class Table(NamedTuple):
    """A table in Markdown, and the runs that it was made from."""

    text: str
    made: list[Made]


def publish(page: str, template: Path, text: Callable[[], str]) -> None:
    """Writes docs/results/PAGE.md, and what the index says about all pages.

    The tables of folders that are named on the command line are kept first, beside the template.
    """
    for folder in sys.argv[1:]:
        keep(Path(folder), PLACE.findall(template.read_text("utf-8")), template.parent / "kept")
    (RESULTS / f"{page}.md").write_text(text(), "utf-8")
    (RESULTS / "index.md").write_text(index(), "utf-8")


def keep(output: Path, names: list[str], kept: Path) -> None:
    """Copies a run's tables to where they are kept, and the JSON that they were made from."""
    log = output / "made.json"
    parts = json.loads(log.read_text("utf-8")) if log.exists() else {}
    made = list(parts.values()) or [made_now()]
    found = [name for name in names if (output / f"{name}.md").exists()]
    for name in found:
        table = (output / f"{name}.md").read_text("utf-8").strip()
        (kept / f"{name}.md").write_text(f"<!-- {json.dumps(made)} -->\n\n{table}\n", "utf-8")
    for stem in (*parts, *found, *(f"rivals-{name}" for name in found)):
        if (output / f"{stem}.json").exists():
            shutil.copy(output / f"{stem}.json", kept)


def filled(template: Path, recorded: Mapping[str, Table] | None = None) -> str:
    """The template with its tables, each below the line that says where it comes from.

    Those that are `recorded` were made from records just now.
    """
    used: list[Made] = []

    def placed(match: re.Match[str]) -> str:
        table = (recorded or {}).get(match[1]) or read_table(template.parent / "kept" / f"{match[1]}.md")
        used.extend(table.made)
        return f"{said(table.made)}\n\n{table.text.strip()}"

    title, _, rest = PLACE.sub(placed, template.read_text("utf-8")).partition("\n")
    return f"{title}\n\n{head(template.parent, used, *counted(rest))}\n{rest}"


def head(folder: Path, used: list[Made], n_recorded: int, n_lost: int) -> str:
    """Which command wrote the page, and the commits, days and machines of its tables."""
    module = ".".join((folder.resolve().relative_to(ROOT) / "page").parts)
    lines = [f"`python -m {module}` wrote this page."]
    if n_recorded:
        lines.append(f"Tables with a record: {n_recorded}. {said(each for each in used if 'commit' in each)}")
    if n_lost:
        days = sorted(each["date"] for each in used if "since" in each)
        lines.append(
            f"Tables without a record: {n_lost}, measured with earlier versions, which the line above each table names "
            f"({' to '.join(dict.fromkeys((days[0], days[-1])))})."
        )
    lines.append("Figures in sentences were read off these tables, or measured with the same versions.")
    return "\n\n".join(lines)


def read_table(file: Path) -> Table:
    """A kept table."""
    text = file.read_text("utf-8")
    head = MADE.match(text)
    if head is None:
        raise ValueError(f"{file.name} does not begin with where it was made")
    return Table(text[head.end() :], json.loads(head[1]))


def counted(page: str) -> tuple[int, int]:
    """How many tables of a page have a record, and how many do not."""
    captions = CAPTION.findall(page)
    n_lost = sum("o record kept" in caption for caption in captions)
    return len(captions) - n_lost, n_lost


def index() -> str:
    """The page that lists all pages of results, from what these say themselves."""
    lines, names = [], []
    for file in sorted(RESULTS.glob("*.md")):
        if file.name == "index.md":
            continue
        text = file.read_text("utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        days = re.findall(r"\b\d{4}-\d\d-\d\d\b", text)
        n_recorded, n_lost = counted(text) if CAPTION.search(text) else (1, 0)  # the page on attacks is one record
        lines.append(f"| [{title}]({file.name}) | {n_recorded} | {n_lost} | {max(days, default='')} |")
        names.append(file.stem)
    return INDEX.format(lines="\n".join(lines), names="\n".join(names))
