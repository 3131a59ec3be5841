"""Paragraphs and page tags in, a paragraph tagger out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.pages import made_pages

import labelwood as lw
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.groups import Eagle

PAGES = made_pages()
NEW = made_pages(n_pages=10, seed=1)


@pytest.fixture(scope="module")
def tagger():
    return lw.TextClassifier().fit_grouped(PAGES.texts, PAGES.pages, PAGES.tags)


def names_of(tagger):
    return [{tagger.labels_[label] for label in row.indices} for row in tagger.imputed_.Y]


def right_ones(tagger, pages):
    """Of each label that was handed out, whether the paragraph is about it."""
    Y = tagger.imputed_.Y
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    return np.array([pages.topics[row] == tagger.labels_[label] for row, label in zip(rows, Y.indices, strict=True)])


def test_tags_go_to_the_paragraphs_that_are_about_them(tagger):
    assert right_ones(tagger, PAGES).mean() > 0.95


def test_what_every_page_has_gets_no_tags_if_pages_without_the_tag_push_it_away():
    pages = made_pages(boilerplate=True)
    tagger = lw.TextClassifier().fit_grouped(pages.texts, pages.pages, pages.tags, eagle=Eagle(negatives=2.0))
    assert right_ones(tagger, pages).mean() > 0.95


def test_every_tag_of_a_page_is_handed_out_once(tagger):
    got = names_of(tagger)
    for page, tags in enumerate(PAGES.tags):
        mine = [name for row, p in zip(got, PAGES.pages, strict=True) if p == page for name in row]
        assert sorted(mine) == tags


def test_what_was_learned_tags_new_paragraphs(tagger):
    best = [row[0][0] for row in tagger.suggest(NEW.texts, k=1)]
    assert np.mean([got == topic for got, topic in zip(best, NEW.topics, strict=True)]) > 0.95


def test_sureness_is_a_part_of_one_and_larger_for_the_right_labels():
    vague = made_pages(n_words=2)
    tagger = lw.TextClassifier().fit_grouped(vague.texts, vague.pages, vague.tags)
    sureness = tagger.imputed_.sureness
    assert sureness.indices.tolist() == tagger.imputed_.Y.indices.tolist()
    assert ((sureness.data >= 0) & (sureness.data <= 1)).all()
    right = right_ones(tagger, vague)
    assert 0.5 < right.mean() < 0.9
    assert sureness.data[right].mean() > sureness.data[~right].mean() + 0.1


def test_one_vectorizer_run_serves_both(monkeypatch):
    runs = []
    plain = lw.TextVectorizer.fit_transform
    monkeypatch.setattr(lw.TextVectorizer, "fit_transform", lambda self, texts: runs.append(1) or plain(self, texts))
    lw.TextClassifier().fit_grouped(PAGES.texts, PAGES.pages, PAGES.tags)
    assert runs == [1]


def test_groups_of_one_are_what_fit_learns_from():
    texts, labels = ["a dog", "a rose", "my dog"], [["animal"], ["plant"], ["animal", "pet"]]
    one = lw.TextClassifier().fit_grouped(texts, [0, 1, 2], labels)
    other = lw.TextClassifier().fit(texts, labels)
    assert one.suggest(texts) == other.suggest(texts)
    assert one.imputed_.sureness.data.tolist() == [1.0] * 4


def test_names_numbers_and_matrices_of_groups_are_the_same(tagger):
    names = [f"page {page}" for page in PAGES.pages]
    tags = {f"page {page}": tags for page, tags in enumerate(PAGES.tags)}
    by_name = lw.TextClassifier().fit_grouped(PAGES.texts, names, tags)
    assert by_name.suggest(NEW.texts) == tagger.suggest(NEW.texts)
    members = sparse.csr_array((np.ones(len(PAGES.pages)), (np.arange(len(PAGES.pages)), PAGES.pages)))
    by_matrix = lw.TextClassifier().fit_grouped(PAGES.texts, members, PAGES.tags)
    assert by_matrix.suggest(NEW.texts) == tagger.suggest(NEW.texts)


def test_a_dataset_of_groups_gives_the_same(tagger, tmp_path):
    data = lw.read(PAGES.write(tmp_path / "pages.jsonl"))
    assert lw.TextClassifier().fit_grouped_dataset(data).suggest(NEW.texts) == tagger.suggest(NEW.texts)


def test_a_label_that_a_page_has_twice_goes_to_two_paragraphs_if_asked():
    texts = ["a dog barks", "the dog sleeps", "old coins", "a dog eats", "new moons", "the coins shine", "high trees"]
    tags = [["animal", "animal", "money"], ["animal"], ["money"]]
    fitted = [
        lw.TextClassifier().fit_grouped(texts, [0, 0, 0, 1, 1, 2, 2], tags, eagle=Eagle(repeats=repeats))
        for repeats in ("topc", "multiset")
    ]
    twice, once = (sum("animal" in names for names in names_of(tagger)[:2]) for tagger in fitted)
    assert (twice, once) == (2, 1)
    assert "animal" not in names_of(fitted[0])[2]


def test_soft_shares_are_kept_and_every_share_is_a_label():
    how = Eagle(assign="soft", sharpness=0.01)
    given = lw.TextClassifier().fit_grouped(PAGES.texts, PAGES.pages, PAGES.tags, eagle=how).imputed_
    assert given.Y.nnz == 3 * sum(map(len, PAGES.tags))
    assert set(given.Y.data) == {1.0}
    assert given.shares.data.max() < 0.5


def test_the_baseline_gives_all_labels_and_is_not_sure_of_anything():
    tagger = lw.TextClassifier().fit_grouped(PAGES.texts, PAGES.pages, PAGES.tags, baseline=True)
    assert names_of(tagger) == [set(PAGES.tags[page]) for page in PAGES.pages]
    assert tagger.imputed_.sureness is None
    assert tagger.imputed_.advice.use == "assignment"


def test_labels_of_single_rows_forget_who_got_what(tagger):
    other = lw.TextClassifier().fit_grouped(["a dog", "a rose"], [0, 0], [["x"]])
    assert other.imputed_ is not None
    assert other.fit(["a dog"], [["animal"]]).imputed_ is None


def test_a_saved_tagger_is_like_any_other(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    again = lw.load(tmp_path / "model")
    assert again.suggest(NEW.texts) == tagger.suggest(NEW.texts)
    assert again.imputed_ is None


def test_threads_do_not_matter():
    fitted = [lw.TextClassifier(n_threads=n).fit_grouped(PAGES.texts, PAGES.pages, PAGES.tags) for n in (1, 2)]
    assert fitted[0].imputed_.sureness.data.tobytes() == fitted[1].imputed_.sureness.data.tobytes()
    assert fitted[0].suggest(NEW.texts) == fitted[1].suggest(NEW.texts)


@pytest.mark.parametrize(
    ("groups", "labels", "words"),
    [
        ([0], [["x"]], "one whole number for each of the 2 rows"),
        ([0, 5], [["x"]], "number them from 0 to 0"),
        ([0, 0], [["x"], ["y"]], "group 1 has labels but no rows"),
        ([0, 0], [[]], "no label"),
        (["a", "b"], {"a": ["x"]}, "'b', which group_labels does not have"),
        (["a", "b"], [["x"], ["y"]], "one whole number"),
    ],
)
def test_what_cannot_be_used_gets_a_sentence_and_leaves_what_was_learned(groups, labels, words):
    tagger = lw.TextClassifier().fit(["a dog", "a rose"], [["animal"], ["plant"]])
    before = tagger.suggest(["my dog"])
    with pytest.raises(LabelwoodError, match=words):
        tagger.fit_grouped(["a dog", "a rose"], groups, labels)
    assert tagger.suggest(["my dog"]) == before


def test_both_eagle_and_the_baseline_make_no_sense():
    with pytest.raises(ParameterError, match="give either baseline, or eagle"):
        lw.TextClassifier().fit_grouped(["a dog"], [0], [["x"]], eagle=Eagle(), baseline=True)


def test_each_fit_says_which_is_the_other(tmp_path):
    data = lw.read(PAGES.write(tmp_path / "pages.jsonl"))
    with pytest.raises(LabelwoodError, match="fit_grouped_dataset"):
        lw.TextClassifier().fit_dataset(data)
    with pytest.raises(LabelwoodError, match="in no groups"):
        lw.TextClassifier().fit_grouped_dataset(lw.Dataset.from_texts(["a dog"], [["animal"]]))


def test_parameters_can_be_chosen_by_pages_that_are_held_out():
    pages = made_pages(boilerplate=True)
    tagger = lw.TextClassifier().fit_grouped(pages.texts, pages.pages, pages.tags, choose=True)
    choice = tagger.imputed_.choice
    assert choice.eagle.negatives == choice.best.params["negatives"] > 0
    assert choice.eagle.repeats == "topc"
    assert right_ones(tagger, pages).mean() > 0.95
    with pytest.raises(ParameterError, match="the baseline needs no parameters"):
        lw.TextClassifier().fit_grouped(pages.texts, pages.pages, pages.tags, choose=True, baseline=True)
