"""Training learns, can be killed and resumed at any step with the same weights, and needs little memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from tests.dual_encoder.gpus import on_a_gpu
from tests.dual_encoder.samples import QUICK, changed, texts_and_labels, write_checkpoint
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from labelwood import store
from labelwood.arrays.rows import as_labels
from labelwood.dual_encoder.data.tokens import Tokens
from labelwood.dual_encoder.gpu import packing
from labelwood.dual_encoder.gpu.packing import use_packed_attention
from labelwood.dual_encoder.model import embedding
from labelwood.dual_encoder.model.pretrained import load_encoder
from labelwood.dual_encoder.settings import TrainingSettings, as_settings
from labelwood.dual_encoder.training import trainer as trainer_module
from labelwood.dual_encoder.training.gradient_cache import CachedEmbeddings
from labelwood.dual_encoder.training.optimiser import Optimiser
from labelwood.dual_encoder.training.trainer import Pairs, Trainer
from labelwood.errors import LabelwoodError, ModelError

pytestmark = pytest.mark.deep


def pairs_for(encoder, **sizes):
    texts, Y, label_texts = texts_and_labels(**sizes)
    tokens = [Tokens.of(t, encoder.tokenizer, max_tokens=8) for t in (texts, label_texts)]
    Y = as_labels(Y, len(texts))
    return Pairs(*tokens, Y, Y)


def make(settings=QUICK, kind=Trainer, **options):
    torch.manual_seed(0)
    settings = as_settings(settings)
    encoder = load_encoder(settings.encoder)
    return kind(encoder, pairs_for(encoder), settings, **options)


def weights(trainer):
    return {name: tensor.clone() for name, tensor in trainer.network.state_dict().items()}


def change(trainer, before):
    """The change of each weight, as one vector."""
    return torch.cat([(after - before[name]).ravel() for name, after in weights(trainer).items()]).float()


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class KilledError(Exception):
    """Simulates a kill."""


class Mortal(Trainer):
    """Dies after some steps."""

    lives = 5

    def _count_step(self):
        super()._count_step()
        if self.course.step == self.lives:
            raise KilledError


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write_checkpoint(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("lives", [1, 3, 7, 9])
def test_killed_training_resumes_to_exactly_the_same_weights(tmp_path, lives):
    settings = changed(training={"checkpoint_every": 1}, batches={"hard_negatives": 1})
    no_recorder = make(settings)
    no_recorder.train()
    Mortal.lives = lives
    with pytest.raises(KilledError):
        make(settings, Mortal, checkpoints=tmp_path / "c").train()
    torch.rand(3)
    resumed = make(settings, checkpoints=tmp_path / "c")
    assert resumed.course.step == lives
    resumed.train()
    assert same(weights(no_recorder), weights(resumed))


@pytest.mark.parametrize("kind", ["text", "network"])
def test_compiled_steps_change_weights_like_other_steps(monkeypatch, kind):
    counted = CompileCounterWithBackend("aot_eager")  # traces and differentiates, but generates no kernels
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=counted))
    parts = {"kind": kind, "dropout": 0.0}
    eager, compiled = (make(changed(prototypes=parts, training={"compile": on})) for on in (False, True))
    for trainer in (eager, compiled):
        trainer.train()
    assert counted.frame_count
    expected, found = weights(eager), weights(compiled)
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-5)
    first = make(changed(prototypes=parts))
    assert not same(weights(first), expected)


class NoRecorder:
    """Replaces a recorder if there is no GPU: runs each step, and logs its inputs and their sizes."""

    def __init__(self, step, device):
        self.step, self.sizes, self.released = step, [], False

    def __call__(self, *inputs):
        self.inputs = inputs
        self.sizes.append(tuple(tensor.shape for tensor in inputs))
        return self.step(*inputs).clone()

    def release(self):
        self.released = True


@pytest.fixture
def no_recorder(monkeypatch):
    """Packs texts and uses a recorder, as on a GPU; logs when code that would be compiled is used."""
    used = []
    monkeypatch.setattr(torch, "compile", lambda encode, **_: lambda *batch: used.append(1) or encode(*batch))
    monkeypatch.setattr(embedding, "can_pack", lambda encoder, *_, **__: use_packed_attention(encoder.model))
    monkeypatch.setattr(trainer_module, "Recorder", NoRecorder)
    return used


def no_randomness(checkpoint, **changes):
    """Settings for steps without randomness."""
    tables = {"encoder": {"checkpoint": checkpoint, "max_tokens": 8}, "prototypes": {"free_vectors": 32, "dropout": 0}}
    return changed(**(tables | changes))


@pytest.fixture
def checkpoint_without_dropout(tmp_path):
    return write_checkpoint(tmp_path / "still", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.mark.parametrize("batches", [{"size": 44}, {"size": 44, "positives": 1, "hard_negatives": 2}, {"size": 1000}])
def test_recorded_steps_change_weights_like_other_steps(no_recorder, checkpoint_without_dropout, batches):
    plain, replayed = (
        make(no_randomness(checkpoint_without_dropout, batches=batches, training={"compile": on}))
        for on in (False, True)
    )
    before = weights(plain)
    for trainer in (plain, replayed):
        trainer.train()
    assert plain.recorder is None
    assert len(replayed.recorder.sizes) == replayed.total
    n_whole = max(1, len(plain.pairs.queries) // batches["size"])
    assert len(no_recorder) == n_whole * replayed.settings.training.epochs, "the last batch of an epoch is not compiled"
    assert len(set(replayed.recorder.sizes)) < replayed.total
    assert replayed.recorder.released
    expected, found = weights(plain), weights(replayed)
    missed, moved = (
        torch.cat([(a[name] - b[name]).ravel().double() for name in before]).norm()
        for a, b in ((found, expected), (expected, before))
    )
    assert missed < 1e-3 * moved
    for line, other in zip(plain.history, replayed.history, strict=True):
        assert line.keys() == other.keys()
        assert line["query_to_prototype"] == pytest.approx(other["query_to_prototype"], rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "replays"),
    [
        ({}, True),
        ({"training": {"accumulate": 2}}, False),
        ({"training": {"chunk_size": 8}}, False),
        ({"training": {"replay": False}}, False),
        ({"batches": {"columns": "distinct"}}, False),
        ({"batches": {"columns": "all"}, "objective": {"label_to_query": 0.0}}, True),
    ],
)
def test_steps_are_recorded_only_if_they_are_whole_and_their_sizes_repeat(no_recorder, checkpoint, changes, replays):
    settings = changed(**{**changes, "encoder": {"checkpoint": checkpoint}})
    assert make(settings).recorder is None
    compiled = {**settings, "training": {**settings["training"], "compile": True}}
    assert (make(compiled).recorder is not None) == replays


@pytest.mark.parametrize("positives", [1, 2])
def test_a_step_reads_no_value_from_the_device(no_recorder, checkpoint, monkeypatch, positives):
    """Otherwise it could not be recorded. Here tensors have only sizes, so reading a value fails."""
    training = {"compile": True, "epochs": 1}
    trainer = make(changed(encoder={"checkpoint": checkpoint}, batches={"positives": positives}, training=training))
    trainer.train()

    def attention(module, query, key, value, mask, **_):  # ours would handle texts one by one on a CPU
        return (query + key + value)[0].transpose(0, 1)[None], None

    monkeypatch.setattr(packing, "packed_attention", attention)
    monkeypatch.setattr(trainer, "_half", lambda: torch.bfloat16)
    packing.use_packed_attention(trainer.network.encoder.model)
    with FakeTensorMode() as mode:
        for module in trainer.network.modules():
            for tensors in (module._parameters, module._buffers):
                tensors |= {name: mode.from_tensor(t) for name, t in tensors.items() if t is not None}
        trainer.bank = mode.from_tensor(trainer.bank)
        trainer.optimiser = Optimiser(trainer.network, trainer.settings.training, total_steps=1)
        inputs = [mode.from_tensor(tensor) for tensor in trainer.recorder.inputs]
        trainer.network.train()
        assert len(trainer._gpu_step(*inputs)) == len(trainer._names)
        with pytest.raises(DataDependentOutputException):
            float(trainer.bank.sum())


def test_steps_with_padded_texts_are_not_recorded(no_recorder, monkeypatch):
    monkeypatch.setattr(embedding, "can_pack", lambda *_, **__: False)
    assert make(changed(training={"compile": True})).recorder is None


def test_compiled_code_is_dropped_even_after_a_kill(monkeypatch):
    forgotten = []
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    monkeypatch.setattr(torch.compiler, "reset", lambda: forgotten.append(True))
    make(changed(training={"compile": True})).train()
    assert len(forgotten) == 1
    Mortal.lives = 2
    with pytest.raises(KilledError):
        make(changed(training={"compile": True}), Mortal).train()
    assert len(forgotten) == 2
    make().train()
    assert len(forgotten) == 2


class Logging(Trainer):
    """Logs before each step how many objects are frozen, and leaves garbage, like compiling."""

    def __init__(self, *given, **options):
        self.passed_over, self.left = [], []
        super().__init__(*given, **options)

    def _learn(self, batch):
        self.passed_over.append(gc.get_freeze_count())
        if not self.course.step:
            garbage = type("Garbage", (), {})()
            garbage.itself = garbage
            self.left.append(weakref.ref(garbage))
        return super()._learn(batch)


@pytest.mark.parametrize("at_first", [0, 375])  # since Python 3.12 some objects are frozen from the start
def test_objects_left_by_compiling_are_frozen_until_training_ends(monkeypatch, at_first):
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: max(count(), at_first))
    gc.disable()  # so that only the trainer collects
    try:
        trainer = make(changed(training={"compile": True}), Logging)
        trainer.train()
        plain = make(kind=Logging)
        plain.train()
    finally:
        gc.enable()
    first, *others = trainer.passed_over
    assert first < 10_000
    assert len(others) > trainer.n_batches
    assert min(others) > 10_000
    assert gc.get_freeze_count() == at_first
    assert trainer.left[0]() is None
    assert max(plain.passed_over) < 10_000


def test_objects_are_frozen_even_with_one_batch_per_epoch(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    trainer = make(changed(training={"compile": True}, batches={"size": 1000}), Logging)
    trainer.train()
    assert trainer.n_batches == 1
    assert trainer.passed_over[0] < 10_000
    assert min(trainer.passed_over[1:]) > 10_000


def test_objects_frozen_by_the_program_stay_frozen(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        make(changed(training={"compile": True})).train()
        assert gc.get_freeze_count() == pytest.approx(before, rel=0.01)  # some of them have been freed since
    finally:
        gc.unfreeze()


def test_nothing_is_frozen_after_a_kill(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    Mortal.lives = 3
    with pytest.raises(KilledError):
        make(changed(training={"compile": True}), Mortal).train()
    assert gc.get_freeze_count() < 10_000


of_torch = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # about torch's own modules


@on_a_gpu
@of_torch
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_replayed_steps_change_weights_like_other_steps_on_cuda(tmp_path, precision):
    """They differ from single precision no more than steps that are neither compiled nor recorded."""
    off = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    checkpoint = write_checkpoint(tmp_path, hidden_size=32, **off)
    moved = []
    for numbers, compiles in (("fp32", False), (precision, False), (precision, True), (precision, True)):
        training = {"compile": compiles, "learning_rate": 1e-3, "precision": numbers, "epochs": 8}
        trainer = make(no_randomness(checkpoint, batches={"size": 44}, training=training), device="cuda")
        recorded = []
        if compiles:
            release = trainer.recorder.release
            trainer.recorder.release = lambda r=trainer.recorder, to=recorded, f=release: to.append(r.n_recorded) or f()
        before = weights(trainer)
        trainer.train()
        assert bool(recorded and recorded[0]) == compiles
        moved.append(change(trainer, before))
    single, *halves = moved
    rounded, *others = ((half - single).norm() for half in halves)
    assert rounded < 0.2 * single.norm()
    for other in others:
        assert other < 2 * rounded


@on_a_gpu
@of_torch
def test_killed_training_with_replay_resumes_on_cuda(tmp_path):
    checkpoint = write_checkpoint(tmp_path / "bert", hidden_size=32, hidden_dropout_prob=0.0)
    training = {"compile": True, "checkpoint_every": 1, "epochs": 8, "learning_rate": 1e-3, "precision": "bf16"}
    settings = no_randomness(checkpoint, batches={"size": 44}, training=training)
    at_first = weights(make(settings, device="cuda"))
    moved = []
    for lives in (None, 9):
        if lives:
            Mortal.lives = lives
            with pytest.raises(KilledError):
                make(settings, Mortal, device="cuda", checkpoints=tmp_path / "c").train()
        trainer = make(settings, device="cuda", checkpoints=tmp_path / "c" if lives else None)
        assert trainer.course.step == (lives or 0)
        assert trainer.recorder is not None
        trainer.train()
        moved.append(change(trainer, at_first))
    assert (moved[1] - moved[0]).norm() < 0.1 * moved[0].norm()


@on_a_gpu
@of_torch
def test_an_encoder_that_waits_for_the_gpu_is_one_clear_sentence_on_cuda(tmp_path):
    """Runs in a separate process: older releases of torch do not work any more after a failed recording."""
    script = f"""
