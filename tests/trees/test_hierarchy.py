"""A user's hierarchy becomes a tree in which every label can be found."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwood.errors import InputError, LabelwoodError, ParameterError
from labelwood.labels import LabelIndex
from labelwood.trees import from_hierarchy, read_hierarchy

PETS = LabelIndex(["animal", "dog", "cat", "rose", "oak", "stone"])


def leaves_of(tree, labels):
    """The names in each leaf."""
    pairs = zip(tree.label_ptr, tree.label_ptr[1:], strict=False)
    return [[labels[int(i)] for i in tree.labels[a:b]] for a, b in pairs if b > a]


def ancestors(links, concept):
    found, waiting = set(), [concept]
    while waiting:
        for parent in links.get(waiting.pop(), []):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


@st.composite
def hierarchies(draw):
    """Parents by concept without cycles (parents have larger numbers), and labels, some of which do not occur."""
    n = draw(st.integers(1, 40))
    links = {}
    for concept in range(n - 1):
        parents = draw(st.lists(st.integers(concept + 1, n - 1), max_size=3, unique=True))
        links[str(concept)] = [str(parent) for parent in parents]
    labels = draw(st.lists(st.integers(0, n + 5), min_size=1, unique=True))
    return links, LabelIndex(map(str, labels))


@settings(deadline=None)
@given(hierarchies(), st.integers(2, 6), st.integers(1, 6), st.sampled_from(["all", "first"]), st.booleans())
def test_every_label_is_found_and_nothing_is_too_wide(hierarchy, max_arity, max_leaf, below, with_vectors):
    links, labels = hierarchy
    vectors = np.random.default_rng(0).random((len(labels), 3)) if with_vectors else None
    tree = from_hierarchy(links, labels, below=below, max_arity=max_arity, max_leaf=max_leaf, vectors=vectors)
    children = np.diff(tree.child_ptr)
    assert set(tree.labels.tolist()) == set(range(len(labels)))
    assert children.max() <= max_arity
    assert 1 not in children
    assert tree.leaf_sizes.max() <= max_leaf
    places = np.bincount(tree.labels)
    most = [max(1, len(links.get(name, []))) if below == "all" else 1 for name in labels]
    assert (places <= most).all()


@given(hierarchies())
def test_only_the_leaf_under_the_root_holds_labels_that_share_no_concept(hierarchy):
    links, labels = hierarchy
    tree = from_hierarchy(links, labels, below="first", max_arity=1000, max_leaf=1000)
    first = {child: parents[:1] for child, parents in links.items()}
    for depth, leaf in zip(tree.depths[tree.leaves], leaves_of(tree, labels), strict=True):
        related = set.intersection(*(ancestors(first, name) | {name} for name in leaf))
        assert related or depth <= 1


def test_a_concept_that_is_a_label_shares_the_leaf_of_its_narrower_labels():
    tree = from_hierarchy({"dog": "animal", "cat": "animal", "rose": "plant", "oak": "plant"}, PETS)
    assert leaves_of(tree, PETS) == [["stone"], ["animal", "dog", "cat"], ["rose", "oak"]]
    assert tree.depths.tolist() == [0, 1, 1, 1]


def test_a_concept_above_other_nodes_gets_a_leaf_of_its_own():
    labels = LabelIndex(["animal", "dog", "puppy", "cat", "kitten"])
    tree = from_hierarchy({"puppy": "dog", "kitten": "cat", "dog": "animal", "cat": "animal"}, labels)
    assert leaves_of(tree, labels) == [["animal"], ["dog", "puppy"], ["cat", "kitten"]]


def test_a_label_with_several_parents_lies_below_all_of_them_or_the_first():
    pairs = [("dog", "pet"), ("cat", "pet"), ("dog", "guard"), ("oak", "guard"), ("stone", "guard")]
    labels = LabelIndex(["dog", "cat", "oak", "stone"])
    assert leaves_of(from_hierarchy(pairs, labels), labels) == [["dog", "cat"], ["dog", "oak", "stone"]]
    assert leaves_of(from_hierarchy(pairs, labels, below="first"), labels) == [["dog", "cat"], ["oak", "stone"]]


def test_many_parents_at_every_level_do_not_multiply_the_tree():
    links = {f"{i}{side}": [f"{i + 1}a", f"{i + 1}b"] for i in range(60) for side in "ab"}
    tree = from_hierarchy(links, LabelIndex(links))
    assert len(tree.labels) <= 2 * len(links)


def test_a_long_chain_is_no_trouble():
    links = {str(i): str(i + 1) for i in range(5000)}
    tree = from_hierarchy(links, LabelIndex(map(str, range(5001))))
    assert tree.depths.max() == 4999


def test_wide_nodes_are_split_by_what_is_alike():
    labels = LabelIndex(map(str, range(40)))
    tree = from_hierarchy({}, labels, max_leaf=20, vectors=np.eye(2)[np.arange(40) % 2])
    assert sorted(len({int(name) % 2 for name in leaf}) for leaf in leaves_of(tree, labels)) == [1, 1]


@pytest.mark.parametrize("below", ["all", "first"])
def test_a_cycle_is_named(below):
    with pytest.raises(LabelwoodError, match=r"circle .*(dog → pet → dog|pet → dog → pet)"):
        from_hierarchy({"cat": "pet", "dog": "pet", "pet": "dog"}, PETS, below=below)
    with pytest.raises(LabelwoodError, match=r"circle .*oak → oak"):
        from_hierarchy({"oak": "oak"}, PETS)


@pytest.mark.parametrize("parents", [[("a",)], [("a", 3)], ["ab"], {"a": [3]}])
def test_what_is_no_pair_of_names_is_refused(parents):
    with pytest.raises(ParameterError, match="pair of names"):
        from_hierarchy(parents, PETS)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"below": "last"}, "below is"),
        ({"max_arity": 1}, "arity must be a whole number from 2"),
        ({"vectors": np.eye(2)}, "2 rows"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, why):
    with pytest.raises(ParameterError, match=why):
        from_hierarchy({}, PETS, **options)


@pytest.mark.parametrize(
    "text",
    [
        "dog\tanimal\ncat\tanimal\nrose\tplant\noak\tplant\n",
        "dog,animal\r\ncat,animal\r\nrose,plant\r\n\r\noak,plant\r\n",
        'Child,Parent\n"dog",animal\ncat,animal\nrose,plant\noak,plant\nplant,\n',
        '{"id": "dog", "parents": ["animal"]}\n{"id": "animal", "parents": []}\n{"id": "cat", "parent": "animal"}\n'
        '{"id": "rose", "parents": ["plant"]}\n{"id": "oak", "parents": "plant"}\n{"id": "plant"}\n',
    ],
)
def test_all_kinds_of_files_give_the_same_tree(tmp_path, text):
    path = tmp_path / "thesaurus.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert leaves_of(read_hierarchy(path, PETS), PETS) == [["stone"], ["animal", "dog", "cat"], ["rose", "oak"]]


def test_numbered_concepts_go_by_their_texts_as_in_the_catalogue(tmp_path):
    path = tmp_path / "labels.jsonl"
    rows = [("animal", []), ("dog", [0]), ("cat", [0]), ("plant", []), ("rose", [3]), ("oak", [3])]
    lines = [json.dumps({"id": i, "text": text, "parents": parents}) for i, (text, parents) in enumerate(rows)]
    path.write_text("\n".join(lines))
    assert leaves_of(read_hierarchy(path, PETS), PETS) == [["stone"], ["animal", "dog", "cat"], ["rose", "oak"]]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("dog\tanimal\ncat\n", 2, "1 column"),
        ("dog,animal\ncat,animal,pet\n", 2, "3 column"),
        ("dog,animal\n,animal\n", 2, "name is empty"),
        ("dog,animal\nanimal,pet\npet,dog\n", None, "circle"),
        ('{"id": "dog", "parents": ["animal"]}\n{"id": "cat", "parents": [{}]}\n', 2, "not a list of ids"),
        ('{"id": "dog"}\n{"id": \n', 2, "not JSON"),
        ("x,y\n", None, "none of the labels"),
        ("", None, "none of the labels"),
    ],
)
def test_a_fault_is_told_with_file_and_line(tmp_path, text, line, why):
    path = tmp_path / "thesaurus.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=why) as error:
        read_hierarchy(path, PETS)
    assert error.value.path == str(path)
    assert line in (None, error.value.line)


def test_a_cycle_is_told_with_a_line_that_holds_one_of_its_links(tmp_path):
    path = tmp_path / "thesaurus.csv"
    path.write_text("rose,plant\ndog,animal\nanimal,dog\n")
    with pytest.raises(InputError, match=r"circle") as error:
        read_hierarchy(path, PETS)
    assert error.value.line in (2, 3)
