"""Labelwood from a file of texts; or, with a `source`, a model that was trained before, compressed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from lab.benchmarks.rivals.protocol import TRAIN_THREADS, Contender, K, serve
from lab.experiments.softmax_tree.settings import model as unfitted
from lab.experiments.softmax_tree.settings import vectorizer
from labelwood.trees.depth import expected_depth


class Labelwood(Contender):
    """Parameters are `settings`, or a `source` beside the model and `how` to compress it."""

    def read(self, data: Path) -> Any:
        _ = lw.read, lw.TextClassifier, lw.SoftmaxTreeClassifier  # loads modules, which is no part of training
        lw.read(data / "test.txt", format="fasttext")  # so does reading, the first time
        return data / "train.txt"

    def fit(self, rows: Any, model: Path) -> None:
        if "source" in self.params:
            self.model = lw.load(model.parent / self.params["source"]).compressed(**self.params["how"])
            return
        classifier = lw.TextClassifier(
            model=unfitted(self.params, TRAIN_THREADS), vectorizer=vectorizer(self.params), n_threads=TRAIN_THREADS
        )
        self.model = classifier.fit_dataset(lw.read(rows, format="fasttext"))

    def save(self, model: Path) -> None:
        self.model.save(model)

    def load(self, model: Path) -> None:
        self.model = lw.load(model)
        self.model.model_.n_threads = self.model.vectorizer_.n_threads = 1

    def ask(self, data: Path) -> Any:
        self.texts = np.array(lw.read(data / "test.txt", format="fasttext").texts.to_pylist(), object)
        return self.texts

    def batch(self, X: Any) -> Any:
        return self.model.predict_topk(X, K)

    def one(self, row: Any) -> Any:
        return self.model.predict_topk([row], K)

    def top(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.array([*map(int, self.model.labels_), -1], np.int32)
        return numbers[answer.ids], answer.scores

    def extra(self, model: Path) -> dict[str, float]:
        inner = self.model.model_
        X = self.model.features(lw.Dataset(texts=self.texts))
        depths = expected_depth(inner.trained_.tree, inner.predict_topk(X, K))
        return {**depths, **inner.search_costs(X, K), "n_features": inner.trained_.embeddings.n_rows}


if __name__ == "__main__":
    serve(Labelwood)
