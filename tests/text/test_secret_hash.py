"""Tables of terms are keyed by a secret that each process draws: answers do not depend on it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numpy as np
from labelwood.text import TextVectorizer

rng = np.random.default_rng(0)
texts = [" ".join("word%d" % i for i in rng.integers(0, 5000, 300)) for _ in range(200)]
texts.append(" ".join("a longer word %d" % i for i in range(9000)))  # more terms than are counted at a time
digest = hashlib.sha256()
for how in ({}, {"ngrams": (1, 2)}, {"n_buckets": 1 << 16}, {"analyzer": "char_wb", "ngrams": (3, 5)}):
    vectorizer = TextVectorizer(n_threads=2, **how)
    for matrix in (vectorizer.fit_transform(texts), vectorizer.transform(texts[::-1])):
        for part in (matrix.indptr, matrix.indices, matrix.data):
            digest.update(part.tobytes())
print(digest.hexdigest())
"""


def answer_of(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_same_texts_give_the_same_bytes_in_every_process():
    assert len({answer_of(PROGRAM) for _ in range(3)}) == 1


def test_terms_have_other_places_in_every_process():
    program = "from labelwood import _native; print(*_native.places(b'a term of over sixteen bytes'))"
    for places in zip(*(answer_of(program).split() for _ in range(3)), strict=True):
        assert len(set(places)) == 3
