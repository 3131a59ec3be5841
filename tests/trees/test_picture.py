"""Pictures show what is there, in valid SVG, and stay small."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from labelwood.errors import ParameterError
from labelwood.trees import LabelTree, draw, random_tree

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_small_trees_are_drawn_whole():
    tree = LabelTree.from_nested([[[0, 1], [2]], [3]])
    svg = draw(tree, ["dog", "cat", "wolf", "rose"])
    found = texts(svg)
    assert found[0] == "4 labels · 5 nodes · 3 leaves · depth 2"
    assert {"dog, cat", "wolf", "rose"} <= set(found)
    assert svg.count("<path") == tree.n_nodes - 1


def test_names_are_escaped_and_shortened():
    svg = draw(LabelTree.from_nested([[0], [1]]), ["<b> & 'x'", "y" * 500])
    assert "<b> & 'x'" in texts(svg)
    assert max(map(len, texts(svg))) < 60


def test_long_leaves_say_how_many_more_there_are():
    assert any(text.endswith("more") for text in texts(draw(LabelTree.from_nested([list(range(300)), [300]]))))


@pytest.mark.parametrize("arity", [2, 3, 10, 1000])
@pytest.mark.parametrize("max_nodes", [1, 2, 7, 40])
def test_large_trees_are_summed_up_and_no_label_is_lost(arity, max_nodes):
    svg = draw(random_tree(5000, arity=arity, max_leaf=4), max_nodes=max_nodes)
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}g"))) <= 2 * max_nodes + 2
    counts = [element.text for element in root.iter(f"{SVG}text") if element.get("class") == "count"]
    assert counts[0] == "5,000"


def test_what_is_hidden_is_counted():
    svg = draw(LabelTree.from_nested([[i] for i in range(100)]), max_nodes=10)
    (note,) = [text for text in texts(svg) if "more nodes" in text]
    hidden = 100 - svg.count('<rect class="leaf"')
    assert note == f"{hidden} more nodes with {hidden} labels"


def test_notebooks_show_a_picture():
    assert LabelTree.from_nested([[0], [1]])._repr_svg_().startswith("<svg")


def test_parameters_that_do_not_fit_are_refused():
    tree = LabelTree.from_nested([[0], [1]])
    with pytest.raises(ParameterError, match="1 names and the tree 2 labels"):
        draw(tree, ["one"])
    with pytest.raises(ParameterError, match="max_nodes"):
        draw(tree, max_nodes=0)
