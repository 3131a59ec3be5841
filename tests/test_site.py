"""The site builds without a warning, holds what the program says of itself, and finds links that lead nowhere."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from typer.main import get_command

import labelwood
from labelwood.cli import app
from labelwood.dual_encoder import PrimeSettings

pytest.importorskip("sphinx", reason="the site needs the extra docs")
pytest.importorskip("myst_parser", reason="the site needs the extra docs")
pytest.importorskip("furo", reason="the site needs the extra docs")

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
LOST = "---\norphan: true\n---\n\n# Lost\n\n[nowhere](no_such_page.md)\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of the documents and of a page with a link that leads nowhere, and what the build complained about."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("api"))
    (folder / "docs" / "lost.md").write_text(LOST)
    how = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "-b", "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *how, folder / "docs", folder / "site"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return folder / "site", done.returncode, done.stderr.splitlines()


def words(site, page):
    """The text of a page."""
    return unescape(re.sub(r"<[^>]+>", "", (site[0] / page).read_text("utf-8")))


def test_the_only_complaint_is_about_the_link_that_leads_nowhere(site):
    _, status, complaints = site
    assert status == 1
    (complaint,) = complaints
    assert "lost.md" in complaint
    assert "no_such_page.md" in complaint


def test_every_page_can_be_reached(site):
    pages = {str(path.relative_to(DOCS).with_suffix(".html")) for path in DOCS.glob("*/*.md")}
    assert all((site[0] / page).exists() for page in pages)
    listed = (site[0] / "index.html").read_text("utf-8")
    assert all(page in listed for page in pages)


def test_the_command_line_page_has_every_command_and_option(site):
    page = words(site, "reference/command_line.html")
    for name, command in get_command(app).commands.items():
        assert f"labelwood {name}" in page
        for option in (each for parameter in command.params for each in parameter.opts if each.startswith("-")):
            assert option in page


def test_the_settings_page_has_every_key_with_its_default(site):
    page = words(site, "reference/settings.html")
    for name, table in PrimeSettings.model_fields.items():
        for key, field in type(table.default).model_fields.items():
            assert re.search(rf"^{key}$", page, re.MULTILINE), f"{name}.{key}"
            if isinstance(field.default, str):
                assert f'"{field.default}"' in page


def test_models_are_documented_with_what_they_inherit(site):
    page = words(site, "reference/api/TreeClassifier.html")
    for name in ("max_leaf", "predict_topk", "calibrate", "save", "get_params"):
        assert name in page


def test_nothing_comes_from_other_hosts(site):
    for page in site[0].rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]*src=\"([^\"]+)\"|<link[^>]*href=\"([^\"]+)\"", page.read_text("utf-8")
        )
        assert not [url for pair in loaded for url in pair if url.startswith(("http", "//"))]


def test_every_public_name_has_its_place(site):
    pages = "".join(page.read_text("utf-8") for page in (site[0] / "reference" / "api").glob("*.html"))
    described = {place.rpartition(".")[2] for place in re.findall(r'id="(labelwood\.[\w.]+)"', pages)}
    for name in labelwood.__all__:
        value = getattr(labelwood, name)
        assert {*value.__all__} <= described if inspect.ismodule(value) else name in described
