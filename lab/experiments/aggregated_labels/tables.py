"""What the parts found, as Markdown tables by their names: each a file, for a page takes them one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lab.experiments.aggregated_labels.beyond import ITERATIONS
from lab.experiments.aggregated_labels.beyond import WAYS as IDEAS
from lab.experiments.aggregated_labels.datasets import MADE, NAMES
from lab.experiments.aggregated_labels.figure5 import ITERATIONS as DRAWN
from lab.experiments.aggregated_labels.simulation import PLANTED_GROUPS, PLANTED_ITERATIONS
from lab.experiments.aggregated_labels.table3 import PAPERS_FIGURES as PAPERS_ACCURACIES
from lab.experiments.aggregated_labels.table5 import KS, PAPERS_FIGURES, PAPERS_ORACLE
from lab.experiments.aggregated_labels.trials import CHOSEN, ORACLE, PAPERS, best
from lab.experiments.common.markdown import count, signed, table, with_spread

FAR = 2.0  # points from the paper's figure that want an explanation
CLOSE = 0.7  # points that the oracle may be away
WAYS = {"baseline": "baseline", "eagle-0": "EAGLE-0", "eagle": "EAGLE"}
# Figures of the method that were verified: NoAS and AS by σ2, and right assignments by size and iterations.
VERIFIED = {"0": (1.00, 1.00), "0.1": (1.01, 1.27), "1": (1.43, 1.95), "5": (2.98, 1.04), "10": (3.31, 1.00)}
VERIFIED_PLANTED = {("10", "0"): 0.956, ("10", "20"): 1.0, ("20", "0"): 0.478, ("20", "20"): 0.844}
EURLEX = "eurlex4k"
Found = Mapping[str, Any]
Runs = Sequence[Mapping[str, Any]]
Texts = dict[str, str]


def mean(runs: Runs, name: str) -> float:
    """Over seeds."""
    return float(np.mean([run[name] for run in runs]))


def learner(found: Found) -> Texts:
    """A line for each candidate, on rows that were held out."""
    lines = [
        [candidate, *(f"{figures[f'P@{k}']:.2f}" for k in KS), f"{figures['train_cpu_s']:.1f}"]
        for candidate, figures in found[EURLEX].items()
    ]
    return {"learner": table(["three trees", *(f"P@{k}" for k in KS), "CPU s to train"], lines)}


def table5(found: Found) -> Texts:
    """For each k all groupings beside the paper's figures; what is far from these, and orders."""
    own = found[EURLEX]
    made = {f"table5-P{k}": _beside_paper(own, number, k) for number, k in enumerate(KS)}
    return {**made, "table5-far": _far(own), "table5-order": _order(own)}


def _beside_paper(own: Found, number: int, k: int) -> str:
    oracle = [run[f"P@{k}"] for run in own[ORACLE]]
    lines = [["oracle", with_spread(oracle), *_paper(np.mean(oracle), PAPERS_ORACLE[number])]]
    lines[0] += [""] * 6
    for grouping, ways in own["groupings"].items():
        line = [grouping]
        for way in PAPERS:
            values = [run[f"P@{k}"] for run in ways[way]]
            papers = PAPERS_FIGURES.get(grouping, {}).get(way)
            line += [with_spread(values), *(("", "") if papers is None else _paper(np.mean(values), papers[number]))]
        lines.append(line)
    header = [f"P@{k}, {count(len(oracle), 'seed')}"]
    for way in WAYS.values():
        header += [way, "paper", "difference"]
    return table(header, lines)


def _paper(ours: Any, papers: float) -> list[str]:
    return [f"{papers:.2f}", signed(float(ours) - papers, 2)]


def _differences(own: Found) -> Iterator[tuple[str, str, int, float, float]]:
    """Grouping, way, k, our mean and the paper's figure."""
    for grouping, ways in own["groupings"].items():
        for way, papers in PAPERS_FIGURES.get(grouping, {}).items():
            for k, figure in zip(KS, papers, strict=True):
                yield grouping, way, k, mean(ways[way], f"P@{k}"), figure


