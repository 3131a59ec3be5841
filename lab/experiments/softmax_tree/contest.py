"""Contenders in processes of their own, each measured the same way, their figures kept."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lab.benchmarks.rivals.protocol import TRAIN_THREADS
from lab.benchmarks.rivals.stages import run_stage
from lab.experiments.common.kept import Kept
from lab.experiments.softmax_tree.corpora import Corpus
from labelwood.arrays.topk import TopK
from labelwood.metrics import evaluate
from labelwood.trees import huffman
from labelwood.trees.depth import expected_depth

STAGES = {"train": TRAIN_THREADS, "predict": 1}  # with so many threads


@dataclass(frozen=True)
class Contest:
    """One corpus, the folder for figures and models, and the Python that each library runs in."""

    corpus: Corpus
    kept: Kept
    pythons: Mapping[str, Path]
    timeout: float

    def figures(
        self, name: str, library: str, params: Mapping[str, Any], *, keep_model: bool = False
    ) -> dict[str, Any]:
        """Those of a contender, which runs unless they are known; what it has learned may stay in `model`."""
        found = self.kept.known(name, {"library": library, **params})
        if found is None:
            found = self._run(name, library, params)
            if not keep_model:
                self.forget(name)
        return found

    def make_model(self, name: str, library: str, params: Mapping[str, Any]) -> None:
        """Runs a contender again if its model is gone."""
        if not self.model(name).is_dir():
            self._run(name, library, params)

    def known(self, name: str, library: str, params: Mapping[str, Any]) -> bool:
        """Whether a contender has been measured."""
        return self.kept.known(name, {"library": library, **params}) is not None

    def model(self, name: str) -> Path:
        """Where the model of a contender lies."""
        return self.kept.folder / f"{name}.model"

    def forget(self, name: str) -> None:
        """Removes a contender's model."""
        shutil.rmtree(self.model(name), ignore_errors=True)

    def _run(self, name: str, library: str, params: Mapping[str, Any]) -> dict[str, Any]:
        out = self.kept.folder / f"{name}.run"
        unfinished = Path(f"{out}.model")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        sys.stderr.write(f"  {name}\n")
        figures: dict[str, Any] = {}
        for stage, threads in STAGES.items():
            runner = [self.pythons[library], "-m", f"lab.experiments.softmax_tree.run_{library}"]
            command = [*runner, stage, self.corpus.folder, unfinished, out, json.dumps(params)]
            others = run_stage(stage, command, Path(f"{out}.{stage}.log"), threads, self.timeout)
            figures |= json.loads(Path(f"{out}.json").read_text()) | {f"{stage}_others_cores": others}
        figures = {**self._judged(out), **figures}
        self.kept.keep(name, {"library": library, **params}, figures)
        self.forget(name)
        unfinished.rename(self.model(name))
        for file in self.kept.folder.glob(f"{out.name}.*"):
            file.unlink()
        return figures

    def _judged(self, out: Path) -> dict[str, float]:
        """Precision, and depth in a Huffman tree of the same frequencies, which is how fastText arranges labels."""
        with np.load(f"{out}.npz") as best:
            top = TopK(best["ids"], best["scores"])
        seen = np.flatnonzero(self.corpus.frequencies)
        places = np.full(len(self.corpus.frequencies) + 1, -1, np.int32)
        places[seen] = np.arange(len(seen))
        depths = expected_depth(huffman(self.corpus.frequencies[seen]), TopK(places[top.ids], top.scores))
        return {**evaluate(top, self.corpus.truth, metrics=("P",)), **depths}
