"""What README and the pages say to type works as it is written, on a small part of the built-in sample."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.dual_encoder.samples import write_checkpoint
from tests.pages import made_pages

import labelwood as lw
from labelwood.groups import merged_labels, random_groups

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[1]
SETTINGS = """
[encoder]
checkpoint = "encoder"
max_tokens = 8
[batches]
size = 64
random_epochs = 1
[prototypes]
feedforward = 16
[training]
epochs = 1
[classifiers]
epochs = 1
"""
GUIDE = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "guide").glob("*.md"))
PAGES = ["README.md", "docs/index.md", *GUIDE, "docs/reference/format.md"]
PAGES += ["docs/results/aggregated_labels.md"]  # whose figures an example makes
LINKING = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
WRITING = ("README.md", "docs/guide/quickstart.md")  # the files that other pages find
LONGEST, MOST_ROWS = 150, 8  # lines of a page that people read, rows of a table in it
# What needs other files or another's model, and the trade-off, whose dozens of trainings have tests of their own.
ELSEWHERE = ("softmax.toml", "word_vectors=", "table.csv", "MODEL", "apple", "tradeoff")


def blocks(page: str, language: str) -> list[str]:
    """The page's examples in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def sample():
    """Two hundred rows to learn from and three hundred to test on, with labels that several of them have."""
    whole = lw.data.sample()[0]
    rows = np.arange(500) * 120
    used = np.flatnonzero(np.bincount(whole.Y[rows].indices) >= 5)
    names = [whole.labels[int(label)] for label in used]
    small = replace(
        whole,
        texts=whole.texts.take(rows),
        ids=None,
        Y=whole.Y[rows][:, used],
        labels=lw.LabelIndex(names),
        label_texts=whole.label_texts.take(used),
    )
    return [
        replace(small, texts=small.texts.take(part), Y=small.Y[part]) for part in (np.arange(200), np.arange(200, 500))
    ]


@pytest.fixture
def folder(sample, tmp_path, monkeypatch):
    """A folder with the files that pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lw.data, "sample", lambda: sample)
    for name in ("articles", "reviews", "."):
        Path(name).mkdir(exist_ok=True)
        for split, rows in zip(("train", "test"), sample, strict=True):
            lw.write(rows, f"{name}/{split}.jsonl")
    pages = made_pages()
    pages.write(Path("pages.jsonl"))
    lines = [f"__label__{topic} {text}\n" for topic, text in zip(pages.topics, pages.texts, strict=True)]
    Path("train.txt").write_text("".join(lines))
    Path("texts.txt").write_text("".join(f"{text}\n" for text in pages.texts))
    Path("filter_test.txt").write_text("0 0\n")
    Path("prime.toml").write_text(SETTINGS)
    write_checkpoint(Path("encoder"))
    return tmp_path


@pytest.fixture
def names(sample):
    """What examples take for given: rows and labels, and groups of them."""
    train, test = sample
    words = lw.TextVectorizer()
    X, held_out = words.fit_transform(train.texts), words.transform(test.texts)
    groups = random_groups(len(train), size=4, seed=0)
    group_labels = merged_labels(train.Y, groups)
    given = {"X": X, "Y": train.Y, "groups": groups, "group_labels": group_labels, "lw": lw}
    given |= {"X2": X, "groups2": groups, "group_labels2": group_labels}
    given |= {"X_train": X, "Y_train": train.Y, "X_held_out": held_out, "Y_held_out": test.Y}
    return given | {"my_tree": lw.trees.fano(train.Y.sum(axis=0))}


@pytest.mark.parametrize("page", PAGES)
def test_examples_in_python_run(page, folder, names):
    if page in WRITING:
        for name in ("train.jsonl", "test.jsonl", "labels.jsonl", "filter_test.txt"):
            (folder / name).unlink()
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page}, example {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_examples_on_the_command_line_run(page, folder, labelwood):
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.startswith("labelwood ")]
    for line in lines:
        if not any(word in line for word in ELSEWHERE):
            result = labelwood(*shlex.split(line, comments=True)[1:])
            assert result.status == 0, f"{line}: {result.err}"


def test_the_settings_to_try_a_dual_encoder_with_learn_something(tmp_path):
    (block,) = (block for block in blocks("docs/guide/dual_encoders.md", "toml") if "tiny" in block)
    (tmp_path / "prime.toml").write_text(block)
    train, test = lw.data.sample()
    test = test.align(train.labels).take(range(1000))
    model = lw.PrimeClassifier(settings=tmp_path / "prime.toml")
    model.fit(train.texts[:4000], train.Y[:4000], train.label_texts)
    top = model.predict_topk(test.texts, 1)
    assert lw.metrics.evaluate(top, test.Y, ks=(1,), metrics=("P",))["P@1"] > 25


@pytest.mark.parametrize("page", ["README.md", *GUIDE])
def test_pages_for_reading_are_short(page):
    text = (ROOT / page).read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len(table.splitlines()) <= MOST_ROWS + 2, table  # a header and a line below it


def test_the_guide_lists_all_its_pages():
    listed = set(re.findall(r"\]\((\w+)\.md\)", (ROOT / "docs/guide/index.md").read_text("utf-8")))
    assert listed == {Path(page).stem for page in GUIDE} - {"index"}


@pytest.mark.parametrize("page", LINKING)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, heading in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)", text):
        linked = (ROOT / page).parent / target if target else ROOT / page
        assert linked.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", linked.read_text("utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