from tests.dual_encoder.test_trainer import *
training = {{"compile": True, "precision": "bf16"}}
settings = no_randomness({write_checkpoint(tmp_path, hidden_size=32)!r}, training=training)
trainer = make(settings, device="cuda")
embed_packed = trainer._embed.embed_packed
trainer._embed.embed_packed = lambda texts, **how: embed_packed(texts, **how) * (1 + 0 * float(texts.ids.sum()))
with pytest.raises(LabelwoodError, match=r"cannot be recorded .* set training.replay to false") as e:
    trainer.train()
assert "previous error" not in str(e.value), "which"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_kill_between_checkpoints_repeats_the_steps_since(tmp_path):
    settings = changed(training={"checkpoint_every": 4, "accumulate": 2, "epochs": 6, "held_out": 0.1})
    no_recorder = make(settings)
    no_recorder.train()
    Mortal.lives = 7
    with pytest.raises(KilledError):
        make(settings, Mortal, checkpoints=tmp_path / "c").train()
    resumed = make(settings, checkpoints=tmp_path / "c")
    assert resumed.course.step == 4
    resumed.train()
    assert same(weights(no_recorder), weights(resumed))


def test_dropout_of_a_transformer_resumes_too(tmp_path, checkpoint):
    settings = changed(encoder={"checkpoint": checkpoint}, training={"checkpoint_every": 1, "epochs": 2})
    no_recorder = make(settings)
    no_recorder.train()
    Mortal.lives = 2
    with pytest.raises(KilledError):
        make(settings, Mortal, checkpoints=tmp_path / "c").train()
    resumed = make(settings, checkpoints=tmp_path / "c")
    resumed.train()
    assert same(weights(no_recorder), weights(resumed))


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    make(changed(training={"checkpoint_every": 1, "epochs": 1}), checkpoints=tmp_path / "c").train()
    with pytest.raises(ModelError, match="not a checkpoint of these texts, labels and settings"):
        make(changed(loss={"margin_min": 0.2}), checkpoints=tmp_path / "c")


