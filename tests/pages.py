"""Pages of paragraphs, each paragraph about one topic; a page is tagged with the topics of its paragraphs."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

TOPICS = {
    "cooking": "oven salt flour butter onion recipe sauce knife",
    "garden": "rose tulip soil hedge lawn spade seed bloom",
    "law": "judge court trial lawyer appeal verdict prison crime",
    "money": "bank coin loan price stock tax wage debt",
    "music": "violin choir melody opera drum chord singer tune",
    "roads": "bridge lorry traffic motorway wheel engine tyre driver",
    "sea": "ship harbour tide sailor anchor wave reef captain",
    "space": "planet comet orbit rocket star moon telescope galaxy",
}
COMMON = ["the", "a", "of", "and", "in", "with", "very", "some", "then", "also"]


class Pages(NamedTuple):
    """Texts, the page of each, the tags of each page, and the topic that each text is about."""

    texts: list[str]
    pages: list[int]
    tags: list[list[str]]
    topics: list[str | None]

    def records(self, rows="rows"):
        """As grouped records."""
        records = [{"id": f"p{i}", rows: [], "labels": tags} for i, tags in enumerate(self.tags)]
        for text, page in zip(self.texts, self.pages, strict=True):
            records[page][rows].append(text)
        return records

    def write(self, path, **options):
        """As grouped JSON lines."""
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records(**options)))
        return path


def made_pages(
    n_pages: int = 40, size: int = 3, seed: int = 0, *, n_words: int = 5, boilerplate: bool = False
) -> Pages:
    """Pages of `size` paragraphs about different topics, with `n_words` of their topic.

    With `boilerplate`, each page has a paragraph of common words besides, which is about nothing.
    """
    rng = np.random.default_rng(seed)
    texts, pages, tags, topics = [], [], [], []
    for page in range(n_pages):
        chosen = rng.choice(list(TOPICS), size, replace=False).tolist()
        tags.append(sorted(chosen))
        for topic in rng.permutation([*chosen, ""] if boilerplate else chosen).tolist():
            words = rng.choice(COMMON, 9 - n_words if topic else 9).tolist()
            words += rng.choice(TOPICS[topic].split(), n_words).tolist() if topic else []
            texts.append(" ".join(rng.permutation(words).tolist()))
            pages.append(page)
            topics.append(topic or None)
    return Pages(texts, pages, tags, topics)
