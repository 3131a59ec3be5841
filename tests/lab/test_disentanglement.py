"""The experiments on labels with several places run from data to tables and pictures, which say what the JSON says."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from lab.experiments.disentanglement import fusing, information, random_copies
from labelwood.labels import pifa
from labelwood.trees import LabelTree

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN = ("-m", "lab.experiments.disentanglement.run")
FAST = ("--seeds", "2", "--rounds", "2", "--copies", "1,2", "--ks", "2,3", "--modes", "easy,hard")
LABELS = 1000
PARTS = ("fused", "copies", "table4", "cost", "combined")


def made_rows(n_rows, n_labels, seed):
    """Rows whose features are their labels and some noise; every label has a row."""
    numbers = np.random.default_rng(seed)
    Y = sparse.csr_array((numbers.random((n_rows, n_labels)) < 3 / n_labels).astype(np.float32))
    Y = sparse.csr_array(sparse.vstack([sparse.eye_array(n_labels, dtype=np.float32), Y]))
    noise = sparse.random_array(Y.shape, density=0.05, rng=numbers, dtype=np.float32)
    return sparse.csr_array(Y + noise), Y


class TestFusing:
    @pytest.mark.parametrize(("mode", "k", "n_labels"), [*product(fusing.MODES, (2, 3, 4), (200, 203))])
    def test_every_label_becomes_part_of_one_of_as_few_as_can_be(self, mode, k, n_labels):
        X, Y = made_rows(300, n_labels, seed=0)
        numbers = fusing.fused_labels(mode, pifa(X, Y), k, seed=1)
        sizes = np.bincount(numbers)
        assert len(numbers) == n_labels
        assert len(sizes) == math.ceil(n_labels / k)
        assert sizes.min() >= 1
        assert sizes.max() <= k

    def test_easy_mode_fuses_labels_that_are_alike_and_hard_mode_any(self):
        angles = np.linspace(0, 2 * np.pi, 128, endpoint=False)
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        alike = {}
        for mode in ("easy", "hard"):
            pairs = np.argsort(fusing.fused_labels(mode, vectors, 2, seed=0), kind="stable").reshape(-1, 2)
            alike[mode] = (vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(axis=1).mean()
        assert alike["easy"] > 0.95
        assert abs(alike["hard"]) < 0.3

    def test_medium_mode_draws_from_clusters(self):
        vectors = np.repeat(np.eye(4), 64, axis=0)
        clusters = np.repeat(np.arange(4), 64)
        numbers = fusing.fused_labels("medium", vectors, 2, seed=0)
        assert all(len(set(clusters[numbers == number])) == 1 for number in range(128))
        pairs = [np.flatnonzero(numbers == number) for number in range(128)]
        assert np.mean([second - first > 1 for first, second in pairs]) > 0.8

    def test_seeds_fuse_other_labels(self):
        vectors = np.eye(60)
        first, again, second = (fusing.fused_labels("hard", vectors, 2, seed) for seed in (0, 0, 1))
        assert (first == again).all()
        assert (first != second).any()

    def test_a_row_has_what_any_of_its_labels_became_and_has_it_once(self):
        _, Y = made_rows(100, 31, seed=2)
        numbers = fusing.fused_labels("hard", np.eye(31), 3, seed=0)
        fused = fusing.fused(Y, numbers)
        expected = np.zeros((Y.shape[0], 11))
        for row, label in zip(*Y.nonzero(), strict=True):
            expected[row, numbers[label]] = 1
        assert (fused.toarray() == expected).all()
        assert fused.nnz == expected.sum()


class TestRandomCopies:
    def test_labels_keep_their_leaf_and_have_as_many_as_the_chosen_ones(self):
        X, Y = made_rows(600, 120, seed=3)
        model = lw.TreeClassifier(arity=8, max_leaf=10, seed=0)
        plain = model.fit(X, Y).trees_[0].tree
        shared = lw.TreeClassifier(arity=8, max_leaf=10, seed=0, copies=3).fit(X, Y).trees_[0].tree
        drawn = random_copies.with_random_copies(plain, shared, seed=0)
        assert len(shared.labels) > len(plain.labels)
        assert (np.bincount(drawn.labels) == np.bincount(shared.labels)).all()
        assert (drawn.child_ptr == plain.child_ptr).all()
        for leaf in plain.leaves:
            own, now = (set(tree.labels[slice(*tree.label_ptr[leaf : leaf + 2])].tolist()) for tree in (plain, drawn))
            assert own <= now

    def test_seeds_draw_other_leaves(self):
        plain = LabelTree.from_nested([[0, 1], [2, 3], [4, 5], [6, 7]])
        shared = LabelTree.from_nested([[0, 1, 2, 3, 4, 5, 6, 7]] * 2 + [[4, 5], [6, 7]])
        first, second = (random_copies.with_random_copies(plain, shared, seed) for seed in (0, 1))
        assert first.labels.tolist() != second.labels.tolist()


class TestInformation:
    def test_it_is_what_the_definition_gives(self):
        numbers = np.random.default_rng(0)
        for _ in range(30):
            n = int(numbers.integers(1, 40))
            first, second = numbers.integers(0, 3, n), numbers.integers(0, 4, n)
            expected = 0.0
            for a, b in product(range(3), range(4)):
                share = np.mean((first == a) & (second == b))
                if share:
                    for part in (np.mean(first == a), np.mean(second == b)):
                        expected -= share * math.log2(share / part)
            assert information.variation_of_information(first, second) == pytest.approx(expected, abs=1e-12)

    def test_splits_that_differ_in_names_only_are_the_same(self):
        split = np.array([0, 0, 1, 2, 1, 0])
        assert information.variation_of_information(split, split) == 0
        assert information.variation_of_information(split, (split + 1) % 3) == pytest.approx(0, abs=1e-12)
        assert information.variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]) == 2

    def test_only_labels_count_whose_components_all_have_more_than_ten_rows_to_themselves(self):
        columns = [range(11), range(11, 22), range(22, 33), range(32, 43), [50]]
        Y = np.zeros((60, 5))
        for label, rows in enumerate(columns):
            Y[list(rows), label] = 1
        found = list(information.components_of(Y, np.array([0, 0, 1, 1, 2])))
        assert [label for label, *_ in found] == [0]  # row 32 has both of the second's
        assert found[0][1].tolist() == list(range(22))
        assert found[0][2].tolist() == [0] * 11 + [1] * 11

    def test_leaves_are_scored_as_the_search_scores_them(self):
        X, Y = made_rows(300, 100, seed=4)
        trained = lw.TreeClassifier(arity=6, max_leaf=8).fit(X, Y).trees_[0]
        assert trained.tree.depths.max() > 1
        scores = information.leaf_scores(trained, X)
        top = lw.TreeClassifier(arity=6, max_leaf=8, beam=None).fit(X, Y).predict_topk(X, 1)
        at = np.repeat(np.arange(len(trained.tree.leaves)), trained.tree.leaf_sizes)[np.argsort(trained.tree.labels)]
        for row in range(50):
            label = int(top.ids[row, 0])
            weights, biases = trained.block(int(trained.tree.leaves[at[label]]))
            place = (
                np.flatnonzero(trained.tree.labels == label)[0] - trained.tree.label_ptr[trained.tree.leaves[at[label]]]
            )
            own = X[[row]] / np.sqrt((X[[row]] ** 2).sum())
            margin = float((own @ weights).toarray()[0, place] + biases[place])
            expected = math.exp(scores[row, at[label]] - max(0.0, 1 - margin) ** 3)
            assert top.scores[row, 0] == pytest.approx(expected, rel=1e-3)

    def test_a_tree_that_tells_components_apart_is_far_from_random_splits(self):
        X = np.repeat(np.eye(4), 20, axis=0)
        Y = np.repeat(np.eye(4), 20, axis=0)
        numbers = np.array([0, 1, 1, 0])  # each has a component in either half of the tree
        tree = LabelTree.from_nested([[0, 1], [0, 1]])
        cut = sparse.csr_array(np.repeat([[1.0, 0], [1, 0], [0, 1], [0, 1]], 20, axis=0))
        matcher = lw.TreeClassifier(tree=LabelTree.from_nested([[0], [1]])).fit(X, cut).trees_[0]
        found = information.disentanglement(matcher, tree, X, Y, numbers, seed=0)
        assert (found["labels"], found["rows"], found["matcher"], found["better"]) == (2, 40, 0, 100)
        assert found["random"] > 1


def write_rows(path, n_rows, seed):
    """Texts that name their labels, frequent labels more often; there are too many for one leaf, even if fused."""
    numbers = random.Random(seed)
    names = [f"topic{i}" for i in range(LABELS)]
    with path.open("w") as out:
        for row in range(n_rows):
            labels = sorted({names[row % LABELS], *numbers.choices(names, [1 / (i + 9) for i in range(LABELS)], k=2)})
            words = [*labels, *numbers.choices(["and", "the", "of", "with"], k=3)]
            out.write(json.dumps({"text": " ".join(words), "labels": labels}) + "\n")


def run(data, out, *more):
    command = [sys.executable, *RUN, str(data), "-o", str(out), *FAST, *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The data and what the experiments make of it."""
    data = tmp_path_factory.mktemp("data")
    (data / "wordnet").mkdir()
    write_rows(data / "wordnet/train.jsonl", 3000, seed=0)
    write_rows(data / "wordnet/test.jsonl", 200, seed=1)
    done = run(data, data / "out", "--sets", "wordnet")
    assert done.returncode == 0, done.stderr
    return data, data / "out"


def found_in(out, part):
    return json.loads((out / f"{part}.json").read_text())["wordnet"]


def lines_of(out, table):
    """The cells of a table's lines."""
    lines = (out / f"{table}.md").read_text().splitlines()
    return [line.strip("|").removeprefix(" ").split(" | ") for line in lines[2:] if line.startswith("|")]


def plain_number(cell):
    """What a cell says first."""
    return float(cell.split()[0].strip("*").replace("−", "-"))


class TestRun:
    def test_gains_are_those_of_the_figures(self, places):
        cases = found_in(places[1], "fused")
        assert [(case["k"], case["mode"]) for case in cases] == [(2, "easy"), (2, "hard"), (3, "easy"), (3, "hard")]
        for case, line in zip(cases, lines_of(places[1], "fused"), strict=True):
            assert [run["labels"] for run in case["runs"]] == [math.ceil(LABELS / case["k"])] * 2
            series = ["copies 2", "random 2", "copies 3", "random 3"][: 2 * (case["k"] - 1)]
            assert list(case["runs"][0]["models"]) == ["plain", *series]
            for name, cell in zip(series, line[5:], strict=False):
                gains = [run["models"][name]["P@5"] - run["models"]["plain"]["P@5"] for run in case["runs"]]
                assert plain_number(cell) == pytest.approx(np.mean(gains), abs=0.0051)
                assert cell.startswith("**") == (min(gains) > 0.005 or max(gains) < -0.005)
        assert len(lines_of(places[1], "fused-wordnet")) == 2 * 3 + 2 * 5
        assert lines_of(places[1], "fused-information")

    def test_copies_are_compared_with_the_plain_tree(self, places):
        runs, lines = found_in(places[1], "copies"), lines_of(places[1], "copies")
        assert [line[1] for line in lines] == list(runs[0]) == ["plain", "1", "2"]
        assert lines[0][-3:] == ["1.00", "1.00", "1.00 "]
        ratios = [each["2"]["train_cpu_s"] / each["plain"]["train_cpu_s"] for each in runs]
        assert float(lines[2][7]) == pytest.approx(np.median(ratios), abs=0.0051)
        assert runs[0]["1"]["copies_a_label"] == 1 < runs[0]["2"]["copies_a_label"] <= 2

    def test_every_variant_stands_beside_base_and_paper(self, places):
        found = found_in(places[1], "table4")
        assert [line[1] for line in lines_of(places[1], "table4")] == ["base", "without refit", "with refit"]
        assert len(lines_of(places[1], "table4-variants")) == 2 * 6
        assert found["with refit"][0]["max"] != found["with refit"][0]["mean"]
        assert found["random copies"][0]["copies_a_label"] == found["with refit"][0]["copies_a_label"]
        ours, *papers = lines_of(places[1], "table4-direction")
        assert [line[0] for line in papers][:2] == ["paper: Wiki10-31K", "paper: AmazonCat-13K"]
        assert papers[0][2] == "+0.43 / +1.70 / +1.50"
        refit = [b["max"]["P@5"] - a["max"]["P@5"] for a, b in zip(found["base"], found["with refit"], strict=True)]
        assert plain_number(ours[2].split(" / ")[2]) == pytest.approx(np.mean(refit), abs=0.0051)

    def test_costs_are_medians_of_ratios(self, places):
        rounds, lines = found_in(places[1], "cost"), lines_of(places[1], "cost")
        (refit,) = [line for line in lines if line[:2] == ["WordNet", "copies=2, with refit"]]
        for cell, figure in zip(refit[2:], ("train_cpu_s", "search_us", "call_us"), strict=True):
            ratios = [each["with refit"][figure] / each["base"][figure] for each in rounds]
            assert plain_number(cell) == pytest.approx(np.median(ratios), abs=0.0051)

    def test_other_models_stand_without_and_with_copies(self, places):
        found, lines = found_in(places[1], "combined"), lines_of(places[1], "combined")
        assert [line[1] for line in lines] == list(found)
        for line, ways in zip(lines, found.values(), strict=True):
            assert line[2].startswith(f"{ways['plain']['P@1']:.2f} → {ways['copies']['P@1']:.2f} (")

    def test_pictures_are_sound_and_small(self, places):
        pictures = sorted(places[1].glob("*.svg"))
        assert [path.name for path in pictures] == ["disentanglement-copies.svg", "disentanglement-fused.svg"]
        for path in pictures:
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
            assert path.stat().st_size < 60_000

    def test_a_second_run_trains_nothing_again(self, places):
        before = {path: path.stat().st_mtime_ns for path in places[1].rglob("runs/*/*.json")}
        tables = {path: path.read_bytes() for path in [*places[1].glob("*.md"), *places[1].glob("*.svg")]}
        assert before
        done = run(*places, "--sets", "wordnet")
        assert done.returncode == 0, done.stderr
        assert {path: path.stat().st_mtime_ns for path in places[1].rglob("runs/*/*.json")} == before
        assert {path: path.read_bytes() for path in tables} == tables
        assert done.stderr.splitlines() == [f"wordnet: {part}" for part in PARTS]

    def test_unknown_parts_are_named_with_those_there_are(self, places):
        done = run(*places, "--parts", "speed")
        assert done.returncode == 2
        assert f"there is no 'speed'; there are: {', '.join(PARTS)}" in done.stderr
