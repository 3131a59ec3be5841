"""What the parts found, as Markdown tables by their names: each a file, for a page takes them one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lab.experiments.common.markdown import signed, table, with_spread
from lab.experiments.prime.ablations import ROWS
from lab.experiments.prime.corpora import FIGURES, NAMES
from lab.experiments.prime.learning import OURS
from lab.experiments.prime.methods import CONFIGS
from lab.experiments.prime.throughput import RIVAL, WAYS

Found = Mapping[str, Any]
# P@1 and PSP@1 of the paper's variants of PRIME-lite on LF-AmazonTitles-1.3M.
PAPER = {
    "table6_prototype_only": (51.71, 26.27),
    "table6_with_query_to_label": (56.34, 31.23),
    "table6_with_dynamic_margin": (57.40, 29.69),
    "table6_with_label_to_query": (58.25, 30.83),
    "prime_lite": (58.10, 31.68),
    "table9_free_vectors_0": (57.00, None),
    "table9_free_vectors_1024": (57.09, None),
    "table9_free_vectors_4096": (57.13, None),
    "table11_uniform_positives": (57.48, 29.65),
}

ABLATED = ("P@1", "PSP@1")
OTHER_WAY, SHOWN = " ≠", 0.05  # a change that is not 0 in the table

EARLY = 2  # epochs
BINS = ("head", "torso", "tail")
BRIEF = ("tree", "PRIME W", "tree + PRIME W")


def tuning(found: Found) -> dict[str, str]:
    """Held-out P@1 of each candidate, and the mean cosine of two texts, which is 1 where vectors have come together."""
    lines = []
    for name, configs in found.items():
        for config, own in configs.items():
            cells = [f"{each['P@1']:.1f} ({each['mean_cosine']:.2f})" for each in own["tried"]]
            lines.append([NAMES[name], CONFIGS[config], *cells])
    tried = next(iter(next(iter(found.values())).values()))["tried"]
    header = [f"batches of {each['size']:,}" for each in tried]
    return {"tuning": table(["held-out P@1 (mean cosine)", "", *header], lines)}


def methods(found: Found) -> dict[str, str]:
    """A table for each dataset, and what is found of frequent and of rare labels."""
    tables = {}
    for name, ways in found.items():
        lines = [[way, *_figures(runs)] for way, runs in ways.items()]
        tables[f"methods-{name}"] = table([f"{NAMES[name]}, {_seeds(ways)}", *FIGURES], lines)
    lines = [
        [NAMES[name], way, *_found(runs)]
        for name, ways in found.items()
        for way, runs in ways.items()
        if all("found" in run for run in runs)  # all but classifiers on top
    ]
    return {**tables, "methods-found": table(["found among five (%)", "", *BINS], lines)}


def _seeds(ways: Found) -> str:
    n = max(len(runs) for runs in ways.values())
    return f"{n} seed{'s' * (n != 1)}"


def _figures(runs: Sequence[Found]) -> list[str]:
    return [with_spread([run[figure] for run in runs], 1) for figure in FIGURES]


def _found(runs: Sequence[Found]) -> list[str]:
    return [with_spread([run["found"][each] for run in runs], 1) for each in BINS]


def together(found: Found) -> dict[str, str]:
    """A table for each dataset, of what is fused also how far it is ahead of its best member; and one for all."""
    tables, brief = {}, []
    for name, seeds in found.items():
        by_model: dict[str, list[Found]] = {}
        for run in seeds.values():
            for line in run["lines"]:
                by_model.setdefault(line["model"], []).append(line)
        lines = []
        for model, runs in by_model.items():
            ahead = [run["ahead"] for run in runs if "ahead" in run]
            lines.append([model, *_figures(runs), signed(min(ahead), 2) if ahead else ""])
        header = [NAMES[name], *FIGURES, "ahead of its members by at least"]
        tables[f"together-{name}"] = table(header, lines)
        means = [[np.mean([run[figure] for run in by_model[model]]) for figure in ("P@1", "PSP@5")] for model in BRIEF]
        brief.append([NAMES[name], *(f"{p:.1f} / {psp:.1f}" for p, psp in means)])
    return {**tables, "together": table(["P@1 / PSP@5", *BRIEF], brief)}


def ablations(found: Found) -> dict[str, str]:
    """Changes of P@1 and PSP@1 beside the paper's; a mark where all seeds go the other way."""
    columns = {(name, base): variants for name, bases in found.items() for base, variants in bases.items()}
    lines = []
    for config, (place, name, base) in ROWS.items():
        papers = _papers(config, base)
        cells = [" / ".join(_changes(variants, config, base, papers)) for variants in columns.values()]
        shown = [signed(value) if base else f"{value:.1f}" for value in papers if value is not None]
        if any(cells):
            lines.append([place, name, " / ".join(shown), *cells])
    how = {"prime_lite": "", "anchored_lite": ", anchored"}
    names = [f"{NAMES[name]}{how[base]}" for name, base in columns]
    return {"ablations": table(["P@1 / PSP@1", "", "paper", *names], lines), "positives": _positives(found)}


