"""LibMultiLabel's tree of linear classifiers. It gives dense rows × labels scores and has no format but pickle."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from libmultilabel import linear

from lab.benchmarks.rivals.protocol import BEAM, Contender, K, matrix, serve

BATCH_ROWS = 500  # rows of dense scores at a time


class LibMultiLabel(Contender):
    """`options` are those of LIBLINEAR."""

    def read(self, data: Path) -> Any:
        """Labels and rows that occur: its clustering fails on a label without rows."""
        np.random.seed(0)
        X, Y = matrix(data / "X.trn.npz").astype(np.float64), matrix(data / "Y.trn.npz")
        self.labels = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        Y = Y[:, self.labels].tocsr()
        kept = np.diff(Y.indptr) > 0
        return X[kept], Y[kept]

    def fit(self, rows: Any, model: Path) -> None:
        X, Y = rows
        self.model = linear.train_tree(Y, X, self.params["options"], verbose=False)

    def save(self, model: Path) -> None:
        (model / "model.pickle").write_bytes(pickle.dumps((self.model, self.labels), protocol=5))

    def load(self, model: Path) -> None:
        self.model, self.labels = pickle.loads((model / "model.pickle").read_bytes())

    def batch(self, X: Any) -> Any:
        parts = [self.best(X[i : i + BATCH_ROWS]) for i in range(0, X.shape[0], BATCH_ROWS)]
        return np.vstack([ids for ids, _ in parts]), np.vstack([scores for _, scores in parts])

    def best(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The K best of each row, sorted."""
        scores = self.model.predict_values(X, beam_width=BEAM)
        ids = np.argpartition(-scores, K, axis=1)[:, :K]
        found = np.take_along_axis(scores, ids, 1)
        order = np.argsort(-found, axis=1)
        return self.labels[np.take_along_axis(ids, order, 1)], np.take_along_axis(found, order, 1)

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        return answer


if __name__ == "__main__":
    serve(LibMultiLabel)
