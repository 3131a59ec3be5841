"""One settings object covers all methods of the lineage, and unknown keys are errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from labelwood.dual_encoder.model.encoder import TinyEncoder, unit
from labelwood.dual_encoder.model.network import DualEncoder
from labelwood.dual_encoder.model.prototypes import FreeVectors
from labelwood.dual_encoder.settings import PrimeSettings, as_settings, load_settings
from labelwood.dual_encoder.training.objective import Objective, Relations
from labelwood.errors import InputError, LabelwoodError, ParameterError

pytestmark = pytest.mark.deep

CONFIGS = Path(__file__).parents[2] / "lab" / "experiments" / "prime" / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_configuration_loads(path):
    assert isinstance(load_settings(path), PrimeSettings)


def test_there_are_configurations_for_the_lineage_and_the_ablations():
    names = {path.stem for path in CONFIGS.glob("*.toml")}
    assert {"dpr", "ance", "ngame", "dexa", "dexml", "prime", "prime_lite"} <= names
    assert len([name for name in names if name.startswith("table6_")]) == 4
    assert len([name for name in names if name.startswith("table9_")]) == 7
    assert "table11_uniform_positives" in names


def test_defaults_are_those_of_prime_with_an_anchor():
    assert load_settings(CONFIGS / "prime.toml").with_changes({"objective": {"anchor": 0.1}}) == PrimeSettings()
    assert load_settings(CONFIGS / "anchored.toml") == PrimeSettings()


def test_configurations_differ_from_each_other():
    found = {path.stem: load_settings(path) for path in CONFIGS.glob("*.toml")}
    same = [(a, b) for a in found for b in found if a < b and found[a] == found[b]]
    assert same == [("prime_lite", "table9_free_vectors_131072")], "PRIME-lite is defined like this"


def case(seed=0, n_queries=5, n_labels=7, dim=8):
    """Vectors, free vectors and true labels: two for each query, one of them sampled."""
    rng = np.random.default_rng(seed)
    u_q, u_l, v = (torch.from_numpy(rng.normal(size=(n, dim))).float() for n in (n_queries, n_labels, n_labels))
    truth = np.zeros((n_queries, n_labels), bool)
    for i in range(n_queries):
        truth[i, [i, (i + 2) % n_labels]] = True
    positives = np.arange(n_queries)[:, None]
    return u_q, u_l, v, truth, positives


def ngame_loss(sims, truth, positives, *, margin=0.3, tau=0.1, k=10):
    """NGAME's triplet loss over each row's hardest negatives, with loops over rows and triplets."""
    rows = []
    for similarities, true, positive in zip(sims, truth, positives[:, 0], strict=True):
        negatives = np.sort(similarities[~true])[::-1][:k]
        losses = np.maximum(negatives - similarities[positive] + margin, 0)
        logits = negatives * (losses > 0) / tau
        weights = np.exp(logits - logits.max())
        rows.append((losses * weights / weights.sum()).mean())
    return np.mean(rows)


def loss_of(name, u_q, u_l, prototypes, *, truth, positives):
    objective = Objective(load_settings(CONFIGS / f"{name}.toml"))
    relations = Relations(*(torch.from_numpy(each) for each in (truth, positives, positives[:, 0])))
    total, parts = objective(unit(u_q), unit(u_l), prototypes, relations)
    assert len(parts) == 1
    return total.item()


def test_settings_reproduce_the_loss_of_ngame():
    u_q, u_l, _, truth, positives = case()
    expected = ngame_loss((unit(u_q) @ unit(u_l).T).numpy(), truth, positives)
    assert loss_of("ngame", u_q, u_l, None, truth=truth, positives=positives) == pytest.approx(expected, rel=1e-5)


def test_settings_reproduce_the_loss_of_dexa():
    u_q, u_l, v, truth, positives = case()
    settings = load_settings(CONFIGS / "dexa.toml")
    free = FreeVectors(np.arange(len(v)), dim=v.shape[1])
    free.bank.data = v
    network = DualEncoder(TinyEncoder(v.shape[1]), settings.prototypes, free=free)
    with torch.no_grad():
        z = network.prototypes(u_l, torch.arange(len(v)))
    both = (u_l + v).numpy()
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    expected = ngame_loss(unit(u_q).numpy() @ both.T, truth, positives)
    assert loss_of("dexa", u_q, u_l, z, truth=truth, positives=positives) == pytest.approx(expected, rel=1e-5)


def test_settings_reproduce_the_softmax_of_dexml():
    u_q, u_l, _, truth, positives = case()
    sims = (unit(u_q) @ unit(u_l).T).numpy().astype(np.float64) / 0.05
    rows = [
        -np.log(np.exp(s[p]) / (np.exp(s[p]) + np.exp(s[~t]).sum()))
        for s, t, p in zip(sims, truth, positives[:, 0], strict=True)
    ]
    assert loss_of("dexml", u_q, u_l, None, truth=truth, positives=positives) == pytest.approx(np.mean(rows), rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": {"margn": 1.0}}, "loss.margn is not a setting"),
        ({"batches": {"size": 0}}, "batches.size is 0 but should be greater than or equal to 1"),
        ({"loss": {"kind": "hinge"}}, "loss.kind is 'hinge' but should be"),
        ({"loss": {"margin_min": 0.5}}, "margin_min is above"),
        ({"prototypes": {"kind": "text"}, "objective": {"query_to_label": 0.0}}, "no loss compares queries with"),
        ({"batches": {"columns": "all"}}, '"all" no labels are drawn for queries; set objective.label_to_query to 0'),
        ({"training": {"compile": "yes"}}, "training.compile is 'yes' but should be a valid boolean"),
        (5, "settings:"),
    ],
)
def test_a_wrong_setting_is_one_clear_sentence(settings, sentence):
    with pytest.raises(ParameterError, match=sentence) as e:
        as_settings(settings)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[loss\n", "this is not TOML"),
        ("[los]\nmargin = 1.0\n", "los is not a setting"),
        ('extends = "a.toml"', "without cycles"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, sentence):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as e:
        as_settings(path)
    assert str(path) in str(e.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LabelwoodError, match=r"none\.toml: the settings cannot be read"):
        load_settings(tmp_path / "none.toml")
