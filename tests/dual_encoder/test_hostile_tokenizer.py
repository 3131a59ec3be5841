"""A hostile tokenizer file is refused before it ends the process or takes all time and memory; real ones work."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tests.dual_encoder.hostile import charsmap, hostile_tokenizers, mutated_tokenizers, precompiled, tokenizer
from tests.dual_encoder.samples import write_checkpoint
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Rules

from labelwood.dual_encoder.model import tokenizer as tokenizers_of_ours
from labelwood.dual_encoder.model.encoder import encoder_from_state
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.model.tokenizer_check.patterns import KNOWN, is_safe
from labelwood.dual_encoder.settings import EncoderSettings
from labelwood.errors import LabelwoodError, ModelError

pytestmark = pytest.mark.deep

TEXTS = ["", " ", "dog", "A dog, é ﬁ 中文 𝐀\t\n!", "a" * 3000, " " * 3000 + "x", "é" * 500, "\u0301" * 100, "\0"]
MEMORY = 3 << 30  # bytes of address space
# Reads tokenizer files from its input. Prints for each whether it was refused, with how many lines, or read all texts.
WORKER = """
import json, resource, sys
from labelwood.errors import LabelwoodError
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
import tokenizers
texts = json.loads(sys.stdin.readline())
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for line in sys.stdin:
    try:
        words = SubwordTokenizer(json.loads(line), pad_id=0)
        assert all(len(ids) <= 16 for ids in words.encode(texts, max_tokens=16))
        print("read", words.highest_id, flush=True)
    except LabelwoodError as e:
        print("refused", str(e).count("\\\\n"), len(str(e)), flush=True)
