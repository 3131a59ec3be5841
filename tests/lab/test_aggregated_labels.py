"""The experiments on labels of groups run from data to tables and pictures, and these say what the JSON says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytestmark = [pytest.mark.deep, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
RUN = ("-m", "lab.experiments.aggregated_labels.run")
FAST = (
    *("--seeds", "2", "--simulation-seeds", "3", "--groupings", "R-2,R-4,D-6", "--beyond-groupings", "R-4"),
    *("--unlabelled-groupings", "R-4", "--blurred-depths", "6", "--both-groupings", "R-4"),
    *("--noises", "0,1", "--noise-depth", "6", "--bag-sizes", "4", "--epochs", "2", "--rounds", "1"),
    *("--threads", "1", "--device", "cpu", "--cache", "no-such-cache"),
)
PARTS = "learner,table5,chosen,lengths,unlabelled,blurred,both,beyond,figures789,simulation,table3,figure5"
PARTS += ",paragraphs,growth"


def write_sparse(path, n_rows, seed):
    """Rows with a few features for each of their labels, and some that say nothing."""
    rng = np.random.default_rng(seed)
    lines = [f"{n_rows} 200 40"]
    for _ in range(n_rows):
        labels = np.unique(rng.choice(40, size=2))
        own = (labels[:, None] * 4 + np.arange(4)).ravel()
        features = np.union1d(own[rng.random(len(own)) < 0.7], rng.integers(200, size=3))
        lines.append(f"{','.join(map(str, labels))} {' '.join(f'{feature}:1' for feature in features)}")
    path.write_text("\n".join(lines) + "\n")


def write_images(path, seed):
    """Each class is bright in columns of its own."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for split, n_rows in (("train", 240), ("test", 60)):
        y = rng.integers(10, size=n_rows).astype(np.uint8)
        x = rng.integers(60, size=(n_rows, 10, 10))
        x[np.arange(n_rows), :, y] += 150
        arrays |= {f"x_{split}": x.astype(np.uint8), f"y_{split}": y}
    np.savez(path, **arrays)


def write_texts(path, n_rows, seed):
    """Documents of a few paragraphs, each with words of one of the labels."""
    rng = np.random.default_rng(seed)
    with path.open("w") as out:
        for _ in range(n_rows):
            labels = [f"topic{label}" for label in np.unique(rng.integers(12, size=3))]
            text = "\n".join(" ".join([f"about{label}"] * 50 + ["the", "same", "words"] * 5) for label in labels)
            text += "\nDone at the end"  # too few words for a paragraph
            out.write(json.dumps({"title": "a title", "text": text, "labels": labels}) + "\n")


def run(data, out, *more):
    command = [sys.executable, *RUN, str(data), "-o", str(out), *FAST, *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The data and what the experiments make of it."""
    data = tmp_path_factory.mktemp("data")
    for name in ("eurlex4k", "eurlex57k", "mnist", "fashion_mnist"):
        (data / name).mkdir()
    for number, split in enumerate(("train", "test")):
        write_sparse(data / f"eurlex4k/{split}.txt", (400, 100)[number], seed=number)
        write_texts(data / f"eurlex57k/{split}.jsonl", (120, 60)[number], seed=number)
    write_images(data / "mnist/mnist.npz", 0)
    write_images(data / "fashion_mnist/images.npz", 1)
    done = run(data, data / "out", "--parts", PARTS)
    assert done.returncode == 0, done.stderr
    return data, data / "out"


def found_in(out, part, name="eurlex4k"):
    return json.loads((out / f"{part}.json").read_text())[name]


def lines_of(out, table):
    """The cells of a table's lines."""
    lines = (out / f"{table}.md").read_text().splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:] if line.startswith("|")]


def number(text):
    return float(text.split(" ")[0].replace("−", "-"))


def test_assignments_lie_between_the_baseline_and_the_oracle(places):
    found = found_in(places[1], "table5")
    oracle = np.mean([run["P@1"] for run in found["oracle"]])
    ways = found["groupings"]["R-4"]
    assert oracle > 80
    assert all(run["right"] > 50 for run in ways["eagle"])
    assert all(run["found"] == 100 and run["right"] < 60 for run in ways["baseline"])
    assert np.mean([run["P@1"] for run in ways["eagle"]]) <= oracle


def test_differences_from_the_paper_are_those_of_the_means(places):
    found = found_in(places[1], "table5")
    lines = lines_of(places[1], "table5-P3")
    assert [line[0] for line in lines] == ["oracle", "R-2", "R-4", "D-6"]
    ours = np.mean([run["P@3"] for run in found["groupings"]["R-4"]["eagle"]])
    assert lines[2][7:] == [lines[2][7], "65.33", lines[2][9]]
    assert number(lines[2][7]) == pytest.approx(ours, abs=0.006)
    assert number(lines[2][9]) == pytest.approx(ours - 65.33, abs=0.006)
    assert lines[3][2:4] == ["", ""]  # the paper has no such grouping