def _far(own: Found) -> str:
    """The cells that differ from the paper's by more than a little, and whether the oracle is close."""
    cells = list(_differences(own))
    lines = [
        f"- {grouping}, {WAYS[way]}, P@{k}: {ours:.2f}, the paper has {papers:.2f} ({signed(ours - papers, 2)})"
        for grouping, way, k, ours, papers in cells
        if abs(ours - papers) > FAR
    ]
    away = max(abs(mean(own[ORACLE], f"P@{k}") - papers) for k, papers in zip(KS, PAPERS_ORACLE, strict=True))
    head = [
        f"- {len(lines)} of {len(cells)} figures differ from the paper's by more than {FAR:g} points.",
        f"- The oracle is at most {away:.2f} points away ({'within' if away <= CLOSE else 'not within'} {CLOSE}).",
    ]
    return "\n".join([*head, *lines]) + "\n"


def _order(own: Found) -> str:
    """Where the paper has one way above another, and whether it is so here."""
    lines = []
    for higher, lower in (("eagle", "eagle-0"), ("eagle-0", "baseline"), ("eagle", "baseline")):
        for number, k in enumerate(KS):
            there, same, others = 0, 0, []
            for grouping, papers in PAPERS_FIGURES.items():
                if grouping not in own["groupings"] or papers[higher][number] <= papers[lower][number]:
                    continue
                there += 1
                ways = own["groupings"][grouping]
                ours = mean(ways[higher], f"P@{k}") - mean(ways[lower], f"P@{k}")
                same += ours >= 0
                others += [f"{grouping} ({signed(ours, 2)})"] * (ours < 0)
            lines.append(
                [f"{WAYS[higher]} above {WAYS[lower]}", f"P@{k}", str(there), str(same), ", ".join(others) or "none"]
            )
    return table(["", "", "so in the paper", "of these so here", "not so here"], lines)


def lengths(found: Found) -> Texts:
    """What comes out of sums of rows as they are, beside the paper's figures."""
    lines = []
    for grouping, ways in found[EURLEX].items():
        for way, figures in ways.items():
            line = [grouping, WAYS[way]]
            papers = PAPERS_FIGURES.get(grouping, {}).get(way)
            for number, k in enumerate(KS):
                ours = figures[f"P@{k}"]
                line += [f"{ours:.2f}", *(("", "") if papers is None else _paper(ours, papers[number]))]
            lines.append(line)
    return {"lengths": table(["", "", *(cell for k in KS for cell in (f"P@{k}", "paper", "difference"))], lines)}


def unlabelled(found: Found) -> Texts:
    """What comes out where rows without labels are left out or learned from, beside the paper's figures."""
    lines = []
    for grouping, ways in found[EURLEX].items():
        for way, both in ways.items():
            sharp = re.sub(r"N-(\d+)-0", r"D-\1", grouping)  # the paper's name of such clusters
            words = grouping if sharp == grouping else f"{sharp}, less sharp"
            line = [words, WAYS[way], f"{mean(both['learned from'], 'without'):.0f}"]
            papers = PAPERS_FIGURES.get(sharp, {}).get(way)
            for number, k in enumerate(KS):
                line += [f"{mean(both[which], f'P@{k}'):.2f}" for which in ("left out", "learned from")]
                line.append("" if papers is None else f"{papers[number]:.2f}")
            lines.append(line)
    header = ["", "", "such rows (%)", *(cell for k in KS for cell in (f"P@{k}, left out", "learned from", "paper"))]
    return {"unlabelled": table(header, lines)}


def blurred(found: Found) -> Texts:
    """The baseline on sharp clusters and on less sharp ones, with the paper's figures between."""
    lines = []
    for grouping, (sharp, less) in ((name, tuple(ways.values())) for name, ways in found[EURLEX].items()):
        papers = PAPERS_FIGURES.get(grouping, {}).get("baseline")
        line = [grouping, *(f"{mean(runs, 'mixedness'):.2f}" for runs in (sharp, less))]
        for number, k in enumerate(KS):
            paper = "" if papers is None else f"{papers[number]:.2f}"
            line += [f"{mean(sharp, f'P@{k}'):.2f}", paper, f"{mean(less, f'P@{k}'):.2f}"]
        lines.append(line)
    header = ["baseline", "mixedness, sharp", "less sharp"]
    return {"blurred": table([*header, *(c for k in KS for c in (f"P@{k}, sharp", "paper", "less sharp"))], lines)}


