"""PECOS XR-Linear: PIFA vectors, hierarchical k-means, one chain of layers; without `nr_splits`, one-vs-rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

from lab.benchmarks.rivals.protocol import BEAM, TRAIN_THREADS, Contender, K, best_of_matrix, serve


class Pecos(Contender):
    """Its own defaults, as its documentation trains it."""

    def fit(self, rows: Any, model: Path) -> None:
        X, Y = rows
        Y = Y.tocsc()
        settings: dict[str, Any] = {"threads": TRAIN_THREADS, "C": None}
        if splits := self.params.get("nr_splits"):
            vectors = LabelEmbeddingFactory.create(Y, X, method="pifa")
            settings["C"] = Indexer.gen(
                vectors, indexer_type="hierarchicalkmeans", nr_splits=splits, max_leaf_size=100, threads=TRAIN_THREADS
            )
            settings |= {"nr_splits": splits, "negative_sampling_scheme": self.params.get("negatives", "tfn")}
        self.model = XLinearModel.train(X, Y, **settings)

    def save(self, model: Path) -> None:
        self.model.save(str(model))

    def load(self, model: Path) -> None:
        layout = self.params.get("layout", "BINARY_SEARCH_CHUNKED")
        self.model = XLinearModel.load(str(model), is_predict_only=True, weight_matrix_type=layout)

    def batch(self, X: Any) -> Any:
        return self.model.predict(X, only_topk=K, beam_size=BEAM, threads=1)

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return best_of_matrix(answer.tocsr())


if __name__ == "__main__":
    serve(Pecos)