"""


def outcomes(cases):
    """The result for each file in a separate process with little memory; nothing may be printed to the terminal."""
    given = "\n".join(map(json.dumps, [TEXTS, *(text for _, text in cases)]))
    command = [sys.executable, "-c", WORKER, str(MEMORY)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False)
    found = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, ""), f"after {cases[min(len(found), len(cases) - 1)][0]!r}"
    return dict(zip((name for name, _ in cases), found, strict=True))


def test_hostile_files_are_refused_by_one_sentence():
    found = outcomes(list(hostile_tokenizers()))
    assert len(found) > 100
    assert {name: said for name, said in found.items() if not said.startswith("refused 0")} == {}
    assert max(int(said.split()[2]) for said in found.values()) < 500


@pytest.mark.parametrize("seed", range(3))
def test_files_with_faults_are_refused_or_can_encode_any_text(seed):
    found = outcomes(list(mutated_tokenizers(random.Random(seed))))
    assert {said.split()[0] for said in found.values()} == {"refused", "read"}
    assert not any(said.startswith("refused") and not said.startswith("refused 0") for said in found.values())


def rules_of(model, special, **parts):
    rules = Rules(model)
    for name, part in parts.items():
        setattr(rules, name, part)
    rules.add_special_tokens(special)
    return rules


def _template(start, end, ids):
    pair = f"{start} $A {end} {end} $B:1 {end}:1"
    marks = list(zip((start, end), ids, strict=True))
    return processors.TemplateProcessing(single=f"{start} $A {end}", pair=pair, special_tokens=marks)


def _bert():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dog", "##s", "a", "##a", "!", ",", "中", "x", "##x", ""]
    model = models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]", max_input_chars_per_word=100)
    return rules_of(
        model,
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
        normalizer=normalizers.BertNormalizer(),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        post_processor=_template("[CLS]", "[SEP]", (2, 3)),
        decoder=decoders.WordPiece(),
    )


def _roberta():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<s>", "<pad>", "</s>", "<unk>", *letters, "do", "dog", "Ġdog", "Ġd"]
    merges = [("d", "o"), ("do", "g"), ("Ġ", "d"), ("Ġ", "dog")]
    model = models.BPE({word: i for i, word in enumerate(words)}, merges, unk_token="<unk>")
    marks = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return rules_of(
        model,
        ["<s>", "<pad>", "</s>", "<mask>"],
        pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False),
        post_processor=marks,
        decoder=decoders.ByteLevel(),
    )


def _llama_like():
    rules, pattern = _roberta(), max(KNOWN, key=len)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    rules.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level])
    marks = _template("<s>", "</s>", (0, 2))
    rules.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), marks])
    return rules


def _xlm_roberta():
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*((mark, 0.0) for mark in special), ("▁", -2.0), ("▁dog", -3.5), ("a", -4.0), ("e", -5)]
    table = charsmap({"A": "a", "é": "e", "ﬁ": "fi", "𝐀": "a", "\t": " ", "\0": "", "\ufdfa": "a" * 18})
    spaces = normalizers.Replace(Regex(" {2,}"), "▁")
    return rules_of(
        models.Unigram(pieces, unk_id=3, byte_fallback=False),
        special,
        normalizer=normalizers.Sequence([normalizers.Precompiled(table), normalizers.Strip(left=False), spaces]),
        pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        post_processor=_template("<s>", "</s>", (0, 2)),
        decoder=decoders.Metaspace(),
    )


def _albert():
    rules = _xlm_roberta()
    quotes = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    others = [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), rules.normalizer[0]]
    rules.normalizer = normalizers.Sequence([*quotes, *others])
    return rules


def _everything():
    words = models.WordLevel({"?": 0, "dog": 1, "a": 2}, unk_token="?")
    lines = pre_tokenizers.Split(Regex(r"[\n\r\t]"), "removed")
    parts = [lines, pre_tokenizers.Punctuation(), pre_tokenizers.Digits(), pre_tokenizers.CharDelimiterSplit("-")]
    before = [normalizers.NFC(), normalizers.Nmt(), normalizers.Prepend("_"), normalizers.NFKC(), normalizers.NFD()]
    return rules_of(
        words,
        ["<x>"],
        normalizer=normalizers.Sequence(before),
        pre_tokenizer=pre_tokenizers.Sequence([*parts, pre_tokenizers.UnicodeScripts(), pre_tokenizers.Whitespace()]),
        post_processor=processors.BertProcessing(("a", 2), ("?", 0)),
        decoder=decoders.Fuse(),
    )


@pytest.mark.parametrize("make", [_bert, _roberta, _llama_like, _xlm_roberta, _albert, _everything])
def test_real_kinds_of_tokenizers_give_the_tokens_of_the_library(make):
    rules = make()
    rules.enable_truncation(64)
    rules.enable_padding(length=100)
    words = SubwordTokenizer(rules.to_str(), pad_id=1)
    rules.no_padding()
    assert words.encode(TEXTS, max_tokens=64) == [encoding.ids for encoding in rules.encode_batch(TEXTS)]
    assert words.highest_id < rules.get_vocab_size() + 10
    assert words.text == SubwordTokenizer(words.text, pad_id=1).text


def test_older_files_without_a_model_type_are_read():
    for make in (_bert, _roberta, _xlm_roberta, _everything):
        file = json.loads(make().to_str())
        kind = file["model"].pop("type")
        assert SubwordTokenizer(json.dumps(file), pad_id=0).encode(["dog"], 8) == [make().encode("dog").ids], kind


def test_a_table_of_characters_replaces_characters():
    words = SubwordTokenizer(json.dumps(tokenizer(normalizer=precompiled(charsmap({"D": "d", "é": "og"})))), pad_id=0)
    assert words.encode(["Dé", "dog", "D"], 4) == [[1], [1], [0]]


@pytest.mark.parametrize("pattern", [*sorted(KNOWN), " {2,}", r"[\n\r\t]", r"\s+", r"\p{L}+|\p{N}{3}", "ab|cd+", r"\."])
def test_simple_patterns_are_safe(pattern):
    assert is_safe(pattern)
    Regex(pattern)


def test_a_panic_becomes_a_labelwood_error_but_ctrl_c_does_not(monkeypatch):
    class PanicException(BaseException):  # as raised by the library in Rust
        pass

    class Failing:
        def __init__(self, error):
            self.error = error

        def encode_batch(self, texts):
            raise self.error

    words = SubwordTokenizer(json.dumps(tokenizer()), pad_id=0)
    words._truncating[4] = Failing(PanicException("index out of bounds\nmore"))
    with pytest.raises(LabelwoodError, match=r"cannot read a text \(index out of bounds\): give"):
        words.encode(["dog"], 4)
    for error in (KeyboardInterrupt, SystemExit):
        words._truncating[4] = Failing(error())
        with pytest.raises(error):
            words.encode(["dog"], 4)
    assert tokenizers_of_ours.SubwordTokenizer is SubwordTokenizer


def test_the_error_for_half_a_character_names_the_text():
    words = SubwordTokenizer(json.dumps(tokenizer()), pad_id=0)
    with pytest.raises(
        LabelwoodError, match=r"^the text 'a \\ud800' has half of a character \('\\ud800'\): replace it$"
    ):
        words.encode(["dog", "a \ud800"], 4)


def test_texts_are_tokenised_in_blocks_so_that_ctrl_c_works():
    words = SubwordTokenizer(json.dumps(tokenizer(pre_tokenizer={"type": "Whitespace"})), pad_id=0)
    texts = ["dog a " * 10_000, "a", "dog", "a dog " * 100_000, "", "x"] * 3
    expected = [words.encode([text], 4)[0] for text in texts]
    read = []

    class Counting:
        def encode_batch(self, texts):
            read.append(sum(map(len, texts[:-1])))
            return rules.encode_batch(texts)

    rules, words._truncating[4] = words._truncating[4], Counting()
    assert words.encode(texts, 4) == expected
    assert len(read) >= 3
    assert max(read) < 1 << 18, "except for the last text, which can have any length"


def test_several_threads_can_tokenise_with_different_lengths():
    words = SubwordTokenizer(_bert().to_str(), pad_id=0)
    texts = ["dog a " * 50] * 20
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: words.encode(texts, max_tokens=n), [3, 8, 16, 50] * 20))
    assert [{len(ids) for ids in tokens} for tokens in found] == [{3}, {8}, {16}, {50}] * 20


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def test_the_tokenizer_of_a_model_and_of_a_checkpoint_is_checked(checkpoint, tmp_path):
    text = json.dumps(tokenizer(normalizer=precompiled(b"\0")))
    state = load_encoder(EncoderSettings(checkpoint=checkpoint)).state()
    arrays = {**state.arrays, "tokenizer.json": np.frombuffer(text.encode(), np.uint8)}
    with pytest.raises(ModelError, match="its table of characters is damaged") as e:
        encoder_from_state(replace(state, arrays=arrays))
    assert "\n" not in str(e.value)
    write_checkpoint(tmp_path)
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(LabelwoodError, match="its table of characters is damaged"):
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(LabelwoodError, match=r"has no tokenizer\.json: save one with its tokenizer"):
        load_encoder(EncoderSettings(checkpoint=str(tmp_path)))


def test_memory_is_allocated_for_existing_weights_and_not_for_claimed_sizes():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, text in hostile_tokenizers():
        if "gigabytes" in name or "far away" in name:
            with pytest.raises(LabelwoodError):
                SubwordTokenizer(text, pad_id=0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB
