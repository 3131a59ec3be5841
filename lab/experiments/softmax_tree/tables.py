"""What the parts found, as Markdown tables by their names: each a file, for a page takes them one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lab.experiments.common.markdown import count, signed, table
from lab.experiments.softmax_tree.corpora import NAMES
from lab.experiments.softmax_tree.figure4 import HUFFMAN, curves, way_of
from lab.experiments.softmax_tree.rival import CHOSEN, THEIRS
from lab.experiments.softmax_tree.small import WHOLE
from labelwood.tuning.summary import lam_text

PAPERS_CLAIM = ["the paper: Wiki-500K", "", "", "", "", "", "", "+40.6 %", "+6.5 %"]
Found = Mapping[str, Any]
Runs = Sequence[Mapping[str, float]]


def _mean(runs: Runs, name: str) -> float:
    return float(np.mean([run[name] for run in runs]))


def _with_spread(values: Sequence[float], digits: int = 2) -> str:
    """The mean, and the lowest and the highest where they differ."""
    low, high, mean = (f"{how(values):.{digits}f}" for how in (np.min, np.max, np.mean))
    return mean if low == high else f"{mean} ({low}–{high})"


RIVAL: dict[str, Callable[[Runs], str]] = {
    **{f"P@{k}": lambda runs, k=k: _with_spread([run[f"P@{k}"] for run in runs]) for k in (1, 3, 5)},  # type: ignore[misc]
    "CPU s to train": lambda runs: f"{_mean(runs, 'train_cpu_s'):.2f}",
    "wall s": lambda runs: f"{_mean(runs, 'train_wall_s'):.2f}",
    "µs a row, batch": lambda runs: f"{_mean(runs, 'batch_us'):.1f}",
    "µs, single text (p50)": lambda runs: f"{1e3 * _mean(runs, 'single_p50_ms'):.1f}",
    "MB": lambda runs: f"{_mean(runs, 'model_bytes') / 1e6:.1f}",
    "depth@1": lambda runs: f"{_mean(runs, 'depth@1'):.2f}",
}


def rival(found: Found) -> dict[str, str]:
    """A table for each dataset, and one of how λ was chosen."""
    made = {f"rival-{name}": _rival(ways) for name, ways in found.items()}
    lams = [choice["lam"] for choice in next(iter(found.values()))[0]["choices"]]
    lines = [
        [NAMES[name], *_way(way), *(f"{choice['P@1']:.2f}" for choice in way["choices"]), lam_text(way["lam"])]
        for name, ways in found.items()
        for way in ways
    ]
    header = ["", "epochs", "words", *(f"λ {lam_text(lam)}" for lam in lams), "chosen"]
    return {**made, "rival-choices": table(header, lines)}


def _rival(ways: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for way in ways:
        for contender, runs in _shown(way).items():
            lines.append([*_way(way), contender, *(show(runs) for show in RIVAL.values())])
    most = {
        stage: max(run[f"{stage}_others_cores"] for way in ways for runs in way["runs"].values() for run in runs)
        for stage in ("train", "predict")
    }
    return table(["epochs", "words", "", *RIVAL], lines) + (
        f"\n- Other processes used at most {most['train']:.2f} cores while contenders trained, {most['predict']:.2f} "
        f"while they predicted; {count(len(runs), 'seed')}.\n"
    )


def _shown(way: Mapping[str, Any]) -> dict[str, Runs]:
    """fastText with its best learning rate for each number of threads, and Labelwood's settings."""
    runs = way["runs"]
    whole = [name for name in runs if name.startswith(THEIRS) and len(runs[name]) == len(runs["huffman"])]
    shown = {}
    for threads in dict.fromkeys(name.split("-")[1] for name in whole):
        rates = {name.split("-")[2]: runs[name] for name in whole if name.split("-")[1] == threads}
        best = max(rates, key=lambda rate: _mean(rates[rate], "P@1"))
        shown[f"fastText, {threads} threads, learning rate {best}"] = rates[best]
    return {
        **shown,
        "Huffman's tree": runs["huffman"],
        "Huffman's tree, a label drawn": runs["huffman-drawn"],
        f"interpolated, λ {lam_text(way['lam'])}": runs[CHOSEN],
    }


def _way(way: Mapping[str, Any]) -> list[str]:
    return [str(way["epochs"]), "1" if way["ngrams"] == 1 else f"1–{way['ngrams']}"]


