"""Makes the built-in sample from WordNet 3.0's definitions and hypernyms.

Usage: python tools/make_sample.py WORDNET_FOLDER OUTPUT_FOLDER

WORDNET_FOLDER holds train, test and labels as JSON lines (xz): a row is a synset's words and definition, its labels
are all hypernyms as line numbers of the labels' file, `direct` the immediate ones. Kept are the nouns outside the
Latin names of biological groups, and the labels that at least two training rows have. Labels get the names a
dictionary would give them: the first word, with the concept above in brackets where words are ambiguous.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from pathlib import Path
from typing import Any

_LEFT_OUT = "biological group"
_MIN_ROWS = 2


def main(source: Path, target: Path) -> None:
    """Writes train, test and labels to `target`."""
    labels = _lines(source / "labels.jsonl.xz")
    splits = {name: _lines(source / f"{name}.jsonl.xz") for name in ("train", "test")}
    left_out = next(i for i, label in enumerate(labels) if label["text"].startswith(_LEFT_OUT))
    rows_of_all = [*splits["train"], *splits["test"]]
    for name, rows in splits.items():
        splits[name] = [r for r in rows if r["id"].startswith("n") and left_out not in r["labels"] and r["labels"]]
    counts = Counter(label for row in splits["train"] for label in row["labels"])
    kept = [i for i in range(len(labels)) if counts[i] >= _MIN_ROWS]
    new_id = {old: new for new, old in enumerate(kept)}
    names = _names(labels, kept, {row["id"]: row["direct"] for row in rows_of_all})
    described = [{"id": name, "text": labels[i]["text"]} for name, i in zip(names, kept, strict=True)]
    _write(target / "labels.jsonl.xz", described)
    for name, rows in splits.items():
        records = []
        for row in rows:
            ids = [new_id[label] for label in row["labels"] if label in new_id]
            if ids:
                records.append({"id": row["id"], "text": row["text"], "labels": ids})
        _write(target / f"{name}.jsonl.xz", records)


def _names(labels: list[dict[str, Any]], kept: list[int], parents: dict[str, list[int]]) -> list[str]:
    word = [label["text"].split(":", 1)[0].split(",", 1)[0] for label in labels]
    count = Counter(word[i] for i in kept)
    names = []
    for i in kept:
        above = [word[p] for p in parents.get(labels[i]["id"], []) if p != i]
        names.append(word[i] if count[word[i]] == 1 or not above else f"{word[i]} ({above[0]})")
    count = Counter(names)
    return [n if count[n] == 1 else f"{n} [{labels[i]['id']}]" for n, i in zip(names, kept, strict=True)]


def _lines(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
