import json
import pickle
import re
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from labelwood.errors import LabelwoodError, NotFittedError, ParameterError
from labelwood.text import TextVectorizer

SCRIPTS = [
    "The naïve café's façade — Ångström, Œuvre, straße, ĳsberg, ŉ ǅ",
    "ΟΔΥΣΣΕΥΣ και ΣΙΣΥΦΟΣ, Σ ΑΣ ΣΑ ΑΣ. ΑΣ' Α ΑΣ\u0301Β άλφα ΆΛΦΑ",
    "İstanbul ISPARTA ığdır Iğdır İİ İ xİx diyarbakır",
    "Съешь ЕЩЁ этих мягких французских булок Ёж",
    "שָׁלוֹם עולם \u200fשלום",
    "السَّلامُ عليكم ورحمة الله ١٢٣ ـــ",
    "नमस्ते दुनिया क्षत्रिय १२३ हिन्दी",
    "สวัสดีชาวโลก ๑๒๓ น้ำ",
    "漢字かな交じり文。全角ＡＢＣ１２３　カタカナ ｶﾀｶﾅ",
    "안녕하세요 세계 \u1112\u1161\u11ab",
    "👩‍👩‍👧 👍🏽 emoji 🇩🇪 a👍b",
    "e\u0301 a\u0308bc n\u0303 \u0301alone x\u200dy x\u200cy",
    "x² x³ ½ Ⅷ ⅷ ① ٣ ፩ 𝟘𝟙 ᴬ ª º K Å ẞ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐀𐐁 𐐨 𞤀𞤢 𝒳_𝒴 𠀀𠀁",
    "snake_case __init__ _ a b c 1 22 x1 don't e-mail",
    "tab\tnew\nline\r\nsep\x1c\x1d\x1e\x1fx\x85y\u2028z\u3000w  \u00a0 two\xa0nbsp \u200b",
    "",
    "   \n\t ",
    "the the the THE The oak oak elm",
]
ANALYZERS = [("word", (1, 1)), ("word", (1, 3)), ("word", (2, 2)), ("char", (1, 1)), ("char", (1, 3))]
ANALYZERS += [("char", (3, 5)), ("char_wb", (1, 1)), ("char_wb", (2, 5)), ("char_wb", (1, 9))]


def reference(**params):
    """scikit-learn's vectorizer with our names and defaults."""
    params = {"sublinear_tf": True, "ngrams": (1, 1), "min_token": 2, "strip_accents": False} | params
    ngrams, min_token, accents = (params.pop(k) for k in ("ngrams", "min_token", "strip_accents"))
    if params.get("analyzer", "word") == "word":
        params["token_pattern"] = r"(?u)\b\w\w+\b" if min_token == 2 else r"(?u)\b\w+\b"
    return TfidfVectorizer(ngram_range=ngrams, strip_accents="unicode" if accents else None, **params)


def assert_same_matrix(ours, theirs):
    assert isinstance(ours, sparse.csr_array)
    assert ours.dtype == np.float32
    assert ours.indices.dtype == ours.indptr.dtype == np.int32
    assert ours.shape == theirs.shape
    theirs = theirs.copy()
    theirs.sort_indices()
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6, atol=1e-6)


def assert_equals_reference(texts, others=SCRIPTS, **params):
    theirs = reference(**params)
    ours = TextVectorizer(**params)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises(LabelwoodError):
            ours.fit_transform(texts)
        return
    got = ours.fit_transform(texts)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.n_features_ == len(theirs.vocabulary_)
    assert_same_matrix(got, expected)
    if ours.use_idf:
        np.testing.assert_allclose(ours.idf_, theirs.idf_, rtol=1e-12)
    fitted = TextVectorizer(**params).fit(texts)
    assert_same_matrix(fitted.transform(others), theirs.transform(others))


@pytest.mark.parametrize(("analyzer", "ngrams"), ANALYZERS)
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_every_script_equals_the_reference(analyzer, ngrams, lowercase, strip_accents):
    params = {"analyzer": analyzer, "ngrams": ngrams, "lowercase": lowercase, "strip_accents": strip_accents}
    assert_equals_reference(SCRIPTS, **params)