def test_every_cell_that_is_far_from_the_paper_is_listed(places):
    found = found_in(places[1], "table5")["groupings"]
    papers = {"R-2": (79.90, 81.94, 82.00), "R-4": (76.58, 80.16, 80.87)}
    listed = (places[1] / "table5-far.md").read_text()
    for grouping, figures in papers.items():
        for words, figure in zip(("baseline", "EAGLE-0", "EAGLE"), figures, strict=True):
            away = np.mean([run["P@1"] for run in found[grouping][words.lower()]]) - figure
            assert (f"- {grouping}, {words}, P@1: " in listed) == (abs(away) > 2)
    assert "D-6" not in listed


def test_sums_of_rows_as_they_are_hand_out_most_labels_rightly_too(places):
    found = found_in(places[1], "lengths")
    assert found["R-4"]["eagle"]["right"] > 50
    first = lines_of(places[1], "lengths")[0]
    assert first[:2] == ["R-2", "EAGLE-0"]
    assert number(first[4]) == pytest.approx(found["R-2"]["eagle-0"]["P@1"] - 81.94, abs=0.006)


def test_rows_without_labels_are_learned_from_as_what_no_label_fits(places):
    found = found_in(places[1], "unlabelled")["R-4"]["eagle-0"]
    assert all(run["without"] > 0 for run in found["learned from"])
    assert found["left out"] == found_in(places[1], "table5")["groupings"]["R-4"]["eagle-0"]
    (line, _) = lines_of(places[1], "unlabelled")
    assert number(line[4]) == pytest.approx(np.mean([run["P@1"] for run in found["learned from"]]), abs=0.006)
    assert line[5] == "80.16"


def test_clusters_of_projected_rows_are_less_sharp(places):
    ((grouping, *cells),) = lines_of(places[1], "blurred")
    found = found_in(places[1], "blurred")[grouping]
    assert number(cells[0]) <= number(cells[1])
    assert number(cells[2]) == pytest.approx(np.mean([run["P@1"] for run in found["D-6"]]), abs=0.006)
    assert cells[3] == ""


def test_both_ways_are_tried_on_held_out_groups(places):
    tried = found_in(places[1], "both")["R-4"]["trial"]
    ((*_, shown, _),) = lines_of(places[1], "both")
    better = "assignment" if tried["assignment"] >= tried["baseline"] else "baseline"
    assert shown == f"{tried['assignment']:.1f} : {tried['baseline']:.1f}: {better}"
    assert "Tried on held-out training documents" in (places[1] / "paragraphs.md").read_text()


def test_what_was_chosen_had_the_best_score_of_held_out_groups(places):
    found = found_in(places[1], "chosen")["groupings"]
    assert list(found) == ["R-2", "R-4", "D-6"]
    tried = lines_of(places[1], "chosen-tried")
    for column, ways in enumerate(found.values(), start=1):
        scores = [each["score"] for each in ways["tried"]]
        assert [line[column].startswith("**") for line in tried].index(True) == np.argmax(scores)
        assert sum(line[column].startswith("**") for line in tried) == 1


def test_what_was_chosen_stands_beside_the_papers_ways(places):
    ways = found_in(places[1], "chosen")["groupings"]["R-4"]
    lines = {line[0]: line[2] for line in lines_of(places[1], "chosen-P1")}
    assert lines["EAGLE, the paper's"] == "80.9"
    for words, way in (("EAGLE-0", "eagle-0"), ("chosen by held-out groups", "chosen")):
        assert number(lines[words]) == pytest.approx(np.mean([run["P@1"] for run in ways[way]]), abs=0.06)


def test_each_idea_has_a_line_with_its_gain(places):
    ways = found_in(places[1], "beyond")["groupings"]["R-4"]
    lines = lines_of(places[1], "beyond-P1")
    assert len(lines) == len(lines_of(places[1], "beyond-right")) == 13
    gain = np.mean([run["P@1"] for run in ways["topc"]]) - np.mean([run["P@1"] for run in ways["eagle"]])
    shown = next(line for line in lines if "topc" in line[0])[1]
    assert number(shown.split("(")[1].rstrip(")")) == pytest.approx(gain, abs=0.006)
    assert len(lines_of(places[1], "beyond-iterations")) == 3