def small(found: Found) -> dict[str, str]:
    """A table for each dataset."""
    return {f"small-{name}": _small(result["points"]) for name, result in found.items()}


def _small(points: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for point in points:
        whole = next(p for p in points if (p["library"], p["way"]) == (point["library"], WHOLE))
        losses = [signed(point[f"P@{k}"] - whole[f"P@{k}"], 2) if point is not whole else "" for k in (1, 5)]
        size = f"{point['model_bytes'] / 1e6:.2f}"
        features = str(point["cutoff"] or whole["n_features"])
        lines.append(
            [
                point["library"],
                point["way"],
                features,
                size,
                f"{point['P@1']:.2f}",
                losses[0],
                f"{point['P@5']:.2f}",
                losses[1],
            ]
        )
    return table(["", "", "features", "MB", "P@1", "change", "P@5", "change"], lines)


def figure4(found: Found) -> dict[str, str]:
    """What the best λ changes against Huffman's tree, beside the paper's claim, and all points of each dataset."""
    made = {f"figure4-{name}": _points(points) for name, points in found.items()}
    lines = []
    for name, points in found.items():
        lines += [[NAMES[name], *way, *_best(own)] for way, own in curves(points).items()]
    header = ["", "epochs", "decay", "P@1, Huffman's tree", "depth@1", "best λ", "P@1", "change", "depth@1, change"]
    return {"figure4": table(header, [*lines, PAPERS_CLAIM]), **made}


def _best(points: Sequence[Mapping[str, Any]]) -> list[str]:
    base = next(point["mean"] for point in points if point["variant"] == HUFFMAN)
    best = max((point for point in points if point["variant"] != HUFFMAN), key=lambda point: point["mean"]["P@1"])
    changes = [100 * (best["mean"][name] / base[name] - 1) for name in ("P@1", "depth@1")]
    return [
        *(f"{base[name]:.2f}" for name in ("P@1", "depth@1")),
        lam_text(best["lam"]),
        f"{best['mean']['P@1']:.2f}",
        *(f"{signed(change)} %" for change in changes),
    ]


def _points(points: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for point in points:
        mean, tree = point["mean"], "Huffman" if point["variant"] == HUFFMAN else lam_text(point["lam"])
        lines.append(
            [
                *way_of(point),
                tree,
                *(" / ".join(f"{mean[f'{name}@{k}']:.2f}" for k in (1, 3, 5)) for name in ("P", "depth")),
                f"{point['spread']['P@1']:.2f}",
                f"{mean['nodes']:.1f}",
                f"{mean['train_cpu_s']:.2f}",
            ]
        )
    seeds = count(points[0]["seeds"], "seed")
    header = [
        "epochs",
        "decay",
        "λ",
        "P@1 / 3 / 5",
        "depth@1 / 3 / 5",
        f"spread of P@1, {seeds}",
        "nodes opened",
        "CPU s to train",
    ]
    return table(header, lines)


def threads(found: Found) -> dict[str, str]:
    """Threads, seeds and batches, a table each."""
    batches = [
        [
            NAMES[name],
            f"{batch['rows']}, {batch['entries']}"
            + " (its own)" * ([batch["rows"], batch["entries"]] == result["own_batch"]),
            _with_spread(batch["P@1"]),
            _with_spread(batch["P@5"]),
            f"{batch['train_cpu_s']:.2f}",
        ]
        for name, result in found.items()
        for batch in result["batches"]
    ]
    seeds = [
        [
            NAMES[name],
            str(len(result["seeds"])),
            *(f"{how(result['seeds']):.2f}" for how in (np.mean, np.min, np.max, np.std)),
        ]
        for name, result in found.items()
    ]
    return {
        "threads": table(["", "threads", "CPU s to train", "wall s", "bytes"], _thread_lines(found)),
        "threads-seeds": table(["", "seeds", "P@1", "lowest", "highest", "standard deviation"], seeds),
        "threads-batches": table(["", "rows, features a batch", "P@1", "P@5", "CPU s to train"], batches),
    }


def _thread_lines(found: Found) -> list[list[str]]:
    lines = []
    for name, result in found.items():
        first = result["threads"][0]["digests"]
        for each in result["threads"]:
            same = "the same" if len(first) == 1 and each["digests"] == first else "others"
            costs = [f"{each[cost]:.2f}" for cost in ("train_cpu_s", "train_wall_s")]
            lines.append([NAMES[name], str(each["threads"]), *costs, same])
    return lines