def _positives(found: Found) -> str:
    """Positives by propensity and drawn uniformly, with our default: figures, and what is found by frequency."""
    drawn = {"prime_lite": "by propensity", "table11_uniform_positives": "uniformly"}
    lines = [
        [NAMES[name], way, *_figures(bases[OURS][config]), *_found(bases[OURS][config])]
        for name, bases in found.items()
        for config, way in drawn.items()
        if {*drawn} <= bases.get(OURS, {}).keys()
    ]
    return table(["", "positives drawn", *FIGURES, *BINS], lines)


def _changes(variants: Found, config: str, base: str, papers: Sequence[float | None]) -> list[str]:
    if config not in variants or (base and base not in variants):
        return []
    if not base:
        return [with_spread([run[figure] for run in variants[config]], 1) for figure in ABLATED]
    pairs = list(zip(variants[config], variants[base], strict=False))
    cells = []
    for figure, paper in zip(ABLATED, papers, strict=True):
        changes = [a[figure] - b[figure] for a, b in pairs]
        differs = paper is not None and all(change * paper < 0 for change in changes)
        change = float(np.mean(changes))
        cells.append(signed(change) + OTHER_WAY * (differs and abs(change) >= SHOWN))
    return cells


def _papers(config: str, base: str) -> list[float | None]:
    """The paper's figures, or how they change from those of what a variant is compared with."""
    own = PAPER.get(config, (None, None))
    others = PAPER.get(base, (None, None)) if base else (0.0, 0.0)
    return [None if a is None or b is None else a - b for a, b in zip(own, others, strict=True)]


def course(found: Found) -> dict[str, str]:
    """P@1 on held-out rows after a few epochs and after all, and the speed of the later ones as a whole."""
    lines = []
    for name, ways in found.items():
        for way, own in ways.items():
            early = min(EARLY, len(own["P@1"])) - 1
            cells = [f"{own['P@1'][at]:.1f} ({own['seconds'][at]:.0f} s)" for at in (early, -1)]
            rate = float(np.median(own["rates"][len(own["rates"]) // 2 :]))
            lines.append([NAMES[name], way, *cells, f"{rate:,.0f}"])
    header = ["held-out P@1", "", f"after {EARLY} epochs", "after all", "queries a second, later epochs"]
    return {"course": table(header, lines)}


def negatives(found: Found) -> dict[str, str]:
    """P@1 and PSP@5 by negatives a query."""
    lines = [
        [NAMES[name], way, f"{run['negatives']:,}", f"{run['P@1']:.1f}", f"{run['PSP@5']:.1f}"]
        for name, ways in found.items()
        for way, runs in ways.items()
        for run in runs
    ]
    return {"negatives": table(["", "", "negatives a query", "P@1", "PSP@5"], lines)}


def new_labels(found: Found) -> dict[str, str]:
    """How many of the labels without rows are found."""
    lines = [
        [NAMES[name], way, *(f"{own[f'R@{k}']:.1f}" for k in (10, 100))]
        for name, ways in found.items()
        for way, own in ways.items()
    ]
    return {"new_labels": table(["", "", "R@10", "R@100"], lines)}


def throughput(found: Found) -> dict[str, str]:
    """Queries a second, in relation to the bare encoder and to the rival, and memory."""
    lines = []
    for name, ways in found.items():
        rates = {way: float(np.median(own["rates"])) for way, own in ways.items()}
        for way, own in ways.items():
            least, most = (f"{end(own['rates']):,.0f}" for end in (min, max))
            spread = f" ({least}–{most})" if least != most else ""
            times = f"{rates[way] / rates[RIVAL]:.1f}" if RIVAL in rates else ""
            cells = [f"{rates[way]:,.0f}{spread}", f"{rates[way] / rates[WAYS[way][0]]:.2f}", times]
            lines.append([NAMES[name], way, *cells, f"{own['memory']:.1f}"])
    header = ["", "", "queries a second", "of the bare encoder", f"times {RIVAL}", "GiB at most"]
    return {"throughput": table(header, lines)}