ADVISED = ("", "mixedness", "wrong rows for each right one, by counts: advised", "without counts", "better in P@1")


def _advised(groupings: Found) -> list[list[str]]:
    """What is advised for each grouping, and which was better."""
    lines = []
    for grouping, ways in groupings.items():
        gain = mean(ways["eagle"], "P@1") - mean(ways["baseline"], "P@1")
        better = "assignment" if gain > 0 else "baseline"
        line = [grouping, f"{np.mean([each['counts']['mixedness'] for each in ways['advice']]):.2f}"]
        for which in ("counts", "no counts"):
            wrong = float(np.mean([each[which]["wrong_rows"] for each in ways["advice"]]))
            uses = {each[which]["use"] for each in ways["advice"]}
            line.append(f"{wrong:.1f}: {' or '.join(sorted(uses))}")
        lines.append([*line, f"{better} ({signed(gain, 2)})"])
    return lines


def both(found: Found) -> Texts:
    """What is advised and what a trial on held-out groups says, beside what is better for rows."""
    own = found[EURLEX]
    lines = []
    for line, ways in zip(_advised(own), own.values(), strict=True):
        tried = ways["trial"]
        shares = " : ".join(f"{tried[way]:.1f}" for way in ("assignment", "baseline"))
        lines.append([*line[:-1], f"{shares}: {tried['use']}", line[-1]])
    return {"both": table([*ADVISED[:-1], "`try_both`, assignment : baseline", ADVISED[-1]], lines)}


def figures789(found: Found) -> Texts:
    """From groups that are alike to random ones."""
    own = found[EURLEX]
    lines = [
        [
            noise,
            words,
            *(with_spread([run[f"P@{k}"] for run in ways[way]]) for k in KS),
            f"{mean(ways[way], 'right'):.1f}",
        ]
        for noise, ways in own["noises"].items()
        for way, words in {**WAYS, CHOSEN: "chosen"}.items()
    ]
    header = [f"noise, depth {own['depth']}", "", *(f"P@{k}" for k in KS), "right labels (%)"]
    return {"figure9": table(header, lines), "figure9-advice": table(ADVISED, _advised(own["noises"]))}


def chosen(found: Found) -> Texts:
    """What held-out groups chose beside the paper's ways, here and there; and what they say of all that was tried."""
    own, oracle = found[EURLEX]["groupings"], found[EURLEX][ORACLE]
    made = {f"chosen-P{k}": _summary(own, oracle, number) for number, k in enumerate(KS)}
    return {**made, "chosen-tried": _tried(own)}


def _summary(groupings: Found, oracle: Runs, number: int) -> str:
    """A line for each way, and one for the paper's EAGLE."""
    k = KS[number]
    lines = [
        [words, *(f"{mean(ways[way], f'P@{k}'):.1f}" for ways in groupings.values())] for way, words in WAYS.items()
    ]
    papers = [PAPERS_FIGURES.get(grouping, {}).get("eagle") for grouping in groupings]
    lines.append(["EAGLE, the paper's", *("" if each is None else f"{each[number]:.1f}" for each in papers)])
    best_here = [with_spread([run[f"P@{k}"] for run in ways[CHOSEN]], 1) for ways in groupings.values()]
    lines.append(["chosen by held-out groups", *best_here])
    seeds = count(len(oracle), "seed")
    return table([f"P@{k}, {seeds}; the oracle {mean(oracle, f'P@{k}'):.1f}", *groupings], lines)


def _params(params: Found) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in params.items() if name != "leave_out")


def _tried(groupings: Found) -> str:
    """How well held-out groups are told apart, for each set of parameters; the best marked."""
    sets = [each["params"] for each in next(iter(groupings.values()))["tried"]]
    lines = []
    for number, params in enumerate(sets):
        line = [_params(params)]
        for ways in groupings.values():
            mark = "**" if best(ways["tried"]) == params else ""
            line.append(f"{mark}{100 * ways['tried'][number]['score']:.1f}{mark}")
        lines.append(line)
    return table(["held-out groups told apart (%)", *groupings], lines)


