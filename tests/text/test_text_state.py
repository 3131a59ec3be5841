import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.text import TextVectorizer

TEXTS = ["the oak and the elm", "ΟΔΟΣ Σ oak", "漢字 pine", "", "elm elm e\u0301"]
SETTINGS = [
    {},
    {"ngrams": (1, 2), "stop_words": ["the"], "min_df": 2},
    {"analyzer": "char_wb", "ngrams": (2, 4), "max_features": 20},
    {"use_idf": False, "norm": None},
    {"n_buckets": 64},
    {"n_buckets": 64, "use_idf": False},
    {"strip_accents": True, "lowercase": False},
]


def fitted_state(**params):
    return TextVectorizer(**params).fit(TEXTS).state()


def changed(state, **arrays):
    return dataclasses.replace(state, arrays=dict(state.arrays) | arrays)


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("verify", [True, False])
def test_a_state_gives_back_the_same_vectorizer(params, verify):
    vectorizer = TextVectorizer(**params, n_threads=1)
    expected = vectorizer.fit_transform(TEXTS)
    state = vectorizer.state()
    assert state.kind == "text-vectorizer"
    assert "n_threads" not in state.params
    for array in state.arrays.values():
        array.setflags(write=False)
    stored = dataclasses.replace(
        state,
        params=json.loads(json.dumps(dict(state.params))),
        fitted=json.loads(json.dumps(dict(state.fitted))),
        verify=verify,
    )
    again = TextVectorizer.from_state(stored)
    assert (again.transform(TEXTS) != expected).nnz == 0
    assert again.n_features_ == vectorizer.n_features_
    assert again.get_params() == vectorizer.get_params() | {"n_threads": None}
    if "n_buckets" not in params:
        assert again.get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()


def with_item(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


HOSTILE = {
    "no bytes": lambda s: {"term_bytes": s["term_bytes"][:0]},
    "bytes cut off": lambda s: {"term_bytes": s["term_bytes"][:-1]},
    "bytes of another type": lambda s: {"term_bytes": s["term_bytes"].astype(np.int32)},
    "bytes in two dimensions": lambda s: {"term_bytes": s["term_bytes"][None]},
    "not utf-8": lambda s: {"term_bytes": with_item(s["term_bytes"], -1, 0xFF)},
    "too few offsets": lambda s: {"term_offsets": s["term_offsets"][:-1]},
    "no offsets": lambda s: {"term_offsets": s["term_offsets"][:0]},
    "offset too large": lambda s: {"term_offsets": with_item(s["term_offsets"], -1, 2**60)},
    "offset inside too large": lambda s: {"term_offsets": with_item(s["term_offsets"], 1, 2**60)},
    "negative offset": lambda s: {"term_offsets": with_item(s["term_offsets"], 1, -5)},
    "first offset not zero": lambda s: {"term_offsets": with_item(s["term_offsets"], 0, 1)},
    "terms out of order": lambda s: {"term_bytes": with_item(s["term_bytes"], 0, ord("z"))},
    "idf cut off": lambda s: {"idf": s["idf"][:-1]},
    "idf not finite": lambda s: {"idf": with_item(s["idf"], 0, np.inf)},
    "idf negative": lambda s: {"idf": with_item(s["idf"], 0, -1.0)},
    "idf of another type": lambda s: {"idf": s["idf"].astype(np.float32)},
}


@pytest.mark.parametrize("damage", HOSTILE.values(), ids=HOSTILE)
def test_damaged_arrays_are_refused(damage):
    state = fitted_state()
    with pytest.raises(ModelError):
        TextVectorizer.from_state(changed(state, **damage(dict(state.arrays))))


@pytest.mark.parametrize("name", ["idf", "term_bytes", "term_offsets"])
def test_missing_arrays_are_refused(name):
    state = fitted_state()
    arrays = {k: v for k, v in state.arrays.items() if k != name}
    with pytest.raises(ModelError, match=name):
        TextVectorizer.from_state(dataclasses.replace(state, arrays=arrays))


@pytest.mark.parametrize("n_features", [0, -1, 3, 2**40, "8", None, True])
def test_a_wrong_number_of_features_is_refused(n_features):
    for params in ({}, {"n_buckets": 64}, {"n_buckets": 64, "use_idf": False}):
        state = dataclasses.replace(fitted_state(**params), fitted={"n_features": n_features})
        with pytest.raises(ModelError):
            TextVectorizer.from_state(state)


@pytest.mark.parametrize("wrong", [{"analyzer": "x"}, {"ngrams": [2, 1]}, {"ngrams": "ab"}, {"colour": 1}])
def test_wrong_parameters_are_refused(wrong):
    state = fitted_state()
    with pytest.raises(ParameterError):
        TextVectorizer.from_state(dataclasses.replace(state, params=dict(state.params) | wrong))


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["term_bytes", "term_offsets"]),
    place=st.integers(0, 10**6),
    value=st.integers(0, 2**63 - 1),
)
def test_any_single_damage_is_an_error_or_harmless(name, place, value):
    state = fitted_state()
    array = state.arrays[name]
    damaged = with_item(array, place % len(array), np.array(value).astype(array.dtype))
    try:
        vectorizer = TextVectorizer.from_state(changed(state, **{name: damaged}))
    except LabelwoodError:
        return
    assert vectorizer.transform(TEXTS).shape == (len(TEXTS), vectorizer.n_features_)
