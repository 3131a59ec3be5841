"""napkinXC: probabilistic label trees. Its `fit` writes the model to disk as it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import PLT

from lab.benchmarks.rivals.protocol import TRAIN_THREADS, Contender, K, best_of_lists, serve


class NapkinXC(Contender):
    """Parameters are those of its `PLT`."""

    def fit(self, rows: Any, model: Path) -> None:
        PLT(str(model), threads=TRAIN_THREADS, seed=1, **self.params).fit(*rows)

    def save(self, model: Path) -> None:
        """Done by `fit`."""

    def load(self, model: Path) -> None:
        self.model = PLT(str(model), threads=1, **self.params)
        self.model.load()

    def batch(self, X: Any) -> Any:
        return self.model.predict_proba(X, top_k=K)

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return best_of_lists(answer)


if __name__ == "__main__":
    serve(NapkinXC)
