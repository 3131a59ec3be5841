"""faiss on one thread: exact search, clusters of bytes and an HNSW graph, for vectors that label_search.py leaves.

Usage: python run_faiss.py FOLDER K WARM_UP
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import faiss
import numpy as np

NEIGHBOURS, BUILD_BREADTH = 32, 80
BREADTHS, PROBES = (32, 128), (8, 32, 128)


def figures(index, queries, exact, k, warm_up):
    """Wall and CPU milliseconds of a query at a time, and the share of the best that are found."""
    times, ids = [], []
    for query in [*queries[:warm_up], *queries]:
        wall, cpu = time.perf_counter(), time.process_time()
        ids.append(index.search(query[None], k)[1][0])
        times.append((1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)))
    walls, cpus = np.array(times[warm_up:]).T
    p50, p99 = np.percentile(walls, [50, 99])
    hits = [len(set(a) & set(b)) / k for a, b in zip(ids[warm_up:], exact, strict=True)]
    found = {"p50_ms": p50, "p99_ms": p99, "cpu_ms": np.median(cpus), "recall": np.mean(hits)}
    return {name: round(float(value), 3) for name, value in found.items()}


def built(index, prototypes):
    """CPU seconds to fill an index."""
    began = time.process_time()
    if not index.is_trained:
        index.train(prototypes)
    index.add(prototypes)
    return {"build_cpu_s": round(time.process_time() - began, 1)}


def main():
    folder, k, warm_up = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    prototypes, queries, exact = (np.load(folder / f"{name}.npy") for name in ("prototypes", "queries", "exact"))
    faiss.omp_set_num_threads(1)
    width, inner = prototypes.shape[1], faiss.METRIC_INNER_PRODUCT
    flat = faiss.IndexFlatIP(width)
    built(flat, prototypes)
    out = {"faiss IndexFlatIP": figures(flat, queries, exact, k, warm_up)}
    del flat
    n_clusters = 1 << round(math.log2(4 * math.sqrt(len(prototypes))))  # as many as we have
    coarse = faiss.IndexFlatIP(width)
    clusters = faiss.IndexIVFScalarQuantizer(coarse, width, n_clusters, faiss.ScalarQuantizer.QT_8bit, inner)
    clusters.cp.spherical = True
    cost = built(clusters, prototypes)
    for probes in PROBES:
        clusters.nprobe = probes
        name = f"faiss IVF of bytes, {probes} of {n_clusters:,} clusters"
        out[name] = {**figures(clusters, queries, exact, k, warm_up), **cost}
    del clusters
    graph = faiss.IndexHNSWFlat(width, NEIGHBOURS, inner)
    graph.hnsw.efConstruction = BUILD_BREADTH
    cost = built(graph, prototypes)
    for breadth in BREADTHS:
        graph.hnsw.efSearch = breadth
        out[f"faiss HNSW, efSearch {breadth}"] = {**figures(graph, queries, exact, k, warm_up), **cost}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
