"""Figures of runs, a file each, so that an experiment that is run again makes only what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab.experiments.common.made import made_now
from labelwood.tuning.folder import write_json


class Kept:
    """A folder of figures; those of other settings than are asked for do not count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def known(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
        """The figures of a run, None if it has still to be made."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            return None
        record = json.loads(file.read_text("utf-8"))
        figures: dict[str, Any] = record["figures"]
        return figures if record["settings"] == json.loads(json.dumps(settings)) else None

    def keep(self, name: str, settings: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
        """Writes down a run."""
        record = {"made": made_now(), "settings": settings, "figures": figures}
        write_json(self.folder / f"{name}.json", record)

    def figures(self, name: str, settings: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Those of a run, which is made unless they are known."""
        found = self.known(name, settings)
        if found is None:
            found = measure()
            self.keep(name, settings, found)
        return found
