"""The settings of dual encoders as Markdown tables: keys, types, defaults, and the comments beside them."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel

from labelwood.dual_encoder import PrimeSettings

SIGNS = {Ge: ("ge", "at least"), Gt: ("gt", "above"), Le: ("le", "at most"), Lt: ("lt", "below")}


def text() -> str:
    """A section for each table of the settings."""
    return "\n\n".join(section(name, type(field.default)) for name, field in PrimeSettings.model_fields.items())


def section(name: str, model: type[BaseModel]) -> str:
    """What a table is about, and a line for each of its keys."""
    about = (inspect.getdoc(model) or "").partition("\n\n")[0]
    said = comments(model)
    lines = [
        f"| `{key}` | {values(field)} | `{shown(field.default)}` | {said.get(key, '')} |"
        for key, field in model.model_fields.items()
    ]
    head = "| key | values | default | what it is |\n| --- | --- | --- | --- |"
    return "\n".join([f"## {name}", "", about, "", head, *lines])


def comments(model: type[BaseModel]) -> dict[str, str]:
    """The comment behind each key, and what stands above it."""
    found: dict[str, str] = {}
    above: list[str] = []
    key = None
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(model)).readline):
        begins = not token.line[: token.start[1]].strip()
        if token.type == tokenize.NAME and begins and token.string in model.model_fields:
            key = token.string
            if above:
                found[key] = " ".join(above)
            above = []
        elif token.type == tokenize.COMMENT:
            words = token.string.lstrip("# ").strip()
            if begins:
                above.append(words)
            elif key:
                found[key] = "; ".join(filter(None, (words, found.get(key))))
    return {key: words.replace("|", "\\|") for key, words in found.items()}


def values(field: Any) -> str:
    """What a key may be, in words."""
    return limited(kinds(field.annotation), field.metadata)


def limited(words: str, metadata: Iterable[Any]) -> str:
    """The words, and the limits that annotations name."""
    limits = [(SIGNS[type(each)], each) for each in metadata if type(each) in SIGNS]
    return ", ".join([words, *(f"{said} {getattr(each, name):g}" for (name, said), each in limits)])


def kinds(annotation: Any) -> str:
    """A type, in words."""
    if get_origin(annotation) is Literal:
        return ", ".join(f'`"{value}"`' for value in get_args(annotation))
    if get_origin(annotation) is Annotated:
        return limited(kinds(annotation.__origin__), annotation.__metadata__)
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        return " or ".join(kinds(part) for part in get_args(annotation))
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "none"}
    return names.get(annotation, "list of whole numbers")


def shown(default: Any) -> str:
    """A default as TOML writes it."""
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else re.sub(r"e-0?", "e-", repr(default))
