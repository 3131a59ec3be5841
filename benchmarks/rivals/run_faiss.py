"""faiss: exact search and an HNSW graph on one thread, for the vectors that dual_encoder_latency.py leaves in a folder.

Usage: python run_faiss.py FOLDER K WARM_UP
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import faiss
import numpy as np

NEIGHBOURS, BUILD_BREADTH = 32, 80
BREADTHS = (64, 256)


def figures(search, queries, warm_up):
    """Answers, and wall and CPU milliseconds of a query at a time."""
    times, ids = [], []
    for query in queries:
        wall, cpu = time.perf_counter(), time.process_time()
        ids.append(search(query[None])[1][0])
        times.append((1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)))
    walls, cpus = np.array(times[warm_up:]).T
    p50, p99 = np.percentile(walls, [50, 99])
    found = {"p50_ms": round(p50, 3), "p99_ms": round(p99, 3), "cpu_ms": round(float(np.median(cpus)), 3)}
    return np.array(ids), found


def main():
    folder, k, warm_up = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    prototypes, queries = (np.load(folder / f"{name}.npy") for name in ("prototypes", "queries"))
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(prototypes.shape[1])
    flat.add(prototypes)
    exact, times = figures(lambda q: flat.search(q, k), queries, warm_up)
    out = {"faiss IndexFlatIP": times}
    graph = faiss.IndexHNSWFlat(prototypes.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = BUILD_BREADTH
    graph.add(prototypes)
    for breadth in BREADTHS:
        graph.hnsw.efSearch = breadth
        ids, times = figures(lambda q: graph.search(q, k), queries, warm_up)
        recall = np.mean([len(set(a) & set(b)) / k for a, b in zip(ids.tolist(), exact.tolist(), strict=True)])
        out[f"faiss HNSW, efSearch {breadth}"] = {**times, "recall": round(float(recall), 3)}
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
