"""How settings were chosen: each is trained on part of the training rows and scored on the rest, never on test rows.

Usage: python -m lab.benchmarks.choose DATA [DATA …] --settings default,accurate --try 'max_leaf=200 bias=0.3' --seeds 3

DATA as in compare.py. `--try` may come several times; each is a `TreeClassifier` (or `--try 'model=OneVsRest …'`)
with the parameters it names. Figures are means over seeds, with the spread of P@1 in brackets.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from lab.benchmarks.compare import pick
from lab.benchmarks.rivals import environments
from lab.benchmarks.rivals.contenders import SETTINGS
from lab.benchmarks.rivals.prepared import prepare
from labelwood.metrics import evaluate

HELD_OUT = 6  # one row in six, in a random order


def main() -> None:
    """Prints one table a dataset."""
    options = parse()
    chosen = {name: entry.params for name, entry in pick(SETTINGS, options.settings, "setting").items()}
    chosen |= {text: parameters(text) for text in options.tries}
    for data in options.data:
        parts = split(prepare(data, options.cache))
        print(f"\n## {data.resolve().name}: {parts[0].shape[0]} rows to learn from, {parts[2].shape[0]} held out\n")
        print("| setting | CPU s | P@1 | P@3 | P@5 |\n|---|---|---|---|---|")
        for name, params in chosen.items():
            runs = np.array([score(params, seed, parts) for seed in range(options.seeds)])
            means, spread = runs.mean(axis=0), np.ptp(runs[:, 1])
            print(
                f"| {name} | {means[0]:.2f} | {means[1]:.2f} (±{spread / 2:.2f}) | {means[2]:.2f} | {means[3]:.2f} |",
                flush=True,
            )


def parse() -> argparse.Namespace:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, nargs="+")
    arguments.add_argument(
        "--settings", default="default", help=f"with commas, all or none; there are {', '.join(SETTINGS)}"
    )
    arguments.add_argument("--try", dest="tries", action="append", default=[], metavar="NAME=VALUE …")
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--cache", type=Path, default=environments.default_cache())
    return arguments.parse_args()


def parameters(text: str) -> dict[str, Any]:
    """`max_leaf=200 tree=balanced`: values are JSON where they can be read so, else text."""
    found: dict[str, Any] = {"model": "TreeClassifier"}
    for pair in text.split():
        name, _, value = pair.partition("=")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def split(folder: Path) -> tuple[Any, Any, Any, Any]:
    """Features and labels to learn from, and those held out."""
    X, Y = (sparse.load_npz(folder / f"{part}.npz").tocsr() for part in ("X.trn", "Y.trn"))
    held_out = np.random.default_rng(0).permutation(X.shape[0]) % HELD_OUT == 0
    return X[~held_out], Y[~held_out], X[held_out], Y[held_out]


def score(params: dict[str, Any], seed: int, parts: tuple[Any, Any, Any, Any]) -> list[float]:
    """CPU seconds of training and P@1, 3, 5 on the rows held out."""
    X, Y, X_held_out, Y_held_out = parts
    model = getattr(lw, params["model"])(
        **{name: value for name, value in params.items() if name != "model"}, seed=seed
    )
    start = time.process_time()
    model.fit(X, Y)
    seconds = time.process_time() - start
    found = evaluate(model.predict_topk(X_held_out, 5), Y_held_out, metrics=("P",))
    return [seconds, found["P@1"], found["P@3"], found["P@5"]]


if __name__ == "__main__":
    main()