@pytest.mark.parametrize(
    "params",
    [
        {"min_token": 1},
        {"min_token": 1, "ngrams": (1, 2)},
        {"binary": True},
        {"sublinear_tf": False},
        {"use_idf": False},
        {"smooth_idf": False},
        {"norm": "l1"},
        {"norm": None},
        {"norm": None, "sublinear_tf": False, "use_idf": False},
        {"stop_words": ["the", "oak", "και", "漢字かな交じり文", "not there"]},
        {"stop_words": ["the"], "ngrams": (2, 3)},
        {"stop_words": []},
        {"stop_words": [""], "min_token": 1},
        {"min_df": 2},
        {"min_df": 0.1},
        {"min_df": 0.0},
        {"max_df": 2},
        {"max_df": 1},
        {"max_df": 0.1},
        {"min_df": 2, "max_df": 5, "analyzer": "char"},
        {"max_features": 7, "analyzer": "char", "ngrams": (1, 2)},
        {"max_features": 7, "analyzer": "char", "binary": True},
        {"max_features": 100, "analyzer": "char_wb", "ngrams": (1, 3), "min_df": 2},
        {"max_features": 10**6},
    ],
    ids=str,
)
def test_every_setting_equals_the_reference(params):
    assert_equals_reference(SCRIPTS * 2, **params)


@pytest.mark.parametrize("limit", [1, 10, 50, 333])
def test_ties_at_max_features_fall_as_in_the_reference(limit):
    texts = [" ".join(f"w{(i * j) % 97}" for j in range(30)) for i in range(200)]
    assert_equals_reference(texts, max_features=limit, ngrams=(1, 2))


def test_ngrams_may_be_a_list():
    assert_equals_reference(SCRIPTS, ngrams=(1, 2))
    as_list = TextVectorizer(ngrams=[1, 2]).fit_transform(SCRIPTS)
    as_tuple = TextVectorizer(ngrams=(1, 2)).fit_transform(SCRIPTS)
    assert (as_list != as_tuple).nnz == 0


# Characters that are likely to go wrong come more often than chance would have them.
TRICKY = st.sampled_from("ΣσςİıIi'·.\u0301\u0307\u00ad\u200d \t\n\x1c\x85\u2028\u3000_aA1²½Ⅷéßẞ漢\U0001d7d8\U00010400")
TEXT = st.text(TRICKY | st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab "), max_size=30)


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(TEXT, min_size=1, max_size=6),
    others=st.lists(TEXT, min_size=1, max_size=3),
    analyzer=st.sampled_from(["word", "char", "char_wb"]),
    shortest=st.integers(1, 4),
    longer=st.integers(0, 3),
    min_token=st.sampled_from([1, 2]),
    lowercase=st.booleans(),
    strip_accents=st.booleans(),
)
def test_any_text_equals_the_reference(texts, others, shortest, longer, **params):
    assert_equals_reference(texts, others, ngrams=(shortest, shortest + longer), **params)


@pytest.mark.slow
def test_every_code_point_is_lowered_and_tokenised_as_python_does():
    points = [chr(p) for p in range(sys.maxunicode + 1) if not 0xD800 <= p < 0xE000]
    pages = ["".join(f"a{c}b{c} " for c in points[i : i + 64]) for i in range(0, len(points), 64)]
    words = TextVectorizer(min_token=1, use_idf=False).fit(pages).get_feature_names_out()
    expected = sorted({w for page in pages for w in re.findall(r"\w+", page.lower())})
    assert words.tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_code_point_is_split_at_spaces_as_python_does(lowercase):
    points = [chr(p) for p in range(sys.maxunicode + 1) if not 0xD800 <= p < 0xE000]
    pages = ["".join(f"a{c}b " for c in points[i : i + 64]) for i in range(0, len(points), 64)]
    vectorizer = TextVectorizer(analyzer="char_wb", ngrams=(9, 9), lowercase=lowercase, use_idf=False).fit(pages)
    seen = (page.lower() if lowercase else page for page in pages)
    expected = sorted({f" {w} " for page in seen for w in page.split()})
    assert vectorizer.get_feature_names_out().tolist() == expected


@pytest.mark.parametrize(("analyzer", "ngrams"), ANALYZERS)
@pytest.mark.parametrize("n_buckets", [1, 7, 1000, 2**20, 2**31 - 1])
def test_hashing_equals_the_reference(analyzer, ngrams, n_buckets):
    use_idf = n_buckets < 2**30  # an idf weight for each of two billion buckets would not fit
    params = {"analyzer": analyzer, "norm": "l1"}
    hashing = HashingVectorizer(
        n_features=n_buckets, alternate_sign=False, **(params | {"norm": None}), ngram_range=ngrams
    )
    weighing = TfidfTransformer(sublinear_tf=True, norm="l1", use_idf=use_idf)
    ours = TextVectorizer(n_buckets=n_buckets, ngrams=ngrams, use_idf=use_idf, **params)
    expected = weighing.fit_transform(hashing.transform(SCRIPTS))
    assert_same_matrix(ours.fit_transform(SCRIPTS), expected)
    others = [text[::-1] for text in SCRIPTS]
    assert_same_matrix(ours.fit(SCRIPTS).transform(others), weighing.transform(hashing.transform(others)))
    assert ours.n_features_ == n_buckets


