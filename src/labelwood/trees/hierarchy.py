"""A user's own hierarchy of labels as a tree: a thesaurus, a classification scheme, a catalogue's categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal, TypeAlias, cast

from labelwood.arrays.rows import Sparse
from labelwood.data.source import Source
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels.index import LabelIndex
from labelwood.trees.hierarchy_files import read_links
from labelwood.trees.links import CycleError, Links
from labelwood.trees.splitting import Splitter
from labelwood.trees.tree import LabelTree
from labelwood.trees.vectors import check_sizes, unit_rows

Below: TypeAlias = Literal["all", "first"]
Parents: TypeAlias = Mapping[str, "str | Iterable[str] | None"] | Iterable[tuple[str, str]]
Nested: TypeAlias = list[Any]


def from_hierarchy(
    parents: Parents,
    labels: LabelIndex,
    *,
    below: Below = "all",
    max_arity: int = 100,
    max_leaf: int = 100,
    vectors: Any = None,
    seed: int = 0,
    n_threads: int | None = None,
) -> LabelTree:
    """A tree after a hierarchy of concepts, of which some or all are labels.

    `parents` maps a concept to its parent or parents, or holds (child, parent) pairs. Concepts without parents, and
    labels that do not occur, hang under the root.

    - The labels directly below a concept that have none below themselves make a leaf, together with the concept itself
      where it is a label too.
    - A label with several parents lies below each of them, or with ``below="first"`` below the one named first. What
      lies below such a concept stays with its first parent, so that the tree is never larger than the hierarchy.
    - Concepts without any label are left out; a node with one child, or a leaf with one label, gives way to it.
    - Leaves of more than `max_leaf` labels and nodes of more than `max_arity` children are split evenly: in the order
      they have, or where label `vectors` are given so that what is alike stays together.

    Example:
        >>> labels = LabelIndex(["animal", "dog", "cat", "rose", "oak"])
        >>> parents = {"dog": "animal", "cat": "animal", "rose": "plant", "oak": "plant"}
        >>> tree = from_hierarchy(parents, labels)
        >>> [tree.labels[a:b].tolist() for a, b in zip(tree.label_ptr, tree.label_ptr[1:]) if b > a]
        [[0, 1, 2], [3, 4]]
    """
    try:
        links = Links(_pairs(parents))
        return _tree(links, labels, below, Splitter(max_arity, max_leaf, _rows(vectors, labels), seed, n_threads))
    except CycleError as e:
        raise LabelwoodError(str(e)) from None


def read_hierarchy(
    path: str | PathLike[str],
    labels: LabelIndex,
    *,
    below: Below = "all",
    max_arity: int = 100,
    max_leaf: int = 100,
    vectors: Any = None,
    seed: int = 0,
    n_threads: int | None = None,
) -> LabelTree:
    """The same from a file, which may be compressed.

    The file has two columns, child and parent, separated by tabs or commas, with or without the line ``child,parent``
    at its head; an empty parent means none. Or it is JSON lines, an object a concept, with an ``id`` and its
    ``parents`` (a list of ids, or one id), as a catalogue ``labels.jsonl`` may have them.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "thesaurus.tsv"
        >>> _ = path.write_text("dog\\tanimal\\ncat\\tanimal\\nrose\\tplant\\n")
        >>> read_hierarchy(path, LabelIndex(["dog", "cat", "rose"]))
        LabelTree(3 labels, 3 nodes, 2 leaves of 1 to 2 labels, depth 1)
    """
    source = Source(path)
    links = Links(read_links(source))
    if not any(name in links.parents for name in labels):
        raise source.error("none of the labels occurs in it; name concepts as the labels are named")
    try:
        return _tree(links, labels, below, Splitter(max_arity, max_leaf, _rows(vectors, labels), seed, n_threads))
    except CycleError as e:
        raise source.error(str(e), e.line) from None


def _rows(vectors: Any, labels: LabelIndex) -> Sparse | None:
    if vectors is None:
        return None
    rows = unit_rows(vectors)
    if rows.n_rows != len(labels):
        raise ParameterError(f"vectors has {rows.n_rows} rows and there are {len(labels)} labels: give each its row")
    return rows


def _pairs(parents: Parents) -> Iterator[tuple[str, str, None]]:
    pairs = _mapped(parents) if isinstance(parents, Mapping) else parents
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise ParameterError(f"parents holds {pair!r} where a pair of names (child, parent) belongs")
        yield pair[0], pair[1], None


def _mapped(parents: Mapping[str, str | Iterable[str] | None]) -> Iterator[tuple[str, str]]:
    for child, named in parents.items():
        for parent in [named] if isinstance(named, str) else named or []:
            yield child, parent


def _tree(links: Links, labels: LabelIndex, below: Below, splitter: Splitter) -> LabelTree:
    """Puts subtrees together from the narrowest concepts up to the root."""
    if below not in ("all", "first"):
        raise ParameterError(f"below is {below!r} but should be 'all' or 'first'")
    check_sizes(splitter.max_arity, splitter.max_leaf)
    if len(labels) == 0:
        raise LabelwoodError("there are no labels: a tree needs at least one")
    label_of = dict(zip(labels, range(len(labels)), strict=True))
    subtrees: dict[str | None, list[Nested]] = {}  # by concept: the nodes below it
    plain: dict[str | None, dict[int, None]] = {}  # and the labels that make its leaf, in order
    for concept in links.narrowest_first(below == "all"):
        parents: list[str | None] = [*links.parents[concept][: None if below == "all" else 1]] or [None]
        label = label_of.pop(concept, None)
        nodes, leaf = subtrees.pop(concept, []), [*plain.pop(concept, {})]
        alone = parents if label is not None else []  # where the label lies without what is below it
        if nodes or len(leaf) > (label is None):
            own = [] if label is None else [label]
            subtrees.setdefault(parents[0], []).append(splitter.node(nodes, [*own, *leaf]))
            alone = alone[1:]
        elif leaf:  # a leaf of one label, which gives way to it
            plain.setdefault(parents[0], {})[leaf[0]] = None
        for parent in alone:
            plain.setdefault(parent, {})[cast("int", label)] = None
    rest = dict.fromkeys([*plain.pop(None, {}), *label_of.values()])
    root = splitter.node(subtrees.pop(None, []), [*rest])
    return LabelTree.from_nested(root, n_labels=len(labels))
