"""How long one query takes on one core: the shares of tokens, encoder and index.

Usage: python -m lab.benchmarks.dual_encoder_latency CHECKPOINT TEXTS [--labels 100000] [--queries 100] [--k 10]
       [--backends torch onnx onnx-int8] [--json FILE] [--table FILE]

CHECKPOINT is the folder of an encoder, TEXTS a file with a text a line or JSON lines with a key "text", plain or .xz.
Prototypes are drawn at random, of unit length. Everything takes turns query by query, so that a busy machine disturbs
all alike; CPU time is given too, since it does not count what others take. label_search.py compares ways to search.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
from pathlib import Path

import numpy as np

from labelwood import _native
from labelwood.dual_encoder import PrimeClassifier
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.settings import as_settings
from labelwood.store import State

WARM_UP = 5
NO_LIMIT = (np.empty(0, np.uint8), -np.inf)


def read_texts(path, n):
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [
            json.loads(line)["text"] if line.startswith("{") else line.strip()
            for line, _ in zip(lines, range(n), strict=False)
        ]


def unit_vectors(n, dim, seed):
    rng = np.random.default_rng(seed)
    out = np.empty((n, dim), np.float32)
    for at in range(0, n, 65536):
        block = rng.normal(size=(min(65536, n - at), dim))
        out[at : at + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return out


def classifier_of(encoder, settings, prototypes, backend):
    """A classifier that has learned nothing but has an encoder and prototypes, as a saved one does."""
    none = np.empty((0, encoder.dim), np.float32)
    state = State(
        kind="prime",
        params={"settings": settings.model_dump(mode="json")},
        fitted={"n_labels": len(prototypes), "labels_per_row": 1, "history": []},
        arrays={"prototypes": prototypes, "free_vectors": none, "centres": none},
        parts={"encoder": encoder.state()},
    )
    return PrimeClassifier.from_state(state).set_params(backend=backend, device="cpu", n_threads=1)


class Clock:
    """Wall and CPU milliseconds of named steps, without the first few of each."""

    def __init__(self, warm_up):
        self.seen, self.warm_up = {}, warm_up

    def __call__(self, name, work):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        took = time.perf_counter() - wall, time.process_time() - cpu
        self.seen.setdefault(name, []).append([1e3 * t for t in took])
        return result

    def figures(self):
        return {name: summary(np.array(times[self.warm_up :])) for name, times in self.seen.items()}


def summary(times):
    p50, p99 = np.percentile(times[:, 0], [50, 99])
    return {"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "cpu_ms": round(float(np.median(times[:, 1])), 3)}


def ours(texts, models, prototypes, args):
    """Figures of each step, and how many tokens queries have."""
    clock, tokenizer = Clock(WARM_UP), next(iter(models.values())).network_.encoder.tokenizer
    index = PrototypeIndex(prototypes, n_threads=1)
    lengths = []
    for text in [*texts[:WARM_UP], *texts]:
        lengths.append(len(clock("tokens", lambda t=text: tokenizer.encode([t], args.max_tokens))[0]))
        for backend, model in models.items():
            clock(f"{backend}: whole query", lambda t=text, m=model: m.predict_topk([t], args.k))
            vector = clock(f"{backend}: tokens and encoder", lambda t=text, m=model: m.embed([t]))
        found = clock("index", lambda v=vector: index.topk(v, args.k))
        scan = clock(
            "scan of floats", lambda v=vector: _native.dense_centroid_topk(v, prototypes, args.k, *NO_LIMIT, 1)
        )
        if not (np.array_equal(found.ids, scan[0]) and np.array_equal(found.scores, scan[1])):
            raise SystemExit("the index and the scan of floats differ")
    return clock.figures(), lengths[WARM_UP:]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("checkpoint")
    arguments.add_argument("texts", type=Path)
    arguments.add_argument("--labels", type=int, default=100_000)
    arguments.add_argument("--queries", type=int, default=100)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--max-tokens", type=int, default=32)
    arguments.add_argument("--backends", nargs="+", default=["torch", "onnx", "onnx-int8"])
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--table", type=Path, help="the figures in Markdown, for lab/benchmarks/page.py")
    args = arguments.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    encoder_settings = {"checkpoint": args.checkpoint, "max_tokens": args.max_tokens}
    settings = as_settings({"encoder": encoder_settings, "prototypes": {"kind": "text"}})
    encoder = load_encoder(settings.encoder)
    prototypes = unit_vectors(args.labels, encoder.dim, seed=0)
    models = {backend: classifier_of(encoder, settings, prototypes, backend) for backend in args.backends}
    figures, lengths = ours(read_texts(args.texts, args.queries), models, prototypes, args)
    median = int(np.median(lengths))
    print(f"{args.labels:,} labels × {encoder.dim}; {len(lengths)} queries of {median} tokens (median), k={args.k}")
    for name, figure in figures.items():
        print(f"  {name:<32}" + "".join(f"{key} {value:9.3f}   " for key, value in figure.items()))
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(
            json.dumps({"labels": args.labels, "median_tokens": median, "figures": figures}, indent=1) + "\n"
        )
    if args.table:
        args.table.write_text(markdown(figures, args.backends))
    return 0


def markdown(figures, backends):
    """Milliseconds of each step, and its share of the whole query of each way to encode."""
    lines = [["ms", "p50", "p99", "CPU time"], ["---"] * 4]
    for name, each in figures.items():
        lines.append([name, *(f"{each[key]:.1f}" for key in ("p50_ms", "p99_ms", "cpu_ms"))])
    for backend in backends:
        share = figures["index"]["p50_ms"] / figures[f"{backend}: whole query"]["p50_ms"]
        lines.append([f"{backend}: share of the index", f"{share:.0%}", "", ""])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