def test_hashed_counts_are_made_binary_after_adding_up():
    hashing = HashingVectorizer(n_features=3, alternate_sign=False, norm=None, binary=True)
    expected = TfidfTransformer(sublinear_tf=False).fit_transform(hashing.transform(SCRIPTS))
    ours = TextVectorizer(n_buckets=3, binary=True, sublinear_tf=False)
    assert_same_matrix(ours.fit_transform(SCRIPTS), expected)


def test_a_bucket_never_seen_has_no_weight_without_smoothing():
    vectorizer = TextVectorizer(n_buckets=2**16, smooth_idf=False).fit(["oak"])
    row = vectorizer.transform(["oak elm"])
    assert row.nnz == 1
    assert row.data.tolist() == [1.0]


@pytest.mark.parametrize("n_buckets", [None, 512])
@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
def test_the_number_of_threads_does_not_change_a_byte(n_buckets, analyzer):
    texts = [" ".join(SCRIPTS[(i * 7 + j) % len(SCRIPTS)] for j in range(i % 5)) + f" w{i}" for i in range(700)]
    seen = set()
    for n_threads in (1, 2, 8):
        vectorizer = TextVectorizer(n_threads=n_threads, n_buckets=n_buckets, analyzer=analyzer, ngrams=(1, 2))
        fitted = vectorizer.fit_transform(texts)
        parts = [*vectorizer.state().arrays.values()]
        for X in (fitted, vectorizer.transform(texts)):
            parts += [X.indptr, X.indices, X.data]
        seen.add(b"".join(part.tobytes() for part in parts))
    assert len(seen) == 1


def test_fit_transform_equals_fit_and_transform_for_any_chunking():
    vectorizer = TextVectorizer(ngrams=(1, 2), min_df=2)
    together = vectorizer.fit_transform(SCRIPTS * 20)
    apart = sparse.vstack([vectorizer.transform([text]) for text in SCRIPTS * 20])
    assert (together != apart).nnz == 0


@pytest.mark.parametrize(
    "form",
    [
        tuple,
        iter,
        np.array,
        lambda t: np.array(t, object),
        lambda t: np.array(t, np.dtypes.StringDType()),
        lambda t: (np.str_(text) for text in t),
        pa.array,
        lambda t: pa.array(t, pa.large_string()),
        lambda t: pa.array(t).dictionary_encode(),
        lambda t: pa.array(["before", *t, "after"]).slice(1, len(t)),
        lambda t: pa.array(["before", *t, "after"], pa.large_string()).slice(1, len(t)),
        lambda t: pa.chunked_array([t[:5], [], t[5:]]),
        lambda t: pa.chunked_array([t]),
    ],
)
def test_texts_may_come_in_many_forms(form):
    vectorizer = TextVectorizer(min_token=1)
    expected = vectorizer.fit_transform(SCRIPTS)
    names = vectorizer.get_feature_names_out()
    got = vectorizer.fit_transform(form(SCRIPTS))
    assert (got != expected).nnz == 0
    assert vectorizer.get_feature_names_out().tolist() == names.tolist()


@pytest.mark.parametrize("empty", [[], np.array([], str), pa.array([], pa.string()), pa.chunked_array([], pa.string())])
def test_no_texts_give_no_rows_and_nothing_to_learn(empty):
    vectorizer = TextVectorizer().fit(["oak elm"])
    assert vectorizer.transform(empty).shape == (0, 2)
    for settings_ in ({}, {"n_buckets": 8}):
        with pytest.raises(LabelwoodError, match="no texts to learn from"):
            TextVectorizer(**settings_).fit(empty)


def test_one_text_is_enough_and_empty_texts_are_empty_rows():
    assert TextVectorizer().fit_transform(["oak"]).toarray().tolist() == [[1.0]]
    X = TextVectorizer().fit_transform(["", "oak", "  "])
    assert X.sum(axis=1).tolist() == [0, 1, 0]
    assert TextVectorizer(n_buckets=4).fit_transform(["", ""]).nnz == 0


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ("oak", "texts is a single string: give a list"),
        (b"oak", "texts is a single string: give a list"),
        (["oak", 3], "text 1 is of type int"),
        (["oak", "elm", None], "text 2 is of type NoneType"),
        (["oak", b"elm"], "text 1 is of type bytes"),
        (np.array(["oak", np.nan], object), "text 1 is of type float"),
        (np.array([["oak"]]), "texts has 2 dimensions"),
        (7, "texts is of type int"),
        (["fine", "bad \ud800 here"], "text 1 holds half of a surrogate pair"),
        (pa.array(["oak", None]), "text 1 is null"),
        (pa.chunked_array([["oak"], ["elm", None]]), "text 2 is null"),
        (pa.array([1, 2]), "Arrow array of type int64"),
        (pa.table({"text": ["oak"]}), "Arrow's type Table"),
    ],
)
def test_what_is_no_text_is_refused_with_its_row(texts, sentence):
    with pytest.raises(LabelwoodError, match=sentence):
        TextVectorizer().fit(texts)
    with pytest.raises(LabelwoodError, match=sentence):
        TextVectorizer().fit(["oak elm"]).transform(texts)


