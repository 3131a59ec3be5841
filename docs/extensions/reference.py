"""Pages that are made of the program itself: names for Python, the command line, and the settings of dual encoders."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import commands
import settings
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import labelwood

FOLDER = "reference/api"
CODE = re.compile(r"``[^`]+``|`[^`]+`(?=(\w)?)")
PAGE = """\
# {title}

{summary}

```{{eval-rst}}
{directives}
```
"""


class CommandLine(SphinxDirective):
    """Every command with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        return self.parse_text_to_nodes(commands.text(), allow_section_headings=True)


class Settings(SphinxDirective):
    """Every table of a dual encoder's settings."""

    def run(self) -> list[nodes.Node]:
        """The sections."""
        return self.parse_text_to_nodes(settings.text(), allow_section_headings=True)


def write_pages(app: Sphinx) -> None:
    """Writes a page for each public class, one for the functions beside them, and one for each room."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = dict(pages())
    for file in folder.glob("*.md"):
        if file.stem not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text("utf-8") != text:  # an old page is not built again
            file.write_text(text, "utf-8")


def pages() -> Iterator[tuple[str, str]]:
    """The name and the text of each page."""
    top = {name: getattr(labelwood, name) for name in labelwood.__all__}
    classes = {name: value for name, value in top.items() if inspect.isclass(value)}
    others = [name for name, value in top.items() if not inspect.isclass(value) and not isinstance(value, ModuleType)]
    for name in classes:
        yield name, page(name, "", [f"labelwood.{name}"])
    yield "functions", page("Functions", "Functions of `labelwood` itself.", [f"labelwood.{name}" for name in others])
    for room in rooms(top):
        module = import_module(f"labelwood.{room}")
        own = [name for name in module.__all__ if not any(getattr(module, name) is value for value in top.values())]
        summary = (inspect.getdoc(module) or "").partition("\n\n")[0]
        yield f"room_{room}", page(f"labelwood.{room}", summary, [f"labelwood.{room}.{name}" for name in own])


def rooms(top: dict[str, Any]) -> list[str]:
    """The names of the public rooms."""
    return sorted(name for name, value in top.items() if isinstance(value, ModuleType))


def page(title: str, summary: str, names: list[str]) -> str:
    """A page about some names."""
    return PAGE.format(title=title, summary=summary, directives="\n\n".join(map(directive, names)))


def directive(name: str) -> str:
    """What documents a name, in reStructuredText."""
    module, _, own = name.rpartition(".")
    value = getattr(import_module(module), own)
    if inspect.isclass(value):
        # Models inherit `predict_topk` and others, which belong to them; what pydantic or tuples bring does not.
        inherits = "\n   :inherited-members:" if hasattr(value, "get_params") else ""
        return f".. autoclass:: {name}\n   :members:{inherits}"
    if inspect.isroutine(value):
        return f".. autofunction:: {name}"
    return f".. py:data:: {name}\n\n   " + ", ".join(f"``{each}``" for each in value)


def mend(_app: Sphinx, _what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Makes of docstrings what reStructuredText and napoleon read.

    Letters may follow code at once, as in "`TopK`s". A list of fields may say more than "Fields:".
    """
    for number, line in enumerate(lines):
        spaced = CODE.sub(lambda code: code[0] + "\\ " * (code[1] is not None), line)
        lines[number] = "Fields:" if line.startswith("Fields, ") and line.endswith(":") else spaced


def plain(_app: Sphinx, _what: str, _name: str, _value: Any, _options: Any, given: str, returned: str) -> Any:
    """Leaves the limits of numbers out of signatures: the parameters' checks name them when they are broken."""
    return tuple(text and re.sub(r"Annotated\[(\w+), [^\]]*\]", r"\1", text) for text in (given, returned))


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_directive("command-line", CommandLine)
    app.add_directive("dual-encoder-settings", Settings)
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", mend, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", plain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
