"""Texts are tokenised once, cached in files that cannot contain code, and padded no more than needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from labelwood.dual_encoder.data.tokens import TokenFeeder, Tokens
from labelwood.dual_encoder.model.tokenizer import WordHasher
from labelwood.errors import InputError

pytestmark = pytest.mark.deep

TEXTS = ["one", "one two three four five six seven eight nine", "", "Ünïcode wörds"]


class Counting(WordHasher):
    """Counts how often it is called."""

    calls = 0

    def encode(self, texts, max_tokens):
        Counting.calls += 1
        return super().encode(texts, max_tokens)


def test_arrow_and_lists_give_the_same_tokens():
    a, b = (Tokens.of(texts, WordHasher(1000), max_tokens=6) for texts in (TEXTS, pa.array(TEXTS, pa.large_string())))
    assert np.array_equal(a.ids, b.ids)
    assert a.ids.dtype == np.int32
    assert a.lengths.tolist() == [2, 6, 1, 3]


def test_tokens_are_mapped_from_the_cache_the_second_time(tmp_path):
    tokenizer = Counting(1000)
    first = Tokens.of(TEXTS, tokenizer, max_tokens=6, cache=tmp_path / "a")
    calls = Counting.calls
    again = Tokens.of(TEXTS, tokenizer, max_tokens=6, cache=tmp_path / "a")
    assert Counting.calls == calls
    assert isinstance(again.ids, np.memmap)
    assert np.array_equal(first.ids, again.ids)
    assert np.array_equal(first.offsets, again.offsets)


@pytest.mark.parametrize("other", ["texts", "tokenizer", "length"])
def test_the_cache_is_not_used_for_other_texts_tokenizers_or_lengths(tmp_path, other):
    Tokens.of(TEXTS, WordHasher(1000), max_tokens=6, cache=tmp_path)
    texts = [*TEXTS[:-1], "x"] if other == "texts" else TEXTS
    words = WordHasher(500 if other == "tokenizer" else 1000)
    max_tokens = 5 if other == "length" else 6
    found = Tokens.of(texts, words, max_tokens=max_tokens, cache=tmp_path)
    assert np.array_equal(found.ids, Tokens.of(texts, words, max_tokens=max_tokens).ids)


@pytest.mark.parametrize("damage", [b"", b"junk", "object"])
def test_a_damaged_cache_is_written_again_and_never_unpickled(tmp_path, damage):
    good = Tokens.of(TEXTS, WordHasher(1000), max_tokens=6, cache=tmp_path).ids.copy()
    for path in tmp_path.iterdir():
        if damage == "object":
            np.save(path, np.array([{"a": 1}], object), allow_pickle=True)
        else:
            path.unlink()
            path.write_bytes(damage)
    assert np.array_equal(Tokens.of(TEXTS, WordHasher(1000), max_tokens=6, cache=tmp_path).ids, good)


def test_an_unusable_cache_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="tokens cannot be written here"):
        Tokens.of(TEXTS, WordHasher(1000), max_tokens=6, cache=tmp_path / "file")


def test_the_width_of_a_batch_is_that_of_its_longest_text_rounded_up_to_eights():
    tokens = Tokens.of(TEXTS, WordHasher(1000), max_tokens=32)
    feeder = TokenFeeder((tokens,), "cpu")
    for which in ([0, 2], [1], [3, 1, 0], [2, 2]):
        ids, real = feeder.padded(np.array(which))
        assert ids.shape[1] == min(-(-tokens.lengths[which].max() // 8) * 8, tokens.lengths.max())
        for row, mask, text in zip(ids.numpy(), real.numpy(), which, strict=True):
            expected = tokens.ids[tokens.offsets[text] : tokens.offsets[text + 1]]
            assert np.array_equal(row[mask], expected)
            assert (row[~mask] == 0).all()
            assert mask[: len(expected)].all()


def test_chunks_by_length_contain_every_text_once():
    tokens = Tokens.of(TEXTS * 3, WordHasher(1000), max_tokens=32)
    which = np.array([1, 5, 0, 2, 9, 9])
    chunks = TokenFeeder((tokens,), "cpu").by_length(which, 4)
    assert sorted(np.concatenate(chunks).tolist()) == list(range(6))
    lengths = tokens.lengths[which[np.concatenate(chunks)]]
    assert (np.diff(lengths) >= 0).all()
    assert [len(chunk) for chunk in chunks] == [3, 3], "chunks of equal size"
    assert TokenFeeder((tokens,), "cpu").by_length(which[:0], 4) == []
