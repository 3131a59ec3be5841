"""The public functions and classes that take arrays, each as a function of a problem's parameters.

`TARGETS` has for each the parameters that may be broken. What a target returns is compared with what it returns for the
sound problem, so it holds arrays and numbers only.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from tests.hostile.problem import sound

import labelwood as lw
from labelwood import groups as aggregated
from labelwood import labels as label_functions
from labelwood import metrics, trees
from labelwood.trees import LabelTree

TARGETS = {}
SLOW = {}  # those that take long: torch, encoders, many fits


def target(*parameters, slow=False):
    def keep(function):
        (SLOW if slow else TARGETS)[function.__name__] = (function, parameters)
        return function

    return keep


def parts(top):
    return top.ids, top.scores


def tree_of(arrays):
    return LabelTree(*arrays, 6)


KINDS = {
    "tree": lambda: lw.TreeClassifier(max_leaf=2, n_threads=1),
    "one": lambda: lw.OneVsRest(n_threads=1),
    "softmax": lambda: lw.SoftmaxTreeClassifier(dim=8, epochs=2, n_threads=1),
    "centroid": lambda: lw.CentroidClassifier(n_threads=1),
    "several": lambda: lw.TreeClassifier(max_leaf=2, n_trees=2, copies=2, n_threads=1),
}


@cache
def fitted(kind, dense):
    p = sound(0, dense)
    return KINDS[kind]().fit(p["X"], p["Y"])


def _model_targets(kind):
    def fit(p):
        return parts(KINDS[kind]().fit(p["X"], p["Y"], row_weights=p["row_weights"]).predict_topk(p["X"], 3))

    def predict(p):
        model = fitted(kind, p["dense"])
        limits = {name: p[name] for name in ("include", "exclude", "min_score")}
        return parts(model.predict_topk(p["X"], p["k"], **limits)), model.predict(p["X"], p["k"]).toarray()

    def predict_one_row(p):
        return parts(fitted(kind, p["dense"]).predict_topk(p["row"], p["k"]))

    def score(p):
        return fitted(kind, p["dense"]).score(p["X"], p["Y"])

    fit.__name__, predict.__name__ = f"{kind}.fit", f"{kind}.predict_topk"
    predict_one_row.__name__, score.__name__ = f"{kind}.predict_topk of one row", f"{kind}.score"
    target("X", "Y", "row_weights")(fit)
    target("X", "k", "include", "exclude", "min_score")(predict)
    target("row", "k")(predict_one_row)
    target("X", "Y")(score)


for _kind in KINDS:
    _model_targets(_kind)


@target("X")
def softmax_embed(p):
    return fitted("softmax", p["dense"]).embed(p["X"])


@target("X", "k")
def search_costs(p):
    return [fitted(kind, p["dense"]).search_costs(p["X"], p["k"]) for kind in ("tree", "softmax")]


@target("X", "k")
def search_seconds(p):
    return fitted("tree", p["dense"]).search_seconds(p["X"], p["k"]).shape


@target("X", "k")
def calibrate(p):
    return fitted("several", p["dense"]).calibrate(p["X"], k=p["k"], loss=0.7).slacks_.of_tree


@target("X", "Y")
def disentangle(p):
    return parts(lw.disentangle(fitted("tree", p["dense"]), p["X"], p["Y"]).predict_topk(p["X"], 3))


@target("X", "groups", "group_labels")
def eagle(p):
    model = lw.Eagle(iterations=3, n_threads=1)
    return model.fit_transform(p["X"], p["groups"], p["group_labels"]).toarray(), model.label_embeddings_


@target("X", "groups", "group_labels")
def eagle_with_negatives(p):
    model = lw.Eagle(iterations=3, n_threads=1, negatives=0.5, leave_out=True, repeats="topc", assign="soft")
    return model.fit_transform(p["X"], p["groups"], p["group_labels"]).toarray()


@target("X", "groups", "group_labels")
def eagle_transform(p):
    q = sound(0, p["dense"])
    model = lw.Eagle(iterations=3, n_threads=1).fit(q["X"], q["groups"], q["group_labels"])
    return model.transform(p["X"], p["groups"], p["group_labels"]).toarray()


@target("X", "groups", "group_labels")
def imputed(p):
    return aggregated.impute(p["X"], p["groups"], p["group_labels"]).Y.toarray()


@target("groups", "group_labels")
def baseline(p):
    return aggregated.baseline_labels(p["groups"], p["group_labels"]).toarray()


@target("X", "groups")
def mixedness(p):
    return aggregated.mixedness(p["X"], p["groups"])


@target("Y", "groups")
def merged(p):
    return aggregated.merged_labels(p["Y"], p["groups"]).toarray()


@target("X", "count", "seed", "n_threads")
def clustered(p):
    return aggregated.clustered_groups(p["X"], p["count"], p["seed"], n_threads=p["n_threads"])


@target("X", "lam", "seed")
def noisy(p):
    return aggregated.noisy_groups(p["X"], 2, p["lam"], p["seed"], n_threads=1)


@target("count", "seed")
def random_groups(p):
    return aggregated.random_groups(20, p["count"], p["seed"])


@target("top", "Y", "k", "filters", "inv_propensity", "n_threads")
def evaluate(p):
    options = {name: p[name] for name in ("filters", "inv_propensity", "n_threads")}
    return metrics.evaluate(p["top"], p["Y"], ks=(1, p["k"]), **options)


@target("scores", "Y", "k", "filters", "inv_propensity")
def evaluate_scores(p):
    return metrics.evaluate(p["scores"], p["Y"], ks=(p["k"],), filters=p["filters"], inv_propensity=p["inv_propensity"])


@target("top", "Y", "k", "filters", "n_threads")
def per_label(p):
    return metrics.per_label(p["top"], p["Y"], p["k"], filters=p["filters"], n_threads=p["n_threads"]).f1


@target("top", "Y", "frequencies", "k", "filters", "inv_propensity")
def per_bin(p):
    options = {name: p[name] for name in ("filters", "inv_propensity")}
    return [vars(b) for b in metrics.per_bin(p["top"], p["Y"], p["frequencies"], p["k"], **options)]


@target("top", "filters", "answers_scores")
def apply_filter(p):
    return parts(metrics.apply_filter(p["top"], p["filters"]))


@target("filters")
def extra_candidates(p):
    return metrics.extra_candidates(p["filters"], 16)


@target("top", "k")
def expected_depth(p):
    return trees.expected_depth(tree_of(sound(0)["tree"]), p["top"], ks=(p["k"],))


@target("frequencies")
def frequency_thresholds(p):
    return metrics.frequency_thresholds(p["frequencies"])


@target("Y")
def label_frequencies(p):
    return label_functions.label_frequencies(p["Y"])


@target("Y")
def labels_to_cover(p):
    return label_functions.labels_to_cover(p["Y"])


@target("frequencies", "count")
def inverse_propensities(p):
    return label_functions.inverse_propensities(p["frequencies"], p["count"]).values


@target("X", "Y", "n_threads")
def pifa(p):
    return label_functions.pifa(p["X"], p["Y"], n_threads=p["n_threads"])


@target("tree")
def label_tree(p):
    tree = LabelTree(*p["tree"], 6)
    return tree.label_depths, tree.parents


@target("tree", "weights")
def tree_expected_depth(p):
    return tree_of(p["tree"]).expected_depth(p["weights"])


@target("tree", "weights")
def single_leaves(p):
    return trees.with_single_leaves(tree_of(p["tree"]), p["weights"]).label_depths


@target("tree", "X", "Y")
def given_tree(p):
    model = lw.TreeClassifier(tree=tree_of(p["tree"]), n_threads=1).fit(p["X"], p["Y"])
    return parts(model.predict_topk(p["X"], 3))


@target("vectors", "count", "seed", "n_threads")
def balanced(p):
    return trees.balanced(p["vectors"], max_leaf=p["count"], seed=p["seed"], n_threads=p["n_threads"]).arrays()


@target("vectors", "count", "seed", "n_threads")
def kmeans(p):
    options = {"max_leaf": p["count"], "seed": p["seed"], "n_threads": p["n_threads"]}
    return trees.kmeans(p["vectors"], arity=2, min_size=1, **options).arrays()


@target("vectors", "Y", "row_weights", "lam", "count", "seed")
def interpolated(p):
    options = {"row_weights": p["row_weights"], "lam": p["lam"], "seed": p["seed"], "max_leaf": p["count"]}
    return trees.interpolated(p["vectors"], p["Y"], n_threads=1, **options).arrays()


@target("vectors", "count", "seed")
def random_tree(p):
    return trees.random_tree(p["vectors"], max_leaf=p["count"], seed=p["seed"]).arrays()


@target("weights")
def codes(p):
    return trees.huffman(p["weights"]).arrays(), trees.fano(p["weights"]).arrays()


@target("tree", "Y", "reached", "count")
def overlapping(p):
    return trees.overlapping(tree_of(p["tree"]), p["Y"], p["reached"], copies=p["count"], n_threads=1).arrays()


@target("top", "answers_scores", "Y", "inv_propensity", "k")
def fusion(p):
    top = p["top"]
    fused = lw.Fusion().fit([top, top], p["Y"], p["inv_propensity"])
    return parts(fused.combine([top, top], p["k"]))


TEXTS = [f"word{i % 5} term{i % 3} and{i}" for i in range(16)]


@target("labels")
def text_fit(p):
    tagger = lw.TextClassifier(model="centroid", n_threads=1).fit(TEXTS, p["labels"])
    return parts(tagger.predict_topk(TEXTS, 3))


@target("group_labels", "groups")
def text_fit_grouped(p):
    tagger = lw.TextClassifier(model="centroid", n_threads=1).fit_grouped(TEXTS, p["groups"], p["group_labels"])
    return parts(tagger.predict_topk(TEXTS, 3))


@target("X", "Y", "filters")
def dataset(p):
    name = "dense" if p["dense"] else "sparse"
    data = lw.Dataset(**{name: p["X"]}, Y=p["Y"], labels=list("abcdef"), filters=p["filters"])
    if p["dense"]:
        return data.take(range(16)).dense
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        how = {"overwrite": True, "drop": ["filters", "weights"]}
        lw.write(data.take(range(16)), path, **how)
        lw.write(data, path, **how)
        written = path.read_text()
    return written, len(data)


@target("X", "Y", "filters")
def text_fit_dataset(p):
    name = "dense" if p["dense"] else "sparse"
    data = lw.Dataset(**{name: p["X"]}, Y=p["Y"], labels=list("abcdef"), filters=p["filters"])
    tagger = lw.TextClassifier(model="centroid", n_threads=1).fit_dataset(data)
    return parts(tagger.predict_topk(data, 3)), tagger.evaluate(data, ks=(1,))


@target("X", "bags", "Y_bags", slow=True)
def multi_instance(p):
    model = aggregated.MultiInstanceClassifier(hidden=4, concepts=1, epochs=1, n_threads=1)
    model.fit((p["X"], p["bags"]), p["Y_bags"])
    return parts(model.predict_bags((p["X"], p["bags"]), 3))


@target("X", "groups", "group_labels", slow=True)
def choose_eagle(p):
    few = [{"iterations": 1}, {"iterations": 2}]
    return aggregated.choose_eagle(p["X"], p["groups"], p["group_labels"], candidates=few).tried


@target("Y", "filters", slow=True)
def prime(p):
    settings = {"encoder": {"checkpoint": "tiny"}, "training": {"epochs": 1}}
    model = lw.PrimeClassifier(settings=settings, n_threads=1).fit(TEXTS, p["Y"], list("abcdef"), filters=p["filters"])
    return parts(model.predict_topk(TEXTS, 3, filters=p["filters"]))
