"""Times our text vectorizer against scikit-learn's on the same texts and checks that the matrices are equal.

python -m lab.benchmarks.vectorizer DATA.jsonl.xz [--rows N] [--repeats N] [--threads N] [--json]

The two take turns, so that a busy machine disturbs both alike. Exits with 1 where matrices differ by more
than 1e-6.
"""

from __future__ import annotations

import argparse
import json
import lzma
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from labelwood.text import TextVectorizer

TOLERANCE = 1e-6


def read_texts(path, limit):
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for _, line in zip(range(limit), lines, strict=False)]


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def vectorizers(args):
    ours = TextVectorizer(analyzer=args.analyzer, ngrams=tuple(args.ngrams), n_threads=args.threads)
    reference = TfidfVectorizer(
        analyzer=args.analyzer, ngram_range=tuple(args.ngrams), sublinear_tf=True, dtype=np.float32
    )
    return {"sklearn": reference, "labelwood": ours}


def largest_difference(a, b):
    return float(abs(a - b).max()) if a.shape == b.shape and a.nnz else float(a.shape != b.shape)


def compare(texts, args):
    """Seconds by step and vectorizer, and the largest difference seen."""
    seconds = {}
    difference = 0.0
    for _ in range(args.repeats):
        both = vectorizers(args)
        for step in ("fit_transform", "transform"):
            results = {}
            for name, vectorizer in both.items():
                work = getattr(vectorizer, step)
                results[name], wall, cpu = timed(lambda work=work: work(texts))
                seconds.setdefault(step, {}).setdefault(name, []).append((wall, cpu))
            difference = max(difference, largest_difference(*results.values()))
        same_terms = np.array_equal(*(v.get_feature_names_out() for v in both.values()))
        difference = difference if same_terms else float("inf")
    return seconds, difference


def one_text_microseconds(texts, args):
    vectorizer = vectorizers(args)["labelwood"].fit(texts[:1000])
    short = [" ".join(texts[0].split()[:20])]
    vectorizer.transform(short)
    return min(timed(lambda: vectorizer.transform(short))[1] for _ in range(2000)) * 1e6


def summary(seconds):
    rows = {}
    for step, by_name in seconds.items():
        medians = {name: np.median(times, axis=0) for name, times in by_name.items()}
        ratios = np.array(by_name["sklearn"]) / np.array(by_name["labelwood"])
        rows[step] = {
            **{
                f"{name}_{kind}_s": float(m[i]) for name, m in medians.items() for i, kind in enumerate(("wall", "cpu"))
            },
            "wall_ratio": statistics.median(ratios[:, 0]),
            "cpu_ratio": statistics.median(ratios[:, 1]),
        }
    return rows


def print_table(report):
    print(f"{report['rows']} texts, {report['megabytes']:.0f} MB; {report['threads'] or 'all'} threads")
    print(f"{'':20}{'sklearn':>10}{'labelwood':>12}{'ratio':>8}")
    for step, row in report["steps"].items():
        for kind in ("wall", "cpu"):
            theirs, ours = row[f"sklearn_{kind}_s"], row[f"labelwood_{kind}_s"]
            print(f"{step + ' ' + kind:20}{theirs:8.2f} s{ours:10.2f} s{row[f'{kind}_ratio']:8.1f}")
    print(f"largest difference {report['max_difference']:.1e}; one short text {report['one_text_us']:.0f} µs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=10**9)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--analyzer", default="word", choices=["word", "char", "char_wb"])
    parser.add_argument("--ngrams", type=int, nargs=2, default=[1, 1])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    texts = read_texts(args.data, args.rows)
    seconds, difference = compare(texts, args)
    report = {
        "rows": len(texts),
        "megabytes": sum(len(t.encode()) for t in texts) / 1e6,
        "threads": args.threads,
        "steps": summary(seconds),
        "max_difference": difference,
        "one_text_us": one_text_microseconds(texts, args),
    }
    if args.json:
        print(json.dumps(report))
    else:
        print_table(report)
    return 0 if difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