def test_a_checkpoint_of_other_held_out_rows_is_refused(tmp_path):
    """Held-out rows decide which weights are the best."""
    settings = as_settings(changed(training={"checkpoint_every": 1, "epochs": 1}))
    encoder = load_encoder(settings.encoder)
    rows = {seed: pairs_for(encoder, seed=seed) for seed in (1, 2)}
    Trainer(encoder, pairs_for(encoder), settings, held_out=rows[1], checkpoints=tmp_path / "c").train()
    Trainer(encoder, pairs_for(encoder), settings, held_out=rows[1], checkpoints=tmp_path / "c")
    for others in (rows[2], None):
        with pytest.raises(ModelError, match="not a checkpoint of these texts, labels and settings"):
            Trainer(encoder, pairs_for(encoder), settings, held_out=others, checkpoints=tmp_path / "c")


def test_a_damaged_checkpoint_is_refused(tmp_path):
    settings = changed(training={"checkpoint_every": 1, "epochs": 1})
    make(settings, checkpoints=tmp_path / "c").train()
    state = store.read(tmp_path / "c")
    network = state.parts["network"]
    arrays = {**network.arrays, "free.bank": np.zeros((1, 32), np.float32)}
    store.write(tmp_path / "c", replace(state, parts={**state.parts, "network": replace(network, arrays=arrays)}))
    with pytest.raises(ModelError, match=r"free\.bank"):
        make(settings, checkpoints=tmp_path / "c")