def beyond(found: Found) -> Texts:
    """P@1 and P@5 of each idea on each grouping, how many labels are right, and iterations."""
    own = found[EURLEX]["groupings"]
    made = {f"beyond-P{k}": _beyond(own, f"P@{k}") for k in (1, 5)}
    return {**made, "beyond-right": _right(own), "beyond-iterations": _iterations(own)}


def _ideas() -> dict[str, str]:
    words = {way: text for way, (text, _) in IDEAS.items()}
    return {**WAYS, **words, CHOSEN: "chosen by held-out groups"}


def _beyond(groupings: Found, measure: str) -> str:
    lines = []
    for way, words in _ideas().items():
        line = [words]
        for ways in groupings.values():
            gain = mean(ways[way], measure) - mean(ways["eagle"], measure)
            line.append(f"{mean(ways[way], measure):.2f}" + (f" ({signed(gain, 2)})" if way != "eagle" else ""))
        lines.append(line)
    runs = next(iter(groupings.values()))["eagle"]
    return table([f"{measure}, {count(len(runs), 'seed')}", *groupings], lines)


def _right(groupings: Found) -> str:
    """Shares of labels handed out that are right, and of rows' labels that were found; and CPU time."""
    lines = []
    for way, words in _ideas().items():
        shares = [f"{mean(ways[way], 'right'):.0f} / {mean(ways[way], 'found'):.0f}" for ways in groupings.values()]
        cost = [f"{mean(ways[way], 'assign_cpu_s'):.1f}" for ways in groupings.values()]
        lines.append([words, *shares, " / ".join(cost)])
    return table(["right / found (%)", *groupings, "CPU s to hand out"], lines)


def _iterations(groupings: Found) -> str:
    """What held-out groups say of iterations beside what comes out, of the first seed."""
    lines = []
    for grouping, ways in groupings.items():
        runs = ways["iterations"]
        for words, cells in (
            ("held-out groups told apart (%)", [f"{100 * runs[str(t)]['score']:.1f}" for t in ITERATIONS]),
            ("right labels (%)", [f"{runs[str(t)]['right']:.1f}" for t in ITERATIONS]),
            ("P@1", [f"{runs[str(t)]['P@1']:.2f}" for t in ITERATIONS]),
        ):
            lines.append([grouping, words, *cells])
    return table(["", "iterations", *map(str, ITERATIONS)], lines)


def simulation(found: Found) -> Texts:
    """Regression beside the verified figures, classification, and planted classes."""
    own = found[MADE]
    regression = [
        [
            sigma,
            *(
                cell
                for name, value in zip(("NoAS", "AS"), VERIFIED[sigma], strict=True)
                for cell in _verified(runs, name, value)
            ),
        ]
        for sigma, runs in own["regression"].items()
    ]
    seeds = count(len(own["regression"]["0"]), "seed")
    header = [f"σ2, {seeds}", "NoAS", "verified", "", "AS", "verified", ""]
    return {
        "simulation-regression": table(header, regression),
        "simulation-classification": _classification(own["classification"]),
        "simulation-planted": _planted(own["planted"]),
    }


def _verified(runs: Runs, name: str, value: float) -> list[str]:
    return _beside_verified([run[name] for run in runs], value)


def _beside_verified(values: Sequence[float], value: float) -> list[str]:
    digits = 2 if value >= 1 else 3
    inside = round(min(values), digits) <= value <= round(max(values), digits)
    return [with_spread(values, digits), f"{value:.{digits}f}", "within" if inside else "outside"]


def _classification(own: Found) -> str:
    lines = []
    for noise, by_sigma in own.items():
        for sigma, runs in by_sigma.items():
            mistaken = [np.mean([run["mistaken"][name] for run in runs]) for name in ("oracle", "NoAS", "AS")]
            relative = [with_spread([run[name] for run in runs]) for name in ("NoAS", "AS")]
            lines.append([noise, sigma, *(f"{share:.3f}" for share in mistaken), *relative])
    names = ("oracle", "NoAS", "AS")
    header = ["σ1", "σ2", *(f"{name}: mistaken (%)" for name in names), "NoAS: relative RMS of scores", "AS"]
    return table(header, lines)


def _planted(own: Found) -> str:
    lines = [
        [str(size), str(t), *_beside_verified(own[str(size)][str(t)], VERIFIED_PLANTED[str(size), str(t)])]
        for size in PLANTED_GROUPS
        for t in PLANTED_ITERATIONS
    ]
    return table(["group size", "iterations", "assignments that are right", "verified", ""], lines)


