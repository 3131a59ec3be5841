"""Each copy of a label is explained by the words and labels of one of its meanings."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import ParameterError
from labelwood.explaining import (
    draw_explanation,
    explain_label,
    explanation_page,
    explanation_text,
    most_divided,
)
from labelwood.trees import LabelTree

SVG = "{http://www.w3.org/2000/svg}"
FRUIT = ["pear", "plum", "cherry", "quince"]
COMPUTERS = ["laptop", "server", "printer", "keyboard"]
FRUIT_WORDS = {"juicy", "orchard", "harvest", "sweet", "tree", *FRUIT}
COMPUTER_WORDS = {"software", "screen", "chip", "network", "disk", *COMPUTERS}


def texts_of_two_meanings(apple="apple"):
    """Texts about fruit and about computers; a fifth of each have the label `apple`."""
    random = np.random.default_rng(0)
    texts, labels = [], []
    for names, pool in (
        (FRUIT, sorted(FRUIT_WORDS - set(FRUIT))),
        (COMPUTERS, sorted(COMPUTER_WORDS - set(COMPUTERS))),
    ):
        for row in range(200):
            texts.append(" ".join([*random.choice(pool, 3, replace=False), "the", names[row % 4]]))
            labels.append([names[row % 4], *([apple] if row % 5 == 0 else [])])
    return texts, labels


def trained(apple="apple", vectorizer=None, **how):
    """A model whose training starts with one leaf for each meaning."""
    texts, labels = texts_of_two_meanings(apple)
    ids = {name: number for number, name in enumerate(dict.fromkeys(name for row in labels for name in row))}
    tree = LabelTree.from_nested([[ids[name] for name in (apple, *FRUIT)], [ids[name] for name in COMPUTERS]])
    model = lw.TreeClassifier(**{"copies": 2, "tree": tree, "beam": 1, **how})
    return lw.TextClassifier(model=model, vectorizer=vectorizer).fit(texts, labels)


@pytest.fixture(scope="module")
def model():
    return trained()


def words(found):
    return {word.word for word in found}


def names(found):
    return {neighbour.label for neighbour in found}


def fruit_and_computers(explained):
    """The two copies in a tree, the copy among fruit first."""
    copies = sorted(explained.trees[0], key=lambda copy: not names(copy.characteristic) & set(FRUIT))
    assert len(copies) == 2
    return copies


def test_each_copy_has_the_words_of_its_meaning(model):
    fruit, computers = fruit_and_computers(explain_label(model, "apple"))
    assert words(fruit.cluster_words[:5]) <= FRUIT_WORDS
    assert words(computers.cluster_words[:5]) <= COMPUTER_WORDS


def test_each_copy_has_the_labels_of_its_meaning(model):
    fruit, computers = fruit_and_computers(explain_label(model, "apple"))
    for copy, own in ((fruit, FRUIT), (computers, COMPUTERS)):
        assert names(copy.characteristic) <= set(own)
        assert names(copy.siblings) <= set(own)
        assert copy.n_labels == 1 + len(own)


def test_words_that_lead_to_a_copy_are_those_of_its_meaning(model):
    fruit, computers = fruit_and_computers(explain_label(model, "apple", words=4))
    assert words(fruit.separating_words) <= FRUIT_WORDS
    assert words(computers.separating_words) <= COMPUTER_WORDS
    weights = [word.weight for word in fruit.separating_words]
    assert weights == sorted(weights, reverse=True)
    assert min(weights) > 0


def test_the_first_word_of_a_label_has_the_largest_weight_for_it():
    for copy in explain_label(trained(copies=1), "quince").trees[0]:
        assert copy.words[0].word == "quince"


def test_a_label_in_one_leaf_has_no_separating_words():
    explained = explain_label(trained(copies=1), "pear")
    (copy,) = explained.trees[0]
    assert explained.n_copies == 1
    assert copy.separating_words == ()
    assert copy.path == (0, copy.leaf)
    assert copy.depth == 1
    assert words(copy.cluster_words[:5]) <= FRUIT_WORDS
    assert explained.n_rows == 50


def test_every_tree_is_explained():
    explained = explain_label(trained(n_trees=2), "apple")
    assert [copy.tree for copies in explained.trees for copy in copies] == [0, 0, 1, 1]
    assert "tree 2, copy 2" in explanation_text(explained)
    ElementTree.fromstring(draw_explanation(explained))


def test_one_vs_rest_has_words_for_labels_but_no_clusters():
    texts, labels = texts_of_two_meanings()
    explained = explain_label(lw.TextClassifier(model="one-vs-rest").fit(texts, labels), "plum")
    (copy,) = explained.trees[0]
    assert (copy.depth, copy.cluster_words) == (0, ())
    assert copy.words[0].word == "plum"


def test_the_numbers_of_words_and_siblings_can_be_chosen(model):
    copy = explain_label(model, "apple", words=2, siblings=1).trees[0][0]
    counts = map(len, (copy.words, copy.cluster_words, copy.separating_words, copy.characteristic))
    assert list(counts) == [2, 2, 2, 1]
    with pytest.raises(ParameterError, match="at least 1"):
        explain_label(model, "apple", words=0)


@pytest.mark.parametrize(
    ("name", "instead"), [("appel", "'apple'"), ("Printer", "'printer'"), ("key", "'keyboard'"), ("…", "spelling")]
)
def test_the_error_for_an_unknown_label_suggests_similar_names(model, name, instead):
    with pytest.raises(ParameterError, match=instead):
        explain_label(model, name)


@pytest.mark.parametrize("kind", ["softmax-tree", "centroid"])
def test_models_without_such_weights_say_so(kind):
    texts, labels = texts_of_two_meanings()
    other = lw.TextClassifier(model=kind).fit(texts, labels)
    with pytest.raises(ParameterError, match="no weights of words"):
        explain_label(other, "apple")
    with pytest.raises(ParameterError, match="no weights of words"):
        most_divided(other)


def test_hashed_terms_are_shown_as_numbers():
    explained = explain_label(trained(vectorizer=lw.TextVectorizer(n_buckets=1000)), "apple")
    assert not explained.has_names
    assert all(word.startswith("#") for word in words(explained.trees[0][0].words))
    assert "no names" in explanation_text(explained)


def test_terms_of_joined_vectorizers_keep_their_names():
    parts = [lw.TextVectorizer(), lw.TextVectorizer(analyzer="char", ngrams=(3, 3), n_buckets=50)]
    explained = explain_label(trained(vectorizer=lw.JoinedVectorizer(parts=parts)), "apple", words=200)
    found = words(explained.trees[0][0].cluster_words)
    assert found & FRUIT_WORDS
    assert any(word.startswith("#") for word in found)


def test_the_label_of_two_meanings_is_ranked_first(model):
    found = most_divided(model)
    assert found[0].label == "apple"
    assert {frozenset(found[0].words[0]) <= FRUIT_WORDS, frozenset(found[0].words[1]) <= FRUIT_WORDS} == {True, False}
    assert found[0].n_rows == 80
    scores = [divided.score for divided in found]
    assert scores == sorted(scores, reverse=True)
    assert most_divided(trained(copies=1)) == []


def test_with_several_trees_each_label_is_ranked_once():
    labels = [divided.label for divided in most_divided(trained(n_trees=2))]
    assert len(labels) == len(set(labels))


def test_the_plain_form_is_json_and_complete(model):
    plain = json.loads(json.dumps(explain_label(model, "apple").plain()))
    assert (plain["label"], plain["n_copies"], plain["n_rows"]) == ("apple", 2, 80)
    copy = plain["trees"][0][1]
    assert copy["path"] == [0, copy["leaf"]]
    assert copy["depth"] == 1
    for kind in ("cluster_words", "words", "separating_words"):
        assert all(set(word) == {"word", "weight"} for word in copy[kind])
        assert copy[kind]
    assert set(copy["characteristic"][0]) == {"label", "similarity", "text"}


def test_pictures_show_all_copies(model):
    explained = explain_label(model, "apple")
    found = [text.text for text in ElementTree.fromstring(draw_explanation(explained)).iter(f"{SVG}text")]
    assert found[0] == "apple"
    assert {"Copy 1", "Copy 2", *FRUIT, *COMPUTERS} <= set(found)


HOSTILE = '<script>alert("x")</script> & \x1b[31m\x00\u202e]]>'


def test_hostile_names_are_made_safe():
    explained = explain_label(trained(apple=HOSTILE), HOSTILE)
    svg, page, text = draw_explanation(explained), explanation_page(explained), explanation_text(explained)
    ElementTree.fromstring(svg)
    for shown in (svg, page):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
    for character in "\x1b\x00\u202e":
        assert all(character not in shown for shown in (svg, page, text))


def test_long_and_wide_names_stay_within_the_terminal():
    name = "苹果" * 60
    explained = explain_label(trained(apple=name), "pear")
    assert max(len(line) for line in explanation_text(explained).splitlines()) <= 100
    ElementTree.fromstring(draw_explanation(explain_label(trained(apple=name), name)))


def test_bars_can_be_plain_characters(model):
    text = explanation_text(explain_label(model, "apple"), blocks=False)
    assert "#####" in text
    assert "█" not in text