def test_an_arrow_array_that_is_not_utf8_is_refused():
    bad = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xc3\x28"))
    with pytest.raises(LabelwoodError, match="damaged Arrow array"):
        TextVectorizer().fit(bad)


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"analyzer": "words"}, "analyzer is 'words'"),
        ({"ngrams": (2, 1)}, "shorter length first"),
        ({"ngrams": (0, 1)}, "ngrams is"),
        ({"ngrams": [1, 2, 3]}, "ngrams is"),
        ({"ngrams": 2}, "ngrams is 2"),
        ({"min_token": 3}, "min_token is 3"),
        ({"lowercase": "yes"}, "lowercase is 'yes'"),
        ({"stop_words": "english"}, "stop_words is 'english'"),
        ({"stop_words": ["the"], "analyzer": "char"}, "stop_words needs analyzer='word'"),
        ({"min_df": 0}, "min_df is 0"),
        ({"min_df": 1.5}, "min_df is 1.5"),
        ({"max_df": -0.1}, "max_df is -0.1"),
        ({"max_df": float("nan")}, "max_df is nan"),
        ({"min_df": 3, "max_df": 2}, "fewer texts than min_df"),
        ({"min_df": 0.9, "max_df": 1}, "fewer texts than min_df"),
        ({"max_features": 0}, "max_features is 0"),
        ({"n_buckets": 0}, "n_buckets is 0"),
        ({"n_buckets": 2**31}, "n_buckets is 2147483648"),
        ({"n_buckets": 8, "min_df": 2}, "min_df needs a vocabulary"),
        ({"n_buckets": 8, "max_features": 2}, "max_features needs a vocabulary"),
        ({"norm": "l3"}, "norm is 'l3'"),
        ({"n_threads": 0}, "n_threads is 0"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_at_fit(params, sentence):
    vectorizer = TextVectorizer(**params)
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        vectorizer.fit(["oak elm", "oak pine"])


def test_texts_without_terms_are_refused():
    with pytest.raises(LabelwoodError, match="empty vocabulary"):
        TextVectorizer().fit(["", "a b"])
    with pytest.raises(LabelwoodError, match="empty vocabulary"):
        TextVectorizer(stop_words=["oak"]).fit(["oak"])
    with pytest.raises(LabelwoodError, match="no terms remain"):
        TextVectorizer(min_df=2).fit(["oak", "elm"])


def test_numbers_from_numpy_are_as_good_as_pythons():
    params = {"min_df": np.int64(2), "max_features": np.int32(5), "max_df": np.float64(0.9)}
    vectorizer = TextVectorizer(analyzer="char", **params).fit(SCRIPTS)
    assert vectorizer.n_features_ == 5
    json.dumps(dict(vectorizer.state().params))


def test_it_must_learn_first():
    for ask in (lambda v: v.transform(["x"]), lambda v: v.get_feature_names_out(), lambda v: v.state()):
        with pytest.raises(NotFittedError, match="call fit first"):
            ask(TextVectorizer())


def test_later_changes_of_parameters_do_not_touch_what_was_learned():
    vectorizer = TextVectorizer().fit(SCRIPTS)
    expected = vectorizer.transform(SCRIPTS)
    vectorizer.set_params(analyzer="char", lowercase=False, n_buckets=4, norm=None)
    assert (vectorizer.transform(SCRIPTS) != expected).nnz == 0
    assert vectorizer.state().params["analyzer"] == "word"


def test_hashed_terms_have_no_names():
    with pytest.raises(LabelwoodError, match="hashed terms are not kept"):
        TextVectorizer(n_buckets=8).fit(SCRIPTS).get_feature_names_out()


def test_it_works_in_a_pipeline_and_can_be_cloned_and_pickled():
    vectorizer = TextVectorizer(ngrams=(1, 2), min_token=1)
    pipeline = make_pipeline(clone(vectorizer), TfidfTransformer())
    assert pipeline.fit_transform(SCRIPTS, np.zeros(len(SCRIPTS))).shape[0] == len(SCRIPTS)
    assert pipeline.set_params(textvectorizer__min_token=2).fit(SCRIPTS).transform(["oak"]).nnz == 1
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    check_is_fitted(vectorizer.fit(SCRIPTS))
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(SCRIPTS) != vectorizer.transform(SCRIPTS)).nnz == 0


def test_scikit_learn_is_told_that_it_takes_strings():
    from sklearn.utils import get_tags

    tags = get_tags(TextVectorizer())
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert tags.transformer_tags is not None