def table3(found: Found) -> Texts:
    """Accuracies beside the paper's, and how τ was chosen."""
    lines, choices = [], []
    for name, by_size in found.items():
        for size, ways in by_size.items():
            for way, own in ways.items():
                papers = PAPERS_ACCURACIES[name].get(size, {}).get(way)
                accuracy = own["accuracy"]
                lines.append(
                    [
                        NAMES[name],
                        size,
                        way,
                        f"{own['temperature']:g}" if own["choices"] else "",
                        with_spread(accuracy),
                        f"{np.std(accuracy):.2f}",
                        *(["", ""] if papers is None else _paper(np.mean(accuracy), papers)),
                    ]
                )
                for each in own["choices"]:
                    chosen = "chosen" if each["temperature"] == own["temperature"] else ""
                    cells = [f"{each['temperature']:g}", f"{each['loss']:.4f}", f"{each['accuracy']:.2f}", chosen]
                    choices.append([NAMES[name], size, way, *cells])
    seeds = count(len(lines and accuracy), "seed")
    header = ["", "bag", "", "τ", f"accuracy (%), {seeds}", "standard deviation", "paper", "difference"]
    tried = ["", "bag", "", "τ", "loss of held-out bags", "accuracy of their images (%)", ""]
    return {"table3": table(header, lines), "table3-choices": table(tried, choices)}


def figure5(found: Found) -> Texts:
    """How many assignments are right in groups of four."""
    lines = [[NAMES[name], *(f"{ways[way]['right']:.1f}" for way in DRAWN)] for name, ways in found.items()]
    return {"figure5": table(["right assignments (%)", *DRAWN], lines)}


def paragraphs(found: Found) -> Texts:
    """A line for each kind of rows and way of handing out."""
    (own,) = found.values()
    words = {"documents": "whole documents", **WAYS, "negatives": "EAGLE, `negatives` 1, `leave_out`, `step` 0.3"}
    lines = [
        [
            words[way],
            *(" / ".join(f"{own[way][how][f'P@{k}']:.2f}" for k in KS) for how in ("whole", "best", "mean")),
            f"{own[way]['labels_a_row']:.1f}",
            f"{own[way]['train_cpu_s']:.1f}",
        ]
        for way in words
    ]
    header = [
        "learned from",
        "P@1 / 3 / 5, document as one row",
        "best of its paragraphs",
        "their mean",
        "labels a row",
        "CPU s to train",
    ]
    facts, advised, tried = own["facts"], own["facts"]["advice"], own["facts"]["tried"]
    return {
        "paragraphs": table(header, lines)
        + f"\n- {facts['documents'][0]} training documents of {facts['paragraphs'][0]} paragraphs, "
        + f"{facts['documents'][1]} test documents of {facts['paragraphs'][1]}.\n"
        + f"- Mixedness {advised['mixedness']:.2f}, {advised['wrong_rows']:.1f} wrong rows for each right one; "
        + f"advised: {advised['use']}.\n"
        + f"- Tried on held-out training documents, P@5: assignment {tried['assignment']:.1f}, "
        + f"baseline {tried['baseline']:.1f}.\n"
    }


def growth(found: Found) -> Texts:
    """CPU seconds by non-zeros, and beside omikuji's."""
    own = found[EURLEX]
    lines = [
        [
            kind,
            str(point["rows"]),
            f"{point['nonzeros'] / 1e6:.2f}",
            *(f"{point['cpu_s'][t]:.2f}" for t in ("0", "20")),
            *(f"{1e6 * point['cpu_s'][t] / point['nonzeros']:.2f}" for t in ("0", "20")),
        ]
        for kind, points in own["points"].items()
        for point in points
    ]
    header = [
        "",
        "rows",
        "million non-zeros",
        "CPU s, EAGLE-0",
        "20 iterations",
        "s a million, EAGLE-0",
        "20 iterations",
    ]
    text = table(header, lines)
    if own["rival"] is not None:
        text += f"\n- omikuji trains one Parabel tree on all rows with their own labels in {own['rival']:.1f} CPU s.\n"
    return {"growth": text}