def damages(state):
    """Checkpoints with one contradiction each, and a name for it."""
    arrays, facts = state.arrays, state.fitted
    yield "part", replace(state, parts={name: part for name, part in state.parts.items() if name != "network"})
    yield "course", replace(state, fitted={**facts, "course": {"epochs": 1}})
    yield "facts", replace(state, fitted={name: fact for name, fact in facts.items() if name != "history"})
    yield "bank", replace(state, arrays={**arrays, "bank": arrays["bank"][:-1]})
    yield "members", replace(state, arrays={**arrays, "members": arrays["members"] + 1})
    yield "starts", replace(state, arrays={**arrays, "starts": arrays["starts"][:-1]})
    yield "hard", replace(state, arrays={**arrays, "hard": arrays["hard"] + np.int32(10**6)})
    yield "random", replace(state, arrays={**arrays, "random-0": arrays["random-0"][:9]})


def test_a_checkpoint_that_contradicts_itself_is_one_clear_sentence(tmp_path):
    settings = changed(training={"checkpoint_every": 1, "epochs": 1}, batches={"hard_negatives": 1})
    make(settings, checkpoints=tmp_path / "c").train()
    for name, state in damages(store.read(tmp_path / "c")):
        store.write(tmp_path / name, state)
        with pytest.raises(ModelError) as e:
            make(settings, checkpoints=tmp_path / name)
        assert "\n" not in str(e.value), name


