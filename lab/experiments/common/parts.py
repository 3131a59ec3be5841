"""An experiment consists of parts; what one finds stands in a file of JSON, by datasets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from lab.experiments.common.made import made_now
from labelwood.tuning.folder import write_json


def known(output: Path, part: str) -> dict[str, Any]:
    """What a part has found so far, by datasets."""
    file = output / f"{part}.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def keep(output: Path, part: str, name: str, found: Any, order: Iterable[str]) -> None:
    """Adds what a part has found of one dataset; datasets stand in the order of all tables.

    `made.json` says where a part was last measured. A run that finds the same figures again leaves it as it is.
    """
    before = known(output, part)
    if before.get(name) != json.loads(json.dumps(found)):
        write_json(output / "made.json", {**known(output, "made"), part: made_now()})
    gathered = {**before, name: found}
    write_json(output / f"{part}.json", {each: gathered[each] for each in order if each in gathered})


def write_texts(output: Path, texts: Mapping[str, str]) -> None:
    """Writes tables and pictures by the names of their files."""
    for file, text in texts.items():
        (output / file).write_text(text, "utf-8")


def write_all(output: Path, parts: Iterable[str], experiment: str) -> None:
    """Tables and pictures of all that is known, made by the modules `tables` and `pictures` of the experiment."""
    # Imported only here, because matplotlib may be missing where a part is only measured.
    pictures, tables = (import_module(f"{experiment}.{name}") for name in ("pictures", "tables"))
    found = {part: known(output, part) for part in parts}
    for part, own in found.items():
        if own:
            write_texts(output, {f"{table}.md": text for table, text in getattr(tables, part)(own).items()})
    write_texts(output, pictures.draw(found))


def runs_folder(output: Path, name: str, rows: int | None) -> Path:
    """Where runs on a dataset are kept, apart from those on only so many rows of it."""
    return output / "runs" / (name if rows is None else f"{name}-{rows}")


def some_of(names: Mapping[str, Any]) -> Callable[[str], list[str]]:
    """Reads names with commas between them."""

    def read(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"there is no {name!r}; there are: {', '.join(names)}")
        return chosen

    return read


def numbers(text: str) -> list[float]:
    """Reads numbers with commas between them."""
    return [float(word) for word in text.split(",")]


def whole_numbers(text: str) -> list[int]:
    """The same for whole ones."""
    return [int(word) for word in text.split(",")]
