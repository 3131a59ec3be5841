"""How long it takes to find the nearest of many labels on one core, and how many of the best are found.

Usage: python -m lab.benchmarks.label_search CHECKPOINT TEXTS QUERIES [--labels 100000 1000000] [--queries 1000]
       [--k 10] [--rivals] [--vectors FOLDER] [--json FILE] [--table FILE]

CHECKPOINT is the folder of an encoder. The vectors it gives to TEXTS stand for prototypes of labels, those it gives to
QUERIES ask for them; both are files with a text a line or JSON lines with a key "text", plain or .xz. Where fewer texts
than labels are there, the others are drawn around them. FOLDER keeps vectors for the next time. With --rivals, faiss
answers the same queries in an environment of its own, right afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import numpy as np

from lab.benchmarks.dual_encoder_latency import Clock, read_texts
from lab.benchmarks.rivals.environments import default_cache, make
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.dual_encoder.answering.label_groups import LabelGrouping
from labelwood.dual_encoder.data.tokens import Tokens
from labelwood.dual_encoder.model.embedding import embed_texts
from labelwood.dual_encoder.model.encoder import unit
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.settings import EncoderSettings

PROBES = (8, 32, 128)
WARM_UP = 20
AROUND = 0.5  # how far labels are drawn from a text's vector, which is of length 1


def vectors_of(path, n, args):
    """Unit vectors of the first `n` texts of a file that differ, from the folder if they are there."""
    made_of = (args.checkpoint.resolve(), args.max_tokens, path.resolve(), n)
    kept = args.vectors / f"{sha256(str(made_of).encode()).hexdigest()[:16]}.npy" if args.vectors else None
    if kept and kept.is_file():
        return np.load(kept)
    encoder = load_encoder(EncoderSettings(checkpoint=str(args.checkpoint), max_tokens=args.max_tokens))
    texts = list(dict.fromkeys(read_texts(path, n)))
    found = unit(embed_texts(encoder, Tokens.of(texts, encoder.tokenizer, max_tokens=args.max_tokens), device="cpu"))
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, found.numpy())
    return found.numpy()


def filled_up(vectors, n):
    """As many as are wanted: the first ones, or more that lie around them.

    They are drawn in the direction from one text to another, since texts differ in some directions more than in others.
    """
    rng, parts = np.random.default_rng(0), [vectors[:n]]
    while (missing := n - sum(map(len, parts))) > 0:
        around, one, other = (vectors[rng.permutation(len(vectors))[:missing]] for _ in range(3))
        # No text is drawn to itself: a direction of length 0 has no unit.
        apart = np.maximum(np.linalg.norm(other - one, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        drawn = around + AROUND * (other - one) / apart
        parts.append(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    return np.concatenate(parts)


def ours(prototypes, queries, k):
    """Figures of the exact index and of some clusters, and the exact answers."""
    began = time.process_time()
    clusters = LabelGrouping(prototypes).found()
    keep_to({max(cores())})
    index = PrototypeIndex(prototypes, clusters=clusters, n_threads=1)
    building, n_first = time.process_time() - began, min(WARM_UP, len(queries))
    clock = Clock(n_first)
    ways = {None: "exact", **{probes: f"{probes} of {clusters.max() + 1:,} clusters" for probes in PROBES}}
    found = {name: [] for name in ways.values()}
    for probes, name in ways.items():  # one after the other, as faiss: an exact search leaves nothing else in the cache
        for query in [*queries[:n_first], *queries]:
            found[name].append(clock(name, lambda q=query, n=probes: index.topk(q[None], k, probes=n)).ids[0])
    exact = np.array(found["exact"][n_first:])
    figures = clock.figures()
    for name in list(ways.values())[1:]:
        figures[name] |= {"recall": recall(found[name][n_first:], exact), "build_cpu_s": round(building, 1)}
    return figures, exact


def cores():
    """Those that this process may run on; some systems do not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}


def keep_to(some):
    """Runs on these cores alone, and so does what is started from now on."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, some)


def recall(found, exact):
    """The share of the exact answers that are found."""
    return round(float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, exact, strict=True)])), 3)


def rivals(prototypes, queries, exact, k):
    """What faiss takes for the same queries, in its own environment."""
    python = make("faiss", default_cache())
    script = Path(__file__).parent / "rivals" / "run_faiss.py"
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("prototypes", prototypes), ("queries", queries), ("exact", exact)):
            np.save(Path(folder) / f"{name}.npy", array)
        done = subprocess.run(
            [python, script, folder, str(k), str(min(WARM_UP, len(queries)))],
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(done.stdout)


def markdown(found):
    """A line for each way to search, for each number of labels."""
    lines = [["labels", "", "p50 ms", "p99 ms", "CPU ms", "recall", "CPU s to build"], ["---"] * 7]
    for n_labels, figures in found.items():
        for name, each in figures.items():
            cells = [f"{each[key]:.2f}" for key in ("p50_ms", "p99_ms", "cpu_ms")]
            built = f"{each['build_cpu_s']:.0f}" if "build_cpu_s" in each else ""
            lines.append([f"{n_labels:,}", name, *cells, f"{each.get('recall', 1.0):.3f}", built])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("checkpoint", type=Path)
    arguments.add_argument("texts", type=Path)
    arguments.add_argument("asking", type=Path, metavar="QUERIES")
    arguments.add_argument("--labels", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments.add_argument("--queries", type=int, default=1000)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--max-tokens", type=int, default=32)
    arguments.add_argument("--rivals", action="store_true")
    arguments.add_argument("--vectors", type=Path, metavar="FOLDER")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--table", type=Path, help="the figures in Markdown, for lab/benchmarks/page.py")
    args = arguments.parse_args()
    texts, queries = vectors_of(args.texts, max(args.labels), args), vectors_of(args.asking, args.queries, args)
    found, all_cores = {}, cores()
    for n_labels in args.labels:
        keep_to(all_cores)
        prototypes = filled_up(texts, n_labels)
        found[n_labels], exact = ours(prototypes, queries, args.k)
        if args.rivals:
            found[n_labels] |= rivals(prototypes, queries, exact, args.k)
    print(f"{len(texts):,} texts, {len(queries):,} queries, k={args.k}")
    print(markdown(found), end="")
    for path, content in ((args.json, json.dumps(found, indent=1) + "\n"), (args.table, markdown(found))):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
