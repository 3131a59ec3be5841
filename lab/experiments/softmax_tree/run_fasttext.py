"""fastText from the same file; or, with a `source`, a model that was trained before, quantised.

Its `predict` does not work with numpy 2, so what that calls is called here. For many texts it has a call of its own,
which takes as long as one call for each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fasttext
import numpy as np

from lab.benchmarks.rivals.protocol import Contender, K, best_of_lists, serve

LABEL = "__label__"


class FastText(Contender):
    """Parameters are those of `train_supervised`, or a `source` beside the model and `how` to quantise it."""

    def read(self, data: Path) -> Any:
        return data / "train.txt"

    def fit(self, rows: Any, model: Path) -> None:
        if "source" in self.params:
            self.load(model.parent / self.params["source"])
            self.model.quantize(retrain=False, **self.params["how"])
        else:
            self.model = fasttext.train_supervised(input=str(rows), verbose=0, **self.params)

    def save(self, model: Path) -> None:
        self.model.save_model(str(model / "model"))

    def load(self, model: Path) -> None:
        self.model = fasttext.load_model(str(model / "model"))

    def ask(self, data: Path) -> Any:
        with (data / "test.txt").open(encoding="utf-8") as lines:
            texts = [" ".join(word for word in line.split() if not word.startswith(LABEL)) for line in lines]
        return np.array([f"{text}\n" for text in texts], object)

    def batch(self, X: Any) -> Any:
        return [self.one(row) for row in X]

    def one(self, row: Any) -> Any:
        return self.model.f.predict(row, K, 0.0, "strict")

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return best_of_lists([[(int(name.removeprefix(LABEL)), score) for score, name in row] for row in answer])

    def extra(self, model: Path) -> dict[str, float]:
        return {"n_features": len(self.model.get_words())}


if __name__ == "__main__":
    serve(FastText)
