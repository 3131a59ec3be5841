"""Labelwood: `model` names the class, the rest are its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from lab.benchmarks.rivals.protocol import TRAIN_THREADS, Contender, K, seconds, serve


class Labelwood(Contender):
    """Any model of the library."""

    def fit(self, rows: Any, model: Path) -> None:
        params = {name: value for name, value in self.params.items() if name != "model"}
        self.model = getattr(lw, self.params["model"])(**params, n_threads=TRAIN_THREADS).fit(*rows)

    def save(self, model: Path) -> None:
        self.model.save(model)

    def load(self, model: Path) -> None:
        self.model = lw.load(model)
        self.model.n_threads = 1

    def batch(self, X: Any) -> Any:
        return self.model.predict_topk(X, K)

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return answer.ids, answer.scores

    def extra(self, model: Path) -> dict[str, float]:
        return {"load_unverified_s": seconds(lambda path: lw.load(path, verify=False), model)}


if __name__ == "__main__":
    serve(Labelwood)
