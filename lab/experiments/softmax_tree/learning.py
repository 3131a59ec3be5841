"""Models trained here, in this process, from features that are made once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import labelwood as lw
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from lab.experiments.softmax_tree.corpora import FORMAT, Corpus
from lab.experiments.softmax_tree.settings import model, settings, vectorizer
from labelwood.metrics import evaluate
from labelwood.trees.depth import expected_depth

K = 5


class Trials:
    """Models of one corpus; what was measured before is not measured again."""

    def __init__(self, corpus: Corpus, kept: Kept, ngrams: int = 1) -> None:
        self.corpus, self.kept, self.ngrams = corpus, kept, ngrams

    @cached_property
    def rows(self) -> Rows:
        """Read when the first model has to be trained."""
        train = lw.read(self.corpus.folder / "train.txt", format=FORMAT)
        test = lw.read(self.corpus.folder / "test.txt", format=FORMAT).align(train.labels)
        words = vectorizer(settings(self.ngrams))
        return Rows(words.fit_transform(train.texts), train.Y, words.transform(test.texts), test.Y)

    def figures(self, name: str, given: Mapping[str, Any], n_threads: int, **facts: Any) -> dict[str, Any]:
        """Of a model with the settings `given`; `facts` are what else its figures depend on."""
        return self.kept.figures(name, {**given, **facts}, lambda: figures(self.rows, given, n_threads))


def figures(rows: Rows, given: Mapping[str, Any], n_threads: int) -> dict[str, Any]:
    """Of a model: precision, expected depth, nodes that a search opens, what training took, and its bytes' digest."""
    wall, cpu = time.perf_counter(), time.process_time()  # the latter of all threads
    trained = model(given, n_threads).fit(rows.X_train, rows.Y_train)
    cost = {"train_cpu_s": time.process_time() - cpu, "train_wall_s": time.perf_counter() - wall}
    top = trained.predict_topk(rows.X_test, K)
    return {
        **evaluate(top, rows.Y_test, metrics=("P",), n_threads=n_threads),
        **expected_depth(trained.trained_.tree, top),
        **trained.search_costs(rows.X_test, K),
        **cost,
        "digest": digest(trained),
    }


def digest(trained: lw.SoftmaxTreeClassifier) -> str:
    """Differs if any byte of what was learned does."""
    found = hashlib.sha256()
    for name, array in sorted(trained.state().arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()
