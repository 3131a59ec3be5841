"""Plots are SVG with the λ of each point; the page needs no other files."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from labelwood.errors import LabelwoodError
from labelwood.tuning import Point, default_lams, report, write_report
from labelwood.tuning.summary import FIGURES, lam_text

CURVE = {"labels": [0.01, 0.1, 1.0], "rows": [0.3, 0.5, 1.0], "labels_for_half": 0.1}
NAMES = ["precision-depth.svg", "precision-latency.svg", "imbalance.svg", "shapes.svg"]


@pytest.fixture(scope="module")
def summary():
    lams = default_lams()
    runs = [
        {
            "variant": "interpolated",
            "lam": lam,
            "seed": seed,
            "figures": dict.fromkeys(FIGURES, 10 + i + seed),
            "shape": {"labels": [0.0] * i + [1.0], "occurrences": [0.0] * i + [1.0]},
        }
        for i, lam in enumerate(lams)
        for seed in range(2)
    ]
    points = [Point.of("interpolated", lam, [r["figures"] for r in runs if r["lam"] == lam]).plain() for lam in lams]
    return {
        "data": {"training_rows": 8, "held_out_rows": 2, "features": 3, "labels": 4},
        "recommended": {"same_precision": {"lam": lams[1], "sentence": "Take λ < 1 & be glad."}},
        "points": points,
        "imbalance": {"any": CURVE, "three": CURVE, "all": CURVE},
        "runs": runs,
    }


@pytest.fixture(scope="module")
def folder(summary, tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    assert write_report(place, summary) == ["tradeoff.json", "tradeoff.csv", *NAMES, "report.html"]
    return place


def texts(path):
    return [element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("}text")]


@pytest.mark.parametrize("name", NAMES[:2])
def test_each_panel_labels_each_point_with_its_lam(folder, name):
    found = texts(folder / name)
    for lam in default_lams()[1:]:  # 0 and 1 may also be ticks of an axis
        if lam != 1:
            assert found.count(lam_text(lam)) == 3


def test_axes_have_units(folder):
    assert "expected depth@3 (levels)" in texts(folder / "precision-depth.svg")
    assert "latency of one row, p50 (ms)" in texts(folder / "precision-latency.svg")
    assert "10 % of labels" in texts(folder / "imbalance.svg")
    assert "λ = 0" in texts(folder / "shapes.svg")


def test_the_same_summary_gives_the_same_bytes(folder, summary, tmp_path):
    write_report(tmp_path, summary)
    for name in [*NAMES, "report.html"]:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


def test_the_page_loads_no_external_files(folder):
    html = (folder / "report.html").read_text()
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    links = [value for name, value in page.attributes if name.rpartition(":")[2] in {"href", "src"}]
    assert links
    assert all(link.startswith("#") for link in links)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links} <= set(ids)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", html))
    assert "@import" not in html
    addresses = {value for name, value in page.attributes if value and "://" in value}
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # namespaces, not links


def test_the_page_has_sentences_plots_and_a_table_and_supports_dark_mode(folder):
    html = (folder / "report.html").read_text()
    assert "Take λ &lt; 1 &amp; be glad." in html
    assert html.index("be glad") < html.index("<svg")
    assert html.count("<svg") == len(NAMES)
    assert html.count("<tr") == 1 + len(default_lams())
    assert html.count('class="best"') == 1
    assert "prefers-color-scheme: dark" in html
    assert "currentColor" in html
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "#24292f" not in drawn
    assert "#fffffe" not in drawn


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(report, "find_spec", lambda _: None)
    with pytest.raises(LabelwoodError, match=r"pip install 'labelwood\[plots\]', or give --no-plots"):
        report.check_plots()