def gradients(settings):
    trainer = make(settings)
    batch = trainer.sampler.batch(trainer.order.of_epoch(0)[:32], epoch=0, step=0)
    trainer.network.train()
    parts = trainer._learn(batch)
    found = {name: p.grad for name, p in trainer.network.named_parameters() if p.grad is not None}
    return parts, found


@pytest.mark.parametrize("chunk_size", [1, 7, 64])
@pytest.mark.parametrize("positives", [1, 2])
def test_gradient_caching_gives_the_gradient_of_the_whole_batch(chunk_size, positives):
    plain = gradients(changed(batches={"positives": positives}))
    cached = gradients(changed(batches={"positives": positives}, training={"chunk_size": chunk_size}))
    assert plain[1].keys() == cached[1].keys()
    assert "encoder.words.weight" in plain[1]
    for name, gradient in plain[1].items():
        assert torch.allclose(gradient, cached[1][name], atol=1e-6), name
    for name, part in plain[0].items():
        assert part.item() == pytest.approx(cached[0][name].item(), rel=1e-5)


def test_gradient_caching_repeats_the_dropout_of_a_transformer(checkpoint):
    """The second pass must give the same vectors as the first, because the gradients are for these vectors."""
    trainer = make(changed(encoder={"checkpoint": checkpoint}))
    trainer.network.train()
    which = np.arange(20)
    torch.manual_seed(1)
    chunks = trainer._embed.feeder.by_length(which, 6)
    cached = CachedEmbeddings(lambda places: trainer._embed(which[places]), chunks, "cpu")
    (cached.vectors**2).sum().backward()
    cached.backward()
    found = [p.grad.clone() for p in trainer.network.encoder.parameters() if p.grad is not None]
    trainer.network.zero_grad()
    torch.manual_seed(1)
    sum((trainer._embed(which[chunk]) ** 2).sum() for chunk in chunks).backward()
    expected = [p.grad for p in trainer.network.encoder.parameters() if p.grad is not None]
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, expected, strict=True))


def test_accumulated_batches_make_one_step_with_their_mean_gradient():
    trainer = make(changed(training={"accumulate": 3, "epochs": 1}))
    trainer.train()
    assert trainer.course.step == 1
    assert trainer.n_batches == 3