def test_noise_makes_groups_more_mixed(places):
    noises = found_in(places[1], "figures789")["noises"]
    mixed = [noises[noise]["advice"][0]["counts"]["mixedness"] for noise in ("0", "1")]
    assert mixed[0] < mixed[1]
    assert [line[:2] for line in lines_of(places[1], "figure9")[:4]] == [
        ["0", w] for w in ("baseline", "EAGLE-0", "EAGLE", "chosen")
    ]


def test_simulations_are_near_the_verified_figures(places):
    regression = found_in(places[1], "simulation", "made")["regression"]
    for sigma, figures in {"0": (1, 1), "1": (1.43, 1.95), "10": (3.31, 1.0)}.items():
        means = [np.mean([run[name] for run in regression[sigma]]) for name in ("NoAS", "AS")]
        np.testing.assert_allclose(means, figures, rtol=0.25)
    assert [line[0] for line in lines_of(places[1], "simulation-regression")] == ["0", "0.1", "1", "5", "10"]
    planted = lines_of(places[1], "simulation-planted")
    assert number(planted[0][2]) == pytest.approx(0.956, abs=0.1)
    assert len(lines_of(places[1], "simulation-classification")) == 10


def test_networks_are_judged_by_images_and_temperatures_by_bags(places):
    found = found_in(places[1], "table3", "mnist")["4"]
    assert found["Deep-MIML"]["choices"] == []
    for way in ("EAGLE-0", "EAGLE", "EAGLE, centred"):
        best = min(found[way]["choices"], key=lambda choice: choice["loss"])
        assert found[way]["temperature"] == best["temperature"]
        assert len(found[way]["accuracy"]) == 2
    line = next(line for line in lines_of(places[1], "table3") if line[:3] == ["MNIST", "4", "EAGLE"])
    assert number(line[7]) == pytest.approx(np.mean(found["EAGLE"]["accuracy"]) - 94.82, abs=0.006)


def test_vectors_of_labels_look_like_their_class(places):
    found = found_in(places[1], "figure5", "mnist")
    for ways in found.values():
        images = np.reshape(ways["vectors"], (10, 10, 10))
        assert images.sum(axis=1).argmax(axis=1).tolist() == list(range(10))
    assert found["EAGLE"]["right"] > 90


def test_documents_are_judged_by_their_paragraphs(places):
    found = found_in(places[1], "paragraphs", "eurlex57k")
    assert found["facts"]["documents"] == [120, 60]
    assert found["facts"]["paragraphs"][0] > 240
    assert found["eagle"]["best"]["P@1"] > 90
    assert [line[0] for line in lines_of(places[1], "paragraphs")][:3] == ["whole documents", "baseline", "EAGLE-0"]


def test_growth_has_a_line_for_each_size_and_no_rival_without_its_environment(places):
    found = found_in(places[1], "growth")
    points = found["points"]
    assert [point["rows"] for point in points["the same labels"]] == [50, 100, 200, 400, 800, 1600]
    assert [point["labels"] for point in points["more labels"]] == [40, 80, 160, 320]
    assert len(lines_of(places[1], "growth")) == 10
    assert found["rival"] is None
    assert "omikuji" not in (places[1] / "growth.md").read_text()


def test_pictures_are_sound_and_small(places):
    pictures = sorted(path.name for path in places[1].glob("*.svg"))
    names = ("decrement", "depths", "figure5", "growth", "noise", "simulation", "sizes")
    assert pictures == [f"aggregated-{name}.svg" for name in names]
    for name in pictures:
        assert ElementTree.parse(places[1] / name).getroot().tag.endswith("svg")
        assert (places[1] / name).stat().st_size < 200_000


def test_a_second_run_measures_nothing_again_and_more_seeds_are_added(places):
    before = {path: path.stat().st_mtime_ns for path in places[1].rglob("runs/*/*.json")}
    assert before
    done = run(*places, "--parts", "table5,table3,paragraphs", "--sets", "eurlex4k,eurlex57k,mnist", "--seeds", "3")
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(found_in(places[1], "table5")["oracle"]) == 3
    assert run(*places, "--parts", "table5", "--seeds", "2").returncode == 0


def test_figures_alone_need_no_pictures(places, tmp_path):
    done = run(places[0], tmp_path, "--parts", "figure5", "--sets", "mnist", "--figures-only")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure5.json", "made.json", "runs"]


def test_unknown_groupings_and_parts_are_named(places):
    done = run(*places, "--groupings", "X-4")
    assert done.returncode == 2
    assert "there is no grouping 'X-4'" in done.stderr
    assert "there is no 'speed'; there are: learner, table5, chosen, lengths" in run(*places, "--parts", "speed").stderr
