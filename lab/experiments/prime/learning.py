"""Dual encoders on a dataset: every method with the same encoder and epochs, and rates by the size of batches."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import labelwood as lw
from lab.experiments.common.kept import Kept
from lab.experiments.common.parts import known
from lab.experiments.prime.corpora import MAX_TOKENS, Corpus
from labelwood.arrays.topk import padded
from labelwood.dual_encoder import PrimeSettings, load_settings

CONFIGS = Path(__file__).parent / "configs"
EPOCHS = {"wordnet": 10, "debian_deps": 12, "bookcrossing": 8, "loc_lcsh": 4}
HELD_OUT = 0.05  # of the training rows, of every method: they choose sizes of batches, and calibrate scores
# Learning rates by the size of batches: they rise with its square root.
RATES = {256: 3e-4, 1024: 7e-4, 2048: 1e-3}
OURS = "anchored_lite"
# Whose size of batches each configuration takes; variants take that of what they are variants of. Those that are not
# here, as DEXML with all labels in each step, take the largest.
TUNED = {
    "dpr": "dpr",
    "ngame": "ngame",
    "dexa": "dexa",
    "prime_lite": "prime_lite",
    "prime": "prime_lite",
    "anchored_lite": "anchored_lite",
    "anchored": "anchored_lite",
}


class Trials:
    """Trains what is asked for and not known; models are saved for those who go on with them."""

    def __init__(self, corpus: Corpus, kept: Kept, given: argparse.Namespace) -> None:
        self.corpus, self.kept, self.given = corpus, kept, given
        self.epochs: int = given.epochs or EPOCHS[corpus.name]

    def settings(self, config: str, *, seed: int, **changes: Any) -> PrimeSettings:
        """Those of a configuration, with what all runs share."""
        epochs = self.epochs
        base = load_settings(CONFIGS / f"{config}.toml")
        own = base.batches.double_at  # DEXA's; where there are none, the trainer does the same with the paper's
        common = {
            "encoder": {
                "checkpoint": str(self.given.checkpoint),
                "pooling": "mean",
                "max_tokens": MAX_TOKENS[self.corpus.name],
            },
            "batches": {"double_at": own and [max(1, round(at * epochs / base.training.epochs)) for at in own]},
            "training": {
                "epochs": epochs,
                "seed": seed,
                "warm_up": 0.1,
                "compile": self.given.compile,
                "held_out": HELD_OUT,
                "evaluate_every": epochs,
            },
        }
        return base.with_changes(common).with_changes(changes)

    def model(self, name: str, settings: PrimeSettings) -> lw.PrimeClassifier:
        """A trained model: the one that was saved, if there is one of these settings."""
        folder = self.kept.folder / "models" / name
        if self.kept.known(name, _comparable(settings)) is not None and folder.exists():
            found: lw.PrimeClassifier = lw.load(folder)
            found.device = self.given.device
            return found
        train = self.corpus.train
        model = lw.PrimeClassifier(
            settings=settings, device=self.given.device, cache=self.given.output / "tokens", verbose=True
        )
        return model.fit(train.texts, train.Y, train.label_texts, filters=train.filters)

    def run(self, name: str, settings: PrimeSettings, *, save: bool = False) -> dict[str, Any]:
        """What a configuration reaches on test rows, and what it takes."""

        def measure() -> dict[str, Any]:
            began = perf_counter()
            model = self.model(name, settings)
            seconds = perf_counter() - began
            if save:
                folder = self.kept.folder / "models" / name
                shutil.rmtree(folder, ignore_errors=True)
                model.save(folder)
            top = model.predict_topk(self.corpus.test.texts, self.corpus.n_answers())
            return {**self.corpus.figures(top), "seconds": seconds, "history": model.history_}

        return self.kept.figures(name, _comparable(settings), measure)

    def method(self, config: str, seed: int, size: int | None = None) -> dict[str, Any]:
        """A method with batches of a size, or that which was chosen; others go on with our default, which is saved."""
        changes = self.tuned(config) if size is None else sized(size)
        name = f"{config}-{changes['batches']['size']}-seed-{seed}"
        return self.run(name, self.settings(config, seed=seed, **changes), save=config == OURS)

    def tuned(self, config: str) -> dict[str, dict[str, Any]]:
        """The size of batches that was chosen for a configuration on this dataset, and its learning rate."""
        chosen = known(self.given.output, "tuning").get(self.corpus.name, {}).get(TUNED.get(config), {})
        return sized(self.given.batch or chosen.get("size", max(RATES)))

    def zero_shot(self) -> dict[str, float]:
        """What the encoder reaches as it comes."""
        return self.as_it_comes("zero-shot", self.corpus.figures)

    def as_it_comes(self, name: str, figures: Callable[[lw.TopK], dict[str, float]]) -> dict[str, float]:
        """Figures of the answers that the encoder gives to test rows as it comes."""

        def measure() -> dict[str, float]:
            import torch  # noqa: PLC0415  # only here, as tables are made without it

            from labelwood.dual_encoder.answering.index import PrototypeIndex  # noqa: PLC0415
            from labelwood.dual_encoder.data.tokens import Tokens  # noqa: PLC0415
            from labelwood.dual_encoder.model.embedding import embed_texts  # noqa: PLC0415
            from labelwood.dual_encoder.model.encoder import unit  # noqa: PLC0415
            from labelwood.dual_encoder.model.pretrained import load_encoder  # noqa: PLC0415

            settings = self.settings("dpr", seed=0).encoder
            device = torch.device(self.given.device or ("cuda" if torch.cuda.is_available() else "cpu"))
            encoder = load_encoder(settings).to(device)
            texts, labels = (
                unit(
                    embed_texts(encoder, Tokens.of(t, encoder.tokenizer, max_tokens=settings.max_tokens), device=device)
                )
                for t in (self.corpus.test.texts, self.corpus.label_texts)
            )
            index = PrototypeIndex(labels.cpu().numpy(), device=device if device.type == "cuda" else None)
            k = self.corpus.n_answers()
            return figures(padded(index.topk(texts.cpu().numpy(), k), k))

        return self.kept.figures(name, {"checkpoint": Path(self.given.checkpoint).name}, measure)


def sized(size: int) -> dict[str, dict[str, Any]]:
    """Changes of settings for batches of a size."""
    rate = RATES.get(size, round(max(RATES.values()) * (size / max(RATES)) ** 0.5, 5))
    return {"training": {"learning_rate": rate}, "batches": {"size": size}}


def _comparable(settings: PrimeSettings) -> dict[str, Any]:
    """Settings without where the encoder lies, and without classifiers, which these trainings do not have."""
    found: dict[str, Any] = settings.model_dump(mode="json", exclude={"classifiers"})
    found["encoder"]["checkpoint"] = Path(settings.encoder.checkpoint).name
    return found