def test_biases_norms_and_free_vectors_do_not_decay():
    trainer = make()
    decays = {}
    groups = trainer.optimiser._adam.param_groups
    by_id = {id(p): name for name, p in trainer.network.named_parameters()}
    for group in groups:
        decays |= {by_id[id(p)]: group["weight_decay"] for p in group["params"]}
    assert decays.keys() == dict(trainer.network.named_parameters()).keys()
    for name, decay in decays.items():
        plain = name.endswith(("bias", "bank")) or ".norm" in name
        assert decay == (0.0 if plain else 0.01), name
    assert all(group["eps"] == 1e-6 for group in groups)


@pytest.mark.parametrize(
    ("asked", "total_steps", "warm_up"),
    [(None, 4000, 100), (None, 104, 10), (None, 3, 0), (7.0, 104, 7), (0.5, 104, 52), (200.0, 104, 104)],
)
def test_a_short_training_warms_up_for_a_tenth_of_its_steps(asked, total_steps, warm_up):
    optimiser = Optimiser(torch.nn.Linear(2, 1), TrainingSettings(warm_up=asked), total_steps=total_steps)
    rates = [optimiser.rate(step) for step in range(total_steps)]
    assert np.argmax(rates) == max(0, warm_up - 1)
    assert max(rates) == 1.0


def test_held_out_rows_are_evaluated_after_the_last_epoch_too():
    settings = as_settings(changed(training={"epochs": 5, "evaluate_every": 2}))
    encoder = load_encoder(settings.encoder)
    trainer = Trainer(encoder, pairs_for(encoder), settings, held_out=pairs_for(encoder, seed=1))
    trainer.train()
    assert [line["epoch"] for line in trainer.history if "P@1" in line] == [2, 4, 5]


def test_the_progress_note_says_that_the_encoder_is_being_compiled(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda encode, **_: encode)
    trainer = make(changed(training={"compile": True}))
    assert "compiling" in trainer.note
    trainer.train()
    assert "compiling" not in trainer.note
    assert not make().note


def test_the_history_has_every_epoch_with_its_throughput():
    trainer = make()
    trainer.train()
    assert [line["epoch"] for line in trainer.history] == [1, 2, 3, 4]
    assert all(line["queries_per_second"] > 0 for line in trainer.history)
    assert {"query_to_prototype", "query_to_label", "label_to_query", "regulariser"} <= trainer.history[0].keys()
    assert trainer.done == trainer.total == 12


def test_training_ends_when_held_out_precision_no_longer_rises_and_keeps_the_best():
    settings = changed(training={"epochs": 50, "patience": 2, "learning_rate": 0.02})
    torch.manual_seed(0)
    encoder = load_encoder(as_settings(settings).encoder)
    rows = pairs_for(encoder)
    trainer = Trainer(encoder, rows, as_settings(settings), held_out=pairs_for(encoder, seed=1))
    trainer.train()
    measured = [line["P@1"] for line in trainer.history]
    assert len(measured) < 50
    assert max(measured) == measured[-3] == trainer.course.best
    assert trainer.precision_at_1(trainer.held_out) == pytest.approx(max(measured))


MARGINS = {"loss": {"kind": "fixed", "weighting": "masked"}, "objective": {"anchor": 0.0, "regulariser": 0.0}}


@pytest.mark.parametrize("tables", [{}, MARGINS], ids=["anchored", "margins"])
def test_diverging_training_is_one_clear_sentence(tables):
    with pytest.raises(LabelwoodError, match="ran away: give a smaller one"):
        make(changed(training={"learning_rate": 1e38, "epochs": 30, "weight_decay": 1.0}, **tables)).train()


