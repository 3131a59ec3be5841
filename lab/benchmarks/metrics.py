"""Times `evaluate` on generated data: rows a second and peak memory.

Run: python -m lab.benchmarks.metrics [rows] [labels]
"""

import resource
import sys
import time

import numpy as np
from scipy import sparse

from labelwood.arrays.threads import thread_count
from labelwood.arrays.topk import TopK
from labelwood.labels.propensities import inverse_propensities, label_frequencies
from labelwood.metrics import apply_filter, evaluate, per_bin

K = 5
LABELS_PER_ROW = 5


def generate(n_rows, n_labels):
    """Long-tailed labels; one in two predictions is a true label of its row."""
    rng = np.random.default_rng(0)
    labels = (n_labels ** rng.random((n_rows, LABELS_PER_ROW))).astype(np.int32) - 1
    indptr = np.arange(n_rows + 1, dtype=np.int64) * LABELS_PER_ROW
    marks = np.ones(labels.size, np.float32)
    Y = sparse.csr_array((marks, rng.permutation(n_labels).astype(np.int32)[labels.ravel()], indptr))
    Y.resize(n_rows, n_labels)
    ids = rng.integers(0, n_labels, (n_rows, K), dtype=np.int32)
    right = rng.random((n_rows, K)) < 0.5
    ids[right] = Y.indices.reshape(n_rows, LABELS_PER_ROW)[right]
    Y.sum_duplicates()
    return TopK(ids, np.zeros(ids.shape, np.float32)), Y


def report(name, n_rows, work):
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    print(f"{name:<40} {seconds:7.3f} s  {n_rows / seconds:12,.0f} rows/s  peak {peak_mib():.0f} MiB")


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    n_rows, n_labels = (int(a) for a in (sys.argv[1:] + ["1000000", "1000000"][len(sys.argv) - 1 :]))
    top, Y = generate(n_rows, n_labels)
    frequencies = label_frequencies(Y)
    inv = inverse_propensities(frequencies, n_rows)
    print(f"{n_rows:,} rows × {n_labels:,} labels, {Y.nnz:,} true, k={K}; peak {peak_mib():.0f} MiB so far")
    ranking = {"metrics": ("P", "nDCG", "PSP", "PSnDCG", "R"), "inv_propensity": inv}
    report("ranking metrics, 1 thread", n_rows, lambda: evaluate(top, Y, **ranking, n_threads=1))
    report(f"ranking metrics, {thread_count(None)} threads", n_rows, lambda: evaluate(top, Y, **ranking))
    report("all metrics, 1 thread", n_rows, lambda: evaluate(top, Y, inv_propensity=inv, n_threads=1))
    report(f"all metrics, {thread_count(None)} threads", n_rows, lambda: evaluate(top, Y, inv_propensity=inv))
    report("head, torso and tail", n_rows, lambda: per_bin(top, Y, frequencies, K, inv_propensity=inv))
    pairs = np.column_stack([np.arange(0, n_rows, 2), top.ids[::2, 0]])
    report("a filter of half as many pairs as rows", n_rows, lambda: apply_filter(top, pairs))


if __name__ == "__main__":
    main()
