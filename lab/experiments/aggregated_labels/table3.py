"""Table 3: the multi-instance network on bags of images, alone and with label embeddings that attend to instances.

τ is chosen by bags that are held out: whichever gives the least loss of what shares labels have in them. Nothing but
labels of bags is used for it. Needs torch; with a GPU all of it takes minutes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.experiments.aggregated_labels import datasets
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from labelwood.groups import MultiInstanceClassifier, merged_labels, random_groups
from labelwood.groups.multi_instance.bags import as_bags

SETS = ("mnist", "fashion_mnist")
SEEDS = 5
CLASSES = 10
SIZES = (4, 50)
LARGE = 16  # bags of more images than that are large
HELD_OUT = 6  # one bag in six chooses τ
TEMPERATURES = (0.5, 1.0, 2.0, 5.0)
# Of each way `Eagle`'s iterations, and whether vectors are centred.
WAYS: dict[str, tuple[int, bool] | None] = {
    "Deep-MIML": None,
    "EAGLE-0": (0, False),
    "EAGLE": (20, False),
    "EAGLE-0, centred": (0, True),
    "EAGLE, centred": (20, True),
}
# Small bags are many: larger steps take as long for a bag, and fewer are enough.
LEARNING: dict[str, dict[str, Any]] = {
    "small": {"epochs": 10, "batch_size": 64},
    "large": {"epochs": 20, "batch_size": 16},
}
PAPERS_FIGURES: dict[str, dict[str, dict[str, float]]] = {
    "mnist": {
        "4": {"Deep-MIML": 94.70, "EAGLE-0": 94.82, "EAGLE": 94.82},
        "50": {"Deep-MIML": 33.33, "EAGLE-0": 36.10, "EAGLE": 38.46},
    },
    "fashion_mnist": {
        "4": {"Deep-MIML": 84.70, "EAGLE-0": 84.89, "EAGLE": 85.09},
        "50": {"Deep-MIML": 19.00, "EAGLE-0": 27.62, "EAGLE": 28.65},
    },
}


def measure(name: str, kept: Kept, given: argparse.Namespace) -> dict[str, Any]:
    """For each size of bags and way: τ, how it was chosen, and accuracy on single test images, one a seed."""
    bench = Bench(datasets.images(given.data / name, given.rows), kept, given)
    return {str(size): {way: bench.way(size, way, seeds=given.seeds) for way in WAYS} for size in given.bag_sizes}


class Bench:
    """Networks on one dataset; what was measured before is not measured again."""

    def __init__(self, rows: Rows, kept: Kept, given: argparse.Namespace) -> None:
        self.rows, self.kept, self.device, self.threads = rows, kept, given.device, given.threads
        self.epochs = given.epochs
        self._embeddings: dict[Any, Any] = {}

    def way(self, size: int, way: str, seeds: int) -> dict[str, Any]:
        """What is known of one way."""
        choices = [] if WAYS[way] is None else self.choices(size, way)
        chosen = min(choices, key=lambda each: each["loss"])["temperature"] if choices else 0.0
        return {
            "temperature": chosen,
            "choices": choices,
            "accuracy": [self.accuracy(size, way, chosen, seed) for seed in range(seeds)],
        }

    def choices(self, size: int, way: str) -> list[dict[str, float]]:
        """Of each τ what held-out bags cost, and how many of their images are recognised, which is only shown."""
        return [
            self.kept.figures(
                f"table3-{size}-{_slug(way)}-choice-{temperature:g}",
                self._settings(size, way, temperature, seed=0),
                lambda temperature=temperature: self._held_out(size, way, temperature),  # type: ignore[misc]
            )
            for temperature in TEMPERATURES
        ]

    def accuracy(self, size: int, way: str, temperature: float, seed: int) -> float:
        """On single test images, in per cent."""

        def train() -> dict[str, float]:
            groups = random_groups(len(self.rows.Y_train), size, seed)
            model = self._train(size, way, temperature, seed=seed, groups=groups, used=np.ones(len(groups), bool))
            return {"accuracy": recognised(model, self.rows.X_test, self.rows.Y_test)}

        settings = self._settings(size, way, temperature, seed)
        return float(self.kept.figures(f"table3-{size}-{_slug(way)}-seed-{seed}", settings, train)["accuracy"])

    def _held_out(self, size: int, way: str, temperature: float) -> dict[str, float]:
        groups = random_groups(len(self.rows.Y_train), size, 0)
        learned = groups % HELD_OUT != 0
        model = self._train(size, way, temperature, seed=0, groups=groups, used=learned)
        X, y, others = self.rows.X_train[~learned], self.rows.Y_train[~learned], _renumbered(groups[~learned])
        return {
            "temperature": temperature,
            "loss": loss(model, X, y, others),
            "accuracy": recognised(model, X, y),
        }

    def _train(
        self, size: int, way: str, temperature: float, *, seed: int, groups: Any, used: Any
    ) -> MultiInstanceClassifier:
        X, y, own = self.rows.X_train[used], self.rows.Y_train[used], _renumbered(groups[used])
        counts = merged_labels(one_hot(y), own)
        vectors = self._vectors((size, seed, len(y)), way, X, own, counts)
        learning = LEARNING["large" if size > LARGE else "small"]
        if self.epochs is not None:
            learning = {**learning, "epochs": self.epochs}
        how = WAYS[way]
        model = MultiInstanceClassifier(
            label_embeddings=vectors,
            centre=how is not None and how[1],
            temperature=temperature,
            seed=seed,
            device=self.device,
            n_threads=self.threads,
            **learning,
        )
        return model.fit((X, own), counts)

    def _vectors(self, key: Any, way: str, X: Any, groups: Any, counts: Any) -> Any:
        """Label embeddings, made once for all that want them."""
        how = WAYS[way]
        if how is None:
            return None
        iterations, _ = how
        if (*key, iterations) not in self._embeddings:
            eagle = lw.Eagle(iterations=iterations, n_threads=self.threads).fit(X, groups, counts)
            self._embeddings = {k: v for k, v in self._embeddings.items() if k[0] == key[0]}
            self._embeddings[*key, iterations] = np.asarray(eagle.label_embeddings_)
        return self._embeddings[*key, iterations]

    def _settings(self, size: int, way: str, temperature: float, seed: int) -> dict[str, Any]:
        how, learning = WAYS[way], LEARNING["large" if size > LARGE else "small"]
        return {"eagle": how, "temperature": temperature, "seed": seed, **learning, "epochs_given": self.epochs}


def _slug(way: str) -> str:
    return way.lower().replace(", ", "-")


def _renumbered(groups: Any) -> Any:
    return np.unique(groups, return_inverse=True)[1]


def one_hot(y: Any) -> Any:
    """Rows × classes, sparse."""
    return sparse.csr_array((np.ones(len(y), np.float32), y, np.arange(len(y) + 1)), shape=(len(y), CLASSES))


def recognised(model: MultiInstanceClassifier, X: Any, y: Any) -> float:
    """Of single images, in per cent."""
    return 100 * float((model.predict_topk(X, 1).ids.ravel() == y).mean())


def loss(model: MultiInstanceClassifier, X: Any, y: Any, groups: Any) -> float:
    """Of bags: the cross-entropy of labels' shares, as in training."""
    bags = as_bags((X, groups))
    shares = merged_labels(one_hot(y), groups).toarray()
    shares /= shares.sum(axis=1, keepdims=True)
    scores = model.network_.bag_scores(bags, 0, len(bags)).astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    return float(-(shares * (scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))).sum(axis=1).mean())
