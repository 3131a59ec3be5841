"""On every test row of real data, best-first search gives the answers of beam search level by level."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import labelwood as lw
from labelwood import _native
from labelwood.arrays.options import options_of
from labelwood.arrays.rows import as_features
from labelwood.contract.limits import NO_LIMITS
from labelwood.text import TextVectorizer

DATA = Path(os.environ.get("LABELWOOD_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


@pytest.mark.parametrize("tree", ["kmeans", "interpolated"])
@pytest.mark.parametrize("name", ["wordnet", "debian_deps"])
def test_every_row_has_the_answers_of_beam_search(name, tree):
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not here; set LABELWOOD_DATA to the folder that holds it")
    train, test = (lw.read(DATA / name, split=split) for split in ("train", "test"))
    vectorizer = TextVectorizer()
    model = lw.TreeClassifier(tree=tree, max_leaf=100).fit(vectorizer.fit_transform(train.texts), train.Y)
    rows = as_features(vectorizer.transform(test.texts))
    how = {"beam": 10, "link": model.link, "path_weight": 1.0, "normalize": True}
    options = options_of(_native.SearchOptions, how)
    first, costs = model.trees_[0].topk(rows, 5, options, limits=NO_LIMITS, n_threads=2, best_first=True)
    level, all_costs = model.trees_[0].topk(rows, 5, options, limits=NO_LIMITS, n_threads=2, best_first=False)
    assert len(first) == rows.n_rows > 5000
    assert np.array_equal(first.ids, level.ids)
    assert np.array_equal(first.scores, level.scores)
    assert costs.leaves < all_costs.leaves / 2