@pytest.mark.parametrize("name", ["dpr", "ance", "ngame", "dexa", "dexml", "prime", "prime_lite"])
def test_every_member_of_the_lineage_trains(name):
    from tests.dual_encoder.test_settings import CONFIGS, load_settings

    small = {
        "encoder": {"checkpoint": "tiny:16"},
        "prototypes": {"free_vectors": 8, "feedforward": 16},
        "batches": {"size": 32, "random_epochs": 1, "refresh_every": 1},
        "training": {"epochs": 8, "learning_rate": 0.02, "warm_up": 1.0},
    }
    trainer = make(load_settings(CONFIGS / f"{name}.toml").with_changes(small))
    trainer.train()
    totals = [sum(v for k, v in line.items() if "_to_" in k) for line in trainer.history]
    assert totals[-1] < 0.7 * totals[0]


def test_a_tiny_encoder_learns_a_thousand_pairs():
    n = 1024
    rng = np.random.default_rng(0)
    texts = [f"query{i} noise{rng.integers(20)}" for i in range(n)]
    label_texts = [f"label{i} hum{rng.integers(20)}" for i in range(n)]
    settings = as_settings(
        {
            "encoder": {"checkpoint": "tiny:64", "max_tokens": 8},
            "prototypes": {"free_vectors": 256, "feedforward": 128},
            "batches": {"size": 256, "random_epochs": 5, "cluster_size": 16, "double_at": [], "positives": 1},
            "training": {"epochs": 30, "learning_rate": 0.02, "warm_up": 10.0},
        }
    )
    torch.manual_seed(0)
    encoder = load_encoder(settings.encoder)
    tokens = [Tokens.of(t, encoder.tokenizer, max_tokens=8) for t in (texts, label_texts)]
    rows = Pairs(*tokens, *[as_labels(np.eye(n), n)] * 2)
    trainer = Trainer(encoder, rows, settings)
    before = trainer.precision_at_1(rows)
    trainer.train()
    assert before < 50, "centroids alone are right for some"
    assert trainer.precision_at_1(rows) > 98


def test_filtered_pairs_do_not_count_for_held_out_precision():
    settings = as_settings(changed(prototypes={"kind": "text"}, objective={"query_to_prototype": 0.0}))
    encoder = load_encoder(settings.encoder)
    tokens = Tokens.of(["red rose", "blue sky"], encoder.tokenizer, max_tokens=8)
    Y, everything = (as_labels(np.array(matrix), 2) for matrix in ([[0, 1], [1, 0]], [[1, 1], [1, 1]]))
    rows = Pairs(tokens, tokens, Y, Y)
    trainer = Trainer(encoder, rows, settings)
    assert trainer.precision_at_1(rows) == 0, "every text is nearest to itself"
    assert trainer.precision_at_1(replace(rows, never_negative=everything)) == 100


def hopeless(anchor):
    """Every query has a random label, so a loss with a margin is smallest if all vectors are equal."""
    settings = as_settings(
        changed(
            objective={"anchor": anchor, "query_to_prototype": 0.0, "regulariser": 0.0},
            prototypes={"kind": "text"},
            batches={"size": 256, "positives": 1, "sampler": "random"},
            training={"epochs": 40, "learning_rate": 0.1},
        )
    )
    torch.manual_seed(0)
    rng, encoder = np.random.default_rng(0), load_encoder(settings.encoder)
    texts = [[f"{kind}{a} both" for a in rng.permutation(256)] for kind in ("a", "b")]
    tokens = [Tokens.of(t, encoder.tokenizer, max_tokens=8) for t in texts]
    Y = as_labels((rng.random((256, 256)) < 0.02) | np.eye(256, dtype=bool), 256)
    return Trainer(encoder, Pairs(*tokens, Y, Y), settings)


def test_an_anchor_keeps_vectors_apart():
    found = []
    for anchor in (0.0, 1.0):
        trainer = hopeless(anchor)
        trainer.train()
        found.append(trainer.history[-1]["mean_cosine"])
    assert found[1] < found[0] - 0.1


def test_collapsed_vectors_give_a_warning():
    trainer = make()
    trainer.bank[:] = trainer.bank[0].clone()
    assert trainer._first_mean_cosine < 0.9
    trainer.settings = trainer.settings.with_changes({"training": {"epochs": 1, "learning_rate": 1e-9}})
    trainer.n_batches = 0
    with pytest.warns(UserWarning, match="nearly the same vector: raise objective.anchor"):
        trainer.train()
