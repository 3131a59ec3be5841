"""Inputs that cannot be used: files, a command, and words that its one-sentence answer must hold.

``{model}`` in a command stands for a sound model's folder; ``{name}`` in the words for the file at fault.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
from typing import NamedTuple

import numpy as np
from scipy import sparse

GOOD = b'{"text": "a dog", "labels": ["animal"]}\n{"text": "a rose", "labels": ["plant"]}\n'


class Case(NamedTuple):
    """One malformed input."""

    name: str
    files: dict[str, bytes]
    command: tuple[str, ...]
    words: tuple[str, ...]


def train(
    name: str, content: bytes, *words: str, file: str = "train.txt", options: tuple[str, ...] = (), **beside: bytes
) -> Case:
    """A case that trains from one file, with others `beside` it (dots in their names written as double underscores)."""
    files = {file: content} | {key.replace("__", "."): value for key, value in beside.items()}
    return Case(name, files, ("train", file, "-o", "out", *options), words)


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def matrix(dense: list[list[float]]) -> bytes:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_matrix(np.array(dense, np.float32)))
    return stream.getvalue()


def broken_matrix(**changes: np.ndarray) -> bytes:
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "data": np.ones(2, np.float32),
        "indices": np.array([0, 1], np.int32),
        "indptr": np.array([0, 1, 2], np.int32),
    }
    return npz(**(arrays | changes))


def jsonl(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


ROW = {"text": "a dog", "labels": ["animal"]}

XC = [
    train(
        "xc: a word in the header", b"2 x 2\n0 0:1\n1 1:1\n", "train.txt", file="train.txt", options=("--format", "xc")
    ),
    train(
        "xc: a count too few in the header",
        b"2 2\n0 0:1\n1 1:1\n",
        "line 1",
        "rows features labels",
        options=("--format", "xc"),
    ),
    train("xc: a negative count", b"2 -3 2\n0 0:1\n1 1:1\n", "line 1", "negative"),
    train("xc: an absurd number of labels", b"2 3 999999999\n0 0:1\n1 1:1\n", "line 1", "max_labels"),
    train("xc: a count beyond 31 bits", b"2 99999999999 2\n0 0:1\n1 1:1\n", "line 1", "above"),
    train("xc: fewer rows than the header says", b"3 2 2\n0 0:1\n1 1:1\n", "line 1", "3 rows but 2"),
    train("xc: more rows than the header says", b"1 2 2\n0 0:1\n1 1:1\n", "line 1", "1 rows but 2"),
    train("xc: a label out of range", b"2 2 2\n0 0:1\n2 1:1\n", "line 3", "label 2 is out of range"),
    train("xc: a negative label", b"2 2 2\n-1 0:1\n1 1:1\n", "line 2", "negative"),
    train("xc: a label that is a word", b"2 2 2\ncat 0:1\n1 1:1\n", "line 2", "not a whole number"),
    train("xc: an empty label", b"2 2 2\n0,,1 0:1\n1 1:1\n", "line 2", "not a whole number"),
    train("xc: a feature out of range", b"2 2 2\n0 0:1\n1 2:1\n", "line 3", "feature 2 is out of range"),
    train("xc: a negative feature", b"2 2 2\n0 0:1\n1 -1:1\n", "line 3", "negative"),
    train("xc: a feature without a value", b"2 2 2\n0 0:1\n1 1\n", "line 3", "feature:value"),
    train("xc: a value that is a word", b"2 2 2\n0 0:x\n1 1:1\n", "line 2", "not a number"),
    train("xc: NaN", b"2 2 2\n0 0:nan\n1 1:1\n", "line 2", "finite"),
    train("xc: infinity", b"2 2 2\n0 0:-inf\n1 1:1\n", "line 2", "finite"),
    train("xc: a value too large", b"2 2 2\n0 0:1e60\n1 1:1\n", "line 2", "finite"),
    train("xc: trailing letters", b"2 2 2\n0 0:1abc\n1 1:1\n", "line 2", "not a number"),
    train("xc: binary noise", b"2 2 2\n\xff\xfe\x00\x01\n1 1:1\n", "line 2"),
    train("xc: no labels at all", b"1 2 2\n 0:1\n", "no labels"),
    train("xc: no rows", b"0 2 2\n", "no labels"),
    train(
        "xc: other names than labels", b"1 2 2\n0 0:1\n", "line 1", "label_names.txt", label_names__txt=b"only one\n"
    ),
]

SPLIT = [
    train(
        "split: rows differ",
        b"2 3\n0:1\n1:1\n",
        "trn_X_Y.txt",
        "3 rows",
        file="trn_X_Xf.txt",
        trn_X_Y__txt=b"3 2\n0:1\n1:1\n0:1\n",
    ),
    train(
        "split: labels with a bad header",
        b"1 3\n0:1\n",
        "trn_X_Y.txt, line 1",
        file="trn_X_Xf.txt",
        trn_X_Y__txt=b"hello\n0:1\n",
    ),
    train(
        "split: a label out of range",
        b"1 3\n0:1\n",
        "trn_X_Y.txt, line 2",
        file="trn_X_Xf.txt",
        trn_X_Y__txt=b"1 2\n7:1\n",
    ),
    train("split: no labels' file", b"1 3\n0:1\n", "no labels", file="trn_X_Xf.txt"),
]

SVMLIGHT = [
    train("svmlight: a bad pair", b"0 1:1\n1 1=1\n", "line 2", "feature:value", file="a.svm"),
    train("svmlight: an absurd label", b"0 1:1\n1999999999 1:1\n", "max_labels", file="a.svm"),
    train("svmlight: an absurd feature", b"0 1:1\n1 2147483646:1\n", "max_features", file="a.svm"),
    train("svmlight: a fractional label", b"0.5 1:1\n", "line 1", "whole number", file="a.svm"),
]

JSON = [
    train("jsonl: not JSON", GOOD + b"{oops}\n", "line 3", "not JSON", file="a.jsonl"),
    train("jsonl: cut off", GOOD + b'{"text": "a ', "line 3", "not JSON", file="a.jsonl"),
    train("jsonl: a list", GOOD + b"[1, 2]\n", "line 3", "not a JSON object", file="a.jsonl"),
    train("jsonl: no text", GOOD + jsonl({"labels": ["x"]}), "line 3", "text", file="a.jsonl"),
    train("jsonl: text is null", GOOD + jsonl({"text": None, "labels": ["x"]}), "line 3", "text", file="a.jsonl"),
    train("jsonl: text is a number", GOOD + jsonl({"text": 5, "labels": ["x"]}), "line 3", "text", file="a.jsonl"),
    train("jsonl: another column's name", jsonl({"body": "x", "labels": ["y"]}), "line 1", "'text'", file="a.jsonl"),
    train("jsonl: labels are objects", jsonl(ROW, {"text": "x", "labels": [{"a": 1}]}), "labels", file="a.jsonl"),
    train("jsonl: labels of two kinds", jsonl(ROW, {"text": "x", "labels": [3]}), "line 2", "labels", file="a.jsonl"),
    train("jsonl: a fraction as label", jsonl({"text": "x", "labels": [1.5]}), "line 1", "labels", file="a.jsonl"),
    train(
        "jsonl: a negative label",
        jsonl({"text": "x", "labels": [2]}, {"text": "x", "labels": [-2]}),
        "line 2",
        "negative",
        file="a.jsonl",
    ),
    train(
        "jsonl: an empty label name",
        jsonl(ROW, {"text": "x", "labels": [""]}),
        "line 2",
        "without a name",
        file="a.jsonl",
    ),
    train("jsonl: a null label", jsonl(ROW, {"text": "x", "labels": [None]}), "line 2", "null", file="a.jsonl"),
    train("jsonl: not UTF-8", GOOD + b'{"text": "\xff\xfe", "labels": ["x"]}\n', "line 3", "UTF-8", file="a.jsonl"),
    train("jsonl: no labels anywhere", jsonl({"text": "x"}), "no labels", file="a.jsonl"),
    train(
        "jsonl: a label beyond the catalogue",
        jsonl({"text": "x", "labels": [1]}),
        "line 1",
        "out of range",
        file="a.jsonl",
        labels__jsonl=jsonl({"id": "only"}),
    ),
    train(
        "catalogue: not JSON",
        jsonl({"text": "x", "labels": [0]}),
        "labels.jsonl, line 2",
        "JSON",
        file="a.jsonl",
        labels__jsonl=b'{"id": "a"}\n{"id"\n',
    ),
    train(
        "catalogue: no id",
        jsonl({"text": "x", "labels": [0]}),
        "labels.jsonl, line 1",
        '"id"',
        file="a.jsonl",
        labels__jsonl=jsonl({"text": "a"}),
    ),
    train(
        "catalogue: twice the same",
        jsonl({"text": "x", "labels": [0]}),
        "labels.jsonl",
        "twice",
        file="a.jsonl",
        labels__jsonl=jsonl({"id": "a"}, {"id": "a"}),
    ),
    train(
        "catalogue: a number that is a line and not an id",
        jsonl({"text": "x", "labels": [0]}),
        "line 1",
        "not an id",
        "'7'",
        "--label-numbers lines",
        file="a.jsonl",
        labels__jsonl=jsonl({"id": 7}),
    ),
    train("xc-json: no labels' file", jsonl({"title": "x", "target_ind": [0]}), "lbl.json", file="trn.json"),
    train(
        "xc-json: a label out of range",
        jsonl({"title": "x", "target_ind": [5]}),
        "line 1",
        "out of range",
        file="trn.json",
        lbl__json=jsonl({"uid": "a", "title": "b"}),
    ),
    train("grouped: rows are not a list", jsonl({"rows": "x", "labels": ["a"]}), "line 1", "list", file="a.jsonl"),
    train("grouped: a row is null", jsonl({"rows": ["x", None], "labels": ["a"]}), "line 1", "null", file="a.jsonl"),
    train(
        "grouped: no single rows to train on", jsonl({"rows": ["x", "y"], "labels": ["a"]}), "groups", file="a.jsonl"
    ),
]

TABLES = [
    train("csv: no such column", b"body,labels\nx,y\n", "'text'", file="a.csv"),
    train("csv: none of the columns", b"a,b\nx,y\n", "line 1", "'text'", file="a.csv"),
    train("csv: a column twice", b"text,text\nx,y\n", "line 1", "twice", file="a.csv"),
    train("csv: a row too long", b"text,labels\nx,y\nx,y,z\n", "CSV", file="a.csv"),
    train("csv: not UTF-8", b"text,labels\n\xff\xfe,y\n", "UTF-8", file="a.csv"),
    train("csv: no labels", b"text,labels\nx,\n", "no labels", file="a.csv"),
    train("parquet: cut off", b"PAR1" + bytes(100), "Parquet", file="a.parquet"),
]

ARRAYS = [
    train("pecos: not a matrix", b"PK\x03\x04 nothing", "X.trn.npz", "sparse matrix", file="X.trn.npz"),
    train(
        "pecos: an index out of range",
        broken_matrix(indices=np.array([0, 9], np.int32)),
        "sparse matrix",
        file="X.trn.npz",
    ),
    train(
        "pecos: a falling row pointer",
        broken_matrix(indptr=np.array([0, 2, 1], np.int32)),
        "sparse matrix",
        file="X.trn.npz",
    ),
    train("pecos: NaN", broken_matrix(data=np.array([1, np.nan], np.float32)), "finite", file="X.trn.npz"),
    train(
        "pecos: rows differ", matrix([[1, 0]]), "Y.trn.npz", "2 rows", file="X.trn.npz", Y__trn__npz=matrix([[1], [1]])
    ),
    train("arrays: no such split", npz(x_test=np.ones((2, 2))), "x_train", file="a.npz"),
    train(
        "arrays: labels for other rows", npz(x_train=np.ones((2, 2)), y_train=np.zeros(3, int)), "y_train", file="a.npz"
    ),
    train("arrays: NaN", npz(x_train=np.full((2, 2), np.nan), y_train=np.zeros(2, int)), "finite", file="a.npz"),
    train("arrays: pickled objects", npz(x_train=np.array([{}, []], object)), "npz", file="a.npz"),
    train(
        "attentionxml: lines differ",
        b"one\ntwo\n",
        "train_labels.txt",
        "1 lines",
        file="train_texts.txt",
        train_labels__txt=b"a\n",
    ),
    train(
        "attentionxml: not UTF-8",
        b"one\n\xff\n",
        "line 2",
        "UTF-8",
        file="train_texts.txt",
        train_labels__txt=b"a\nb\n",
    ),
]

FASTTEXT = [
    train("fasttext: an empty label", b"__label__x a\nb __label__\n", "line 2", "without a name"),
    train("fasttext: not UTF-8", b"__label__x a\n\n__label__y \xff\n", "line 3", "UTF-8"),
    train("fasttext: a name that is not UTF-8", b"__label__x a\n__label__\xff b\n", "line 2", "UTF-8"),
    train("fasttext: no labels", b"a\nb\n", "no labels", file="a.fasttext"),
    train("fasttext: cut off", gzip.compress(b"__label__x a\n" * 100)[:-9], "compression is broken"),
    Case(
        "fasttext: a name with a space",
        {"a.jsonl": jsonl({"text": "x", "labels": ["a b"]})},
        ("convert", "a.jsonl", "out.txt", "--to", "fasttext"),
        ("'a b'", "white space", "jsonl"),
    ),
    Case(
        "fasttext: a text that holds a label",
        {"a.jsonl": jsonl({"text": "x", "labels": ["a"]}, {"text": "x\n__label__y", "labels": ["a"]})},
        ("convert", "a.jsonl", "out.fasttext"),
        ("row 1", "'__label__y'", "jsonl"),
    ),
    Case(
        "numbers into fasttext", {"a.txt": b"1 2 2\n0 0:1\n"}, ("convert", "a.txt", "out.fasttext"), ("needs a text",)
    ),
]

FILES = [
    train("an empty file", b"", "empty", file="a.jsonl"),
    train("an unknown format", b"once upon a time\n", "format", file="a.dat"),
    train("no such format", GOOD, "'word'", file="a.jsonl", options=("--format", "word")),
    train("gzip: cut off", gzip.compress(GOOD * 100)[:-20], "compression is broken", file="a.jsonl.gz"),
    train("gzip: damaged", b"\x1f\x8b" + bytes(50), "compression is broken", file="a.jsonl.gz"),
    train("xz: cut off", lzma.compress(GOOD * 100)[:-20], "compression is broken", file="a.jsonl.xz"),
    train(
        "xz: damaged",
        lzma.compress(GOOD)[:30] + b"xxxx" + lzma.compress(GOOD)[34:],
        "compression is broken",
        file="a.jsonl.xz",
    ),
    train("bzip2: damaged", b"BZh91AY" + bytes(40), "compression is broken", file="a.jsonl.bz2"),
    train("zstd: damaged", b"\x28\xb5\x2f\xfd" + bytes(40), "compression is broken", file="a.jsonl.zst"),
    Case("no such file", {}, ("train", "none.jsonl", "-o", "out"), ("none.jsonl", "no such file")),
    Case("a folder without data", {"folder/readme": b""}, ("train", "folder", "-o", "out"), ("folder", "split")),
    Case(
        "a filter that is no pairs",
        {"a.jsonl": GOOD, "f.txt": b"0\n"},
        ("evaluate", "{model}", "a.jsonl", "--filter-file", "f.txt"),
        ("f.txt, line 1", "pair"),
    ),
    Case(
        "a filter out of range",
        {"a.jsonl": GOOD, "f.txt": b"0 0\n9 0\n"},
        ("evaluate", "{model}", "a.jsonl", "--filter-file", "f.txt"),
        ("f.txt, line 2",),
    ),
    Case(
        "an unknown metric family",
        {"a.jsonl": GOOD},
        ("evaluate", "{model}", "a.jsonl", "--propensity", "mine"),
        ("mine",),
    ),
    Case(
        "nothing to evaluate against",
        {"a.jsonl": jsonl({"text": "x"})},
        ("evaluate", "{model}", "a.jsonl"),
        ("no labels",),
    ),
    Case("numbers for a text model", {"a.txt": b"1 2 2\n0 0:1\n"}, ("predict", "{model}", "a.txt"), ("texts",)),
    Case(
        "an output folder that is not there",
        {"a.jsonl": GOOD},
        ("predict", "{model}", "a.jsonl", "-o", "none/out.jsonl"),
        ("none/out.jsonl", "cannot be written"),
    ),
    Case("an output name without a format", {"a.jsonl": GOOD}, ("convert", "a.jsonl", "out.dat"), ("out.dat", "--to")),
    Case("texts into a numeric format", {"a.jsonl": GOOD}, ("convert", "a.jsonl", "out.txt"), ("sparse features",)),
    Case("numbers into a text format", {"a.txt": b"1 2 2\n0 0:1\n"}, ("convert", "a.txt", "out.jsonl"), ("no texts",)),
]

PARAMETERS = [
    train("an unknown model", GOOD, "'forest'", file="a.jsonl", options=("--model", "forest")),
    train("an unknown parameter", GOOD, "'n_thread'", "n_threads", file="a.jsonl", options=("--set", "n_thread=2")),
    train("a parameter of the wrong kind", GOOD, "n_threads", file="a.jsonl", options=("--set", "n_threads=many")),
    train("a parameter out of range", GOOD, "n_threads", file="a.jsonl", options=("--set", "n_threads=0")),
    train(
        "an unknown vectorizer parameter",
        GOOD,
        "'min_dff'",
        "min_df",
        file="a.jsonl",
        options=("--set", "vectorizer.min_dff=2"),
    ),
    train("an assignment without a value", GOOD, "key=value", file="a.jsonl", options=("--set", "n_threads")),
    train("a config that is not there", GOOD, "none.toml", file="a.jsonl", options=("--config", "none.toml")),
    train(
        "a config that is not TOML",
        GOOD,
        "c.toml",
        "TOML",
        file="a.jsonl",
        options=("--config", "c.toml"),
        c__toml=b"a = = b\n",
    ),
    train(
        "a config with an unknown key",
        GOOD,
        "'speed'",
        file="a.jsonl",
        options=("--config", "c.toml"),
        c__toml=b"speed = 3\n",
    ),
    train("an empty vocabulary", GOOD, "min_df", file="a.jsonl", options=("--set", "vectorizer.min_df=50")),
    train("an empty separator", GOOD, "--label-separator", file="a.jsonl", options=("--label-separator", "")),
]

MODELS = [
    Case("no such model", {"a.jsonl": GOOD}, ("predict", "none", "a.jsonl"), ("none",)),
    Case("a file as model", {"a.jsonl": GOOD}, ("predict", "a.jsonl", "a.jsonl"), ("a.jsonl",)),
    Case(
        "a manifest that is not JSON", {"a.jsonl": GOOD, "m/manifest.json": b"{"}, ("predict", "m", "a.jsonl"), ("m",)
    ),
    Case(
        "a manifest from the future",
        {"a.jsonl": GOOD, "m/manifest.json": jsonl({"format": 999})},
        ("predict", "m", "a.jsonl"),
        ("m",),
    ),
    Case("a place that is taken", {"a.jsonl": GOOD, "m/notes.txt": b"mine"}, ("train", "a.jsonl", "-o", "m"), ("m",)),
]

PAGE = {"id": "home", "rows": ["a dog", "a rose"], "labels": ["animal"]}


def impute(name: str, content: bytes, *words: str, options: tuple[str, ...] = (), file: str = "a.jsonl") -> Case:
    """A case that hands out the labels of groups."""
    return Case(name, {file: content}, ("impute", file, "-o", "out.jsonl", *options), words)


GROUPS = [
    impute("impute: single rows", GOOD, "a.jsonl", "--group-column"),
    impute("impute: no labels", jsonl({"rows": ["a", "b"]}), "no labels", "--label-column"),
    impute("impute: a group without rows", jsonl(PAGE, {"rows": [], "labels": ["x"]}), "group 2", "no rows"),
    impute("impute: a row that is a number", jsonl(PAGE, {"rows": [1], "labels": ["x"]}), "line 2", "'rows'"),
    impute("impute: rows are not a list", jsonl({"rows": "a", "labels": ["x"]}), "line 1", "list"),
    impute("impute: a row and a group", jsonl(PAGE, ROW), "line 2", "in the same way"),
    impute("impute: no words in any row", jsonl({"rows": ["", "-"], "labels": ["x"]}), "a.jsonl", "no term"),
    impute("impute: no such column of rows", jsonl(PAGE), "line 1", "'texts'", options=("--rows-column", "texts")),
    impute("impute: a group in a group", jsonl(PAGE), "line 1", "leave out", options=("--group-column", "page")),
    impute(
        "impute: lists as texts",
        jsonl({"texts": ["a", "b"], "labels": ["x"]}),
        "line 1",
        "--rows-column",
        options=("--text-column", "texts"),
    ),
    impute("impute: no such column of groups", GOOD, "line 1", "'page'", options=("--group-column", "page")),
    impute(
        "impute: a row without a group",
        jsonl({"text": "a", "page": "p"}, {"text": "b"}),
        "line 2",
        "'page'",
        options=("--group-column", "page"),
    ),
    impute(
        "impute: groups that are no names",
        jsonl({"text": "a", "page": 1.5}),
        "line 1",
        "double",
        options=("--group-column", "page"),
    ),
    impute(
        "impute: csv without a group",
        b"page,text,labels\np,a,x\n,b,y\n",
        "row 2",
        "'page'",
        options=("--group-column", "page"),
        file="a.csv",
    ),
    impute("impute: a parameter that Eagle has not", jsonl(PAGE), "'iteration'", options=("--set", "iteration=3")),
    impute("impute: a parameter out of range", jsonl(PAGE), "step", options=("--set", "step=-1")),
    impute("impute: the baseline has no parameters", jsonl(PAGE), "step", options=("--set", "step=1", "--baseline")),
    Case("impute: onto itself", {"a.jsonl": jsonl(PAGE)}, ("impute", "a.jsonl", "-o", "a.jsonl"), ("another file",)),
    Case("impute: no such folder", {"a.jsonl": jsonl(PAGE)}, ("impute", "a.jsonl", "-o", "b/c.jsonl"), ("folder",)),
    Case("impute: a format without lists", {"a.jsonl": jsonl(PAGE)}, ("impute", "a.jsonl", "-o", "b.svm"), ("jsonl",)),
    train("grouped: not asked for", jsonl(PAGE), "--grouped", "impute", file="a.jsonl"),
    train("grouped: single rows", GOOD, "--group-column", file="a.jsonl", options=("--grouped",)),
    train("grouped: eagle without groups", GOOD, "--grouped", file="a.jsonl", options=("--eagle", "step=1")),
    train("grouped: no key", jsonl(PAGE), "--eagle 'step'", file="a.jsonl", options=("--grouped", "--eagle", "step")),
    train(
        "grouped: a table that is none",
        jsonl(PAGE),
        "eagle",
        "table",
        file="a.jsonl",
        options=("--grouped", "--set", "eagle=3"),
    ),
]

CASES = [*XC, *SPLIT, *SVMLIGHT, *JSON, *TABLES, *ARRAYS, *FASTTEXT, *FILES, *PARAMETERS, *MODELS, *GROUPS]
