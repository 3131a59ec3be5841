"""Arrays that a caller passes to public functions: matrices, groups, weights, filters, label ids, settings."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np

from attack import hostile_arrays as hostile
from attack import model_samples, mutations
from attack.answers import check_top, len_of, same_answers
from attack.protocol import WRONG, Attack, Case, Failure

_MODELS = ("TreeClassifier", "OneVsRest", "CentroidClassifier", "SoftmaxTreeClassifier")
_QUICK: dict[str, dict[str, Any]] = {
    "TreeClassifier": {"tree": "balanced", "max_leaf": 4},
    "SoftmaxTreeClassifier": {"dim": 4, "epochs": 1},
}


def model_for(case: Case) -> Any:
    """An unfitted model of some kind."""
    import labelwood as lw

    name = case.rng.choice(_MODELS)
    return getattr(lw, name)(**_QUICK.get(name, {}), n_threads=case.rng.choice([1, 2]))


def fit(case: Case) -> None:
    """Learns from a hostile X, Y or weights; where they mean the same as sound ones, the model must be the same."""
    X, Y = model_samples.rows(n_rows=60)
    model, made, given = model_for(case), None, [X, Y]
    which = case.rng.choice([0, 1, 1, 2])
    weights = None
    if which == 2:
        weights = hostile.vector(case.rng, 60).value
    else:
        made = hostile.matrix(case.rng, given[which])
        given[which] = made.value
    top = copy.copy(model).fit(*given, row_weights=weights).predict_topk(X, 3)
    check_top(top, len_of(X), 3, top.ids.max() + 1)
    if made is not None and made.same_as is not None:
        same = copy.copy(model).fit(X, Y).predict_topk(X, 3)
        dense = isinstance(made.value, list | np.ndarray) and which == 0
        if not same_answers(top, same) and not (dense and np.allclose(top.scores, same.scores, atol=1e-3)):
            raise Failure(WRONG, f"{type(model).__name__} learns something else from {made.how}")


def predict(case: Case) -> None:
    """Asks a model about hostile rows, with a hostile k and hostile limits."""
    import labelwood as lw

    name = case.rng.choice(_ROWS)
    model = lw.load(case.samples / name)
    X = model_samples.questions(name)
    made = hostile.matrix(case.rng, X)
    k = case.rng.choice([1, 3, 3, 3, 100, 0, -1, 2**31 - 1, 2**31, 2**63, 1.0, True, None, "3", np.int8(3)])
    limits: dict[str, Any] = {}
    if case.rng.random() < 0.4:
        limits[case.rng.choice(["include", "exclude"])] = hostile.vector(case.rng, 5).value
    if case.rng.random() < 0.2:
        limits["min_score"] = case.rng.choice([np.nan, np.inf, -np.inf, "1", [], 10**400, None, 0.5])
    rows = X if case.rng.random() < 0.3 else made.value
    top = model.predict_topk(rows, k, **limits)
    check_top(top, len(top), int(k), model.n_labels_)
    if rows is made.value and made.same_as is not None:
        same = model.predict_topk(X, k, **limits)
        if not np.array_equal(top.ids, same.ids) and not np.allclose(top.scores, same.scores, atol=1e-3):
            raise Failure(WRONG, f"another answer for {made.how}")


def settings(case: Case) -> None:
    """Changes parameters to hostile values before or after learning."""
    import labelwood as lw

    X, Y = model_samples.rows(n_rows=60)
    model = model_for(case)
    after = case.rng.random() < 0.5
    if after:
        model.fit(X, Y)
    name = case.rng.choice(sorted(set(model.get_params()) - {"verbose"}))
    old = model.get_params()[name]
    new = mutations.value(case.rng, case.rng.choice([old, 1, 1.0, "max"]), mutations.TEXTS)
    if (
        name in {"n_trees", "epochs", "max_passes", "rounds", "dim", "n_threads"}
        and isinstance(new, int | float)
        and new > 50
    ):
        return  # so much work is asked for honestly
    model.set_params(**{name: new})
    if not after:
        model.fit(X, Y)
    top = model.predict_topk(X, 3)
    check_top(top, len_of(X), 3, model.n_labels_)
    model.save(case.folder / "model")
    if not same_answers(lw.load(case.folder / "model").predict_topk(X, 3), top):
        raise Failure(WRONG, f"another answer after a save with {name}={new!r:.40}")


def metrics(case: Case) -> None:
    """Measures hostile answers against hostile labels, filters and propensities."""
    import labelwood as lw
    from labelwood.labels import inverse_propensities, label_frequencies

    _, Y = model_samples.rows(n_rows=60)
    ids = np.tile(np.arange(3), (60, 1)).astype(np.int32)
    scores = np.tile(np.float32([3, 2, 1]), (60, 1))
    top, truth, more = lw.TopK(ids, scores), Y, {}
    which = case.rng.randrange(5)
    if which == 0:
        ids = hostile.matrix(case.rng, Y[:, :3]).value
        top = case.rng.choice([ids, lw.TopK(ids, scores), lw.TopK(scores, scores), lw.TopK(ids, ids), ids])
    elif which == 1:
        truth = hostile.matrix(case.rng, Y).value
    elif which == 2:
        more["filters"] = hostile.pairs(case.rng, 60, Y.shape[1])
    elif which == 3:
        more["inv_propensity"] = hostile.vector(case.rng, Y.shape[1]).value
    else:
        label_frequencies(hostile.matrix(case.rng, Y).value)
        inverse_propensities(hostile.vector(case.rng, 9).value, case.rng.choice([0, -1, 9, 10**30, None, 2.5]))
    if case.rng.random() < 0.2:
        more["ks"] = case.rng.choice([(), (0,), (-1,), (2**31,), ("a",), 3, None, (1, 1), (2.5,)])
    figures = lw.metrics.evaluate(top, truth, **more)
    if not all(-1e-6 <= figure <= 100 + 1e-3 for figure in figures.values()):
        raise Failure(WRONG, f"figures outside of 0 to 100: {figures}")


def groups(case: Case) -> None:
    """Hands out labels of hostile groups."""
    import labelwood as lw

    X, Y = model_samples.rows(n_rows=60)
    of_row, counts = np.arange(60) // 3, Y[:20]
    which = case.rng.randrange(3)
    if which == 0:
        X = hostile.matrix(case.rng, X).value
    elif which == 1:
        of_row = hostile.vector(case.rng, 60).value
    else:
        counts = hostile.matrix(case.rng, counts).value
    if case.rng.random() < 0.5:
        given = lw.Eagle(n_threads=1).fit_transform(X, of_row, counts)
        if given.shape[0] != 60 or not np.isfinite(given.data).all():
            raise Failure(WRONG, "what was handed out has another shape or is not finite")
    else:
        lw.groups.MultiInstanceClassifier(hidden=2, epochs=1, device="cpu", n_threads=1).fit((X, of_row), counts)


def trees(case: Case) -> None:
    """Builds label trees from hostile vectors and from hostile arrays of nodes."""
    import labelwood as lw

    X, Y = model_samples.rows(n_rows=60)
    if case.rng.random() < 0.5:
        vectors = hostile.matrix(case.rng, X).value
        build = case.rng.choice(list(lw.trees.BUILDERS.values()))
        tree = build(
            vectors, arity=case.rng.choice([2, 16, 0, 10**9]), max_leaf=case.rng.choice([1, 5, 0]), seed=0, n_threads=1
        )
        if sorted(tree.labels.tolist()) != list(range(tree.n_labels)):
            raise Failure(WRONG, "the tree does not hold every label once")
    else:
        tree = lw.trees.balanced(X[:24], arity=2, max_leaf=4, seed=0, n_threads=1)
        parts = {name: getattr(tree, name) for name in ("child_ptr", "label_ptr", "labels")}
        name = case.rng.choice(sorted(parts))
        parts[name] = mutations.array(case.rng, parts[name])
        given = lw.trees.LabelTree(**parts, n_labels=case.rng.choice([24, 24, 24, 25, 23, 0, 2**31]))
        lw.TreeClassifier(tree=given, n_threads=1).fit(X, Y).predict_topk(X, 3)


def texts(case: Case) -> None:
    """Learns from texts that are none, and asks about such."""
    import labelwood as lw

    good, Y, _ = model_samples.texts(n_rows=48)
    bad: list[Any] = list(good)
    words = [
        None,
        3,
        0.5,
        b"bytes",
        "",
        " ",
        "\x00",
        "\ud800",
        "x" * 10**6,
        "\u202e" * 99,
        ["a"],
        float("nan"),
        "é" * 999,
        "\U0010ffff",
    ]
    for _ in range(case.rng.choice([1, 48])):
        bad[case.rng.randrange(48)] = case.rng.choice(words)
    bad = case.rng.choice(
        [bad, bad, np.array(bad, object), "one text", None, 5, good[:5], iter(good), [], {"a": 1}, [good]]
    )
    names: Any = [[f"n{label}"] for label in Y.indices]
    if case.rng.random() < 0.3:
        names = case.rng.choice(
            [names[:5], None, "n", [["\ud800"]] * 48, [[None]] * 48, [[]] * 48, [3] * 48, [["\x00", ""]] * 48]
        )
    sound = lw.load(case.samples / "text")
    if case.rng.random() < 0.5:
        top = sound.predict_topk(bad, 3)
        check_top(top, len(top), 3, len(sound.labels_))
    else:
        lw.TextClassifier(model="centroid", n_threads=1).fit(bad, names).suggest(good[:3])


def warm(samples: Path) -> None:
    """Loads what all of them need."""
    import labelwood as lw

    X, Y = model_samples.rows(n_rows=60)
    for name in _MODELS:
        getattr(lw, name)(**_QUICK.get(name, {}), n_threads=2).fit(X, Y).predict_topk(X, 3)
    lw.load(samples / "text").predict_topk(["a"], 1)


def warm_groups(samples: Path) -> None:
    """Loads torch."""
    import labelwood as lw

    del samples
    X, Y = model_samples.rows(n_rows=60)
    groups = np.arange(60) // 3
    lw.groups.MultiInstanceClassifier(hidden=2, epochs=1, device="cpu", n_threads=1).fit((X, groups), Y[:20])


_SHARED: dict[str, Any] = {"native": True, "group": "models", "prepare": model_samples.save_all, "warm": warm}
_ROWS = sorted(set(model_samples.MADE) - model_samples.READ_TEXTS)
ATTACKS = [
    Attack("arrays-fit", "passes hostile rows, labels and weights to fit of every engine", fit, 3000, 25.0, **_SHARED),
    Attack(
        "arrays-predict", "asks models about hostile rows, with a hostile k and limits", predict, 3000, 20.0, **_SHARED
    ),
    Attack("arrays-metrics", "measures hostile answers, labels, filters, propensities", metrics, 2000, 12.0, **_SHARED),
    Attack(
        "arrays-groups", "hands out labels of hostile groups", groups, 1000, 15.0, **(_SHARED | {"warm": warm_groups})
    ),
    Attack("arrays-trees", "builds trees from hostile vectors and nodes", trees, 1000, 12.0, **_SHARED),
    Attack("arrays-texts", "learns from and asks about texts that are none", texts, 500, 12.0, **_SHARED),
    Attack("settings", "changes parameters to hostile values before and after fit", settings, 1500, 20.0, **_SHARED),
]
