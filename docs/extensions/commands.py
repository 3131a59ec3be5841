"""The command line as Markdown, from typer's own objects: the words are those of `labelwood COMMAND --help`."""

from __future__ import annotations

from typing import Any

import typer
from typer.main import get_command

from labelwood.cli import app


def text() -> str:
    """A section for each command."""
    group: Any = get_command(app)
    return "\n\n".join(section(name, command) for name, command in group.commands.items())


def section(name: str, command: Any) -> str:
    """What a command does, what it takes, and its options."""
    context = typer.Context(command, info_name=f"labelwood {name}")
    usage = " ".join(["labelwood", name, *command.collect_usage_pieces(context)])
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    items = [f"`{term}`\n: {escaped(words)}" for term, words in records]
    return "\n\n".join([f"## {name}", escaped(command.help or ""), f"```text\n{usage}\n```", *items])


def escaped(words: str) -> str:
    """Words in which nothing means something to Markdown."""
    for sign in "\\*_[]<>{}|":
        words = words.replace(sign, f"\\{sign}")
    return words
