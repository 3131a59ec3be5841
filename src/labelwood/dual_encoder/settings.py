"""All settings of a dual encoder, in one object that can be read from a TOML file.

DPR, ANCE, NGAME, DEXA, DEXML, PRIME and its ablations are settings of the same trainer; their files are in
`lab/experiments/prime/configs`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Strict, ValidationError, model_validator

from labelwood.errors import InputError, LabelwoodError, ParameterError

Count: TypeAlias = Annotated[int, Ge(1)]
Amount: TypeAlias = Annotated[float, Ge(0)]
Positive: TypeAlias = Annotated[float, Gt(0)]
Share: TypeAlias = Annotated[float, Ge(0), Lt(1)]
# The schedule of NGAME and PRIME.
_EPOCHS, _RANDOM_EPOCHS, _REFRESH_EVERY = 300, 10, 5
_DOUBLE_AT = (10, 20, 25, 50, 75, 100, 125, 150, 200)
NO_PLACE = "…/"  # before the name of an encoder's folder, in a saved model
_MAX_EXTENSIONS = 8  # files that extend each other; more must be a cycle


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Pooling = Literal["mean", "cls"]


class EncoderSettings(_Group):
    """The encoder, which turns a text into a vector.

    Example:
        >>> EncoderSettings(pooling="cls").max_tokens
        32
    """

    checkpoint: str = "sentence-transformers/msmarco-distilbert-base-v4"  # a folder, a hub's name, "tiny" or "tiny:64"
    pooling: Pooling | None = None  # None: that of the checkpoint, or the mean
    max_tokens: Count = 32  # tokens of a query; longer texts are truncated
    max_label_tokens: Count | None = None  # tokens of a label's text; None: the same

    @property
    def is_tiny(self) -> bool:
        """Whether it is our own small encoder, which needs no checkpoint."""
        return self.checkpoint.partition(":")[0] == "tiny"


class PrototypeSettings(_Group):
    """Prototypes: how a label's vector is made.

    Example:
        >>> PrototypeSettings(kind="sum", centroids=False).free_vectors
        65536
    """

    # "network": text, free vector and centroid through a transformer layer; "sum": text plus free vector; "text"
    kind: Literal["network", "sum", "text"] = "network"
    free_vectors: Annotated[int, Ge(0)] = 65536  # one per label, or at most the next lower power of two
    centroids: bool = True  # whether prototypes use the mean of the texts with the label
    momentum: Annotated[float, Ge(0), Le(1)] = 0.95  # share of a centroid that stays when a text updates it
    heads: Count = 1  # attention heads of the transformer layer
    feedforward: Count = 1024  # width of its inner layer
    dropout: Share = 0.1  # dropout of the transformer layer


class LossSettings(_Group):
    """The loss: by how much positives should lead negatives.

    Example:
        >>> LossSettings(kind="fixed", margin=0.2).negatives
        10
    """

    # "dynamic": a margin from γ_min to γ_max; "fixed": `margin`; "inverted": Equation 3 as printed; others: no margin
    kind: Literal["dynamic", "fixed", "inverted", "decoupled", "softmax"] = "dynamic"
    margin_min: Amount = 0.1  # γ_min of the dynamic margin
    margin_max: Amount = 0.3  # γ_max of the dynamic margin
    margin: Amount = 0.3  # the margin of "fixed"
    negatives: Count = 10  # negatives of a row: the most similar ones
    weighting: Literal["violators", "masked", "mean"] = "violators"  # weights of negatives; NGAME uses "masked"
    temperature: Positive = 0.1  # temperature of the weights, or of a softmax
    detach_weights: bool = False  # whether these weights have no gradient


class ObjectiveSettings(_Group):
    """The weight of each relation in the objective (Equation 5).

    Example:
        >>> ObjectiveSettings().regulariser
        0.1
    """

    query_to_prototype: Amount = 1.0  # weight of queries against prototypes
    query_to_label: Amount = 1.0  # weight of queries against label texts
    label_to_query: Amount = 1.0  # weight of label texts against queries
    regulariser: Amount = 0.1  # weight of the regulariser: prototypes should be better than texts
    regulariser_margin: Amount = 0.1  # by how much they should be better
    # Weight of a decoupled softmax in each relation; unlike a margin, it does not get smaller if all vectors collapse.
    anchor: Amount = 0.1
    anchor_temperature: Positive = 0.05  # temperature of this softmax


@dataclass(frozen=True)
class ClusterSchedule:
    """The epochs, counted from 0, before which clusters of queries are found, and their sizes.

    Example:
        >>> schedule = ClusterSchedule(random_epochs=10, refresh_every=5, cluster_size=4, double_at=(10, 20))
        >>> schedule.is_due(15), schedule.size_at(15)
        (True, 8)
    """

    random_epochs: int = 0
    refresh_every: int = 1
    cluster_size: int = 1
    double_at: tuple[int, ...] = ()

    def is_due(self, epoch: int) -> bool:
        """Whether clusters must be found before this epoch."""
        since = epoch - self.random_epochs
        return self.size_at(epoch) > 1 and since >= 0 and since % self.refresh_every == 0

    def size_at(self, epoch: int) -> int:
        """The approximate number of queries in a cluster in this epoch."""
        return int(self.cluster_size * 2 ** sum(epoch >= at for at in self.double_at))


class BatchSettings(_Group):
    """Batches: the queries and labels of a step.

    Example:
        >>> BatchSettings().schedule(epochs=60)
        ClusterSchedule(random_epochs=2, refresh_every=1, cluster_size=1, double_at=(2, 4, 5, 10, 15, 20, 25, 30, 40))
    """

    size: Count = 3200  # queries per batch
    positives: Count = 2  # labels drawn per query
    positive_weights: Literal["propensity", "uniform"] = "propensity"  # how labels are drawn for a query
    propensity_family: Literal["default", "wikipedia", "amazon"] = "default"  # constants of the propensity model
    columns: Literal["sampled", "distinct", "all"] = "sampled"  # a label drawn twice: two columns or one; or all labels
    sampler: Literal["clusters", "random"] = "clusters"  # which queries share a batch
    cluster_size: Count = 1  # queries per cluster at the start
    # None: as in the paper's 300 epochs, scaled to the number of epochs.
    random_epochs: Annotated[int, Ge(0)] | None = None  # epochs before there are clusters
    refresh_every: Count | None = None  # epochs between two searches for clusters
    double_at: Annotated[tuple[int, ...], Strict(False)] | None = None  # epochs at which the size of clusters doubles
    hard_negatives: Annotated[int, Ge(0)] = 0  # wrong labels nearest to each query, added as columns

    def schedule(self, epochs: int) -> ClusterSchedule:
        """When clusters are found in a training of `epochs` epochs; never if batches are random."""

        def scaled(papers: int) -> int:
            return max(1, round(papers * epochs / _EPOCHS))

        refresh_every = scaled(_REFRESH_EVERY) if self.refresh_every is None else self.refresh_every
        if self.sampler == "random":
            return ClusterSchedule(refresh_every=refresh_every)
        return ClusterSchedule(
            random_epochs=scaled(_RANDOM_EPOCHS) if self.random_epochs is None else self.random_epochs,
            refresh_every=refresh_every,
            cluster_size=self.cluster_size,
            double_at=tuple(map(scaled, _DOUBLE_AT)) if self.double_at is None else self.double_at,
        )


class TrainingSettings(_Group):
    """Training: epochs, optimiser, precision and evaluation.

    Example:
        >>> TrainingSettings(epochs=5).precision
        'bf16'
    """

    epochs: Count = _EPOCHS
    learning_rate: Positive = 3e-4  # should grow with the root of the batch size
    prototype_learning_rate: Positive | None = None  # for the prototype network and free vectors; None: the same
    weight_decay: Amount = 0.01  # of AdamW
    epsilon: Positive = 1e-6  # of AdamW
    warm_up: Amount | None = None  # steps, or if below 1 a share of all steps; None: 100, or a tenth if that is less
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"  # fp32 if the device has no fast products for it
    accumulate: Count = 1  # batches per step
    chunk_size: Count | None = None  # texts with gradients in memory at a time; None: the whole batch
    compile: bool = False  # compiles the encoder: takes up to a minute, and makes steps faster
    replay: bool = True  # with `compile`: records steps for each batch size and replays them, which needs memory
    held_out: Share = 0.0  # share of rows to measure P@1 on
    evaluate_every: Count = 1  # epochs between evaluations
    patience: Count | None = None  # evaluations without a better P@1 before training ends
    checkpoint_every: Count = 1000  # steps between checkpoints
    seed: Annotated[int, Ge(0)] = 0  # same seed, same training


class ClassifierSettings(_Group):
    """Classifiers on top of the trained encoder; the defaults are NGAME's.

    Example:
        >>> ClassifierSettings(enabled=True).epochs
        100
    """

    enabled: bool = False  # whether `fit` trains them too
    epochs: Count = 100
    learning_rate: Positive = 1e-3  # of SparseAdam
    warm_up: Annotated[int, Ge(0)] = 500  # steps
    size: Count = 2048  # queries per batch
    cluster_size: Count = 1  # similar queries that share a batch; 1: batches are random
    dropout: Share = 0.5  # of the numbers of a query
    margin: Amount = 0.2
    positives: Count = 3  # the least similar ones of a query
    negatives: Count = 5  # the most similar ones
    weighting: Literal["losses", "masked"] = "losses"  # weights of negatives, see losses/triplets.py
    temperature: Positive = 0.1  # temperature of the weights if they are "masked"


class PrimeSettings(_Group):
    """All settings of a dual encoder; the defaults are PRIME's, with an anchor.

    Example:
        >>> settings = PrimeSettings(loss=LossSettings(kind="fixed"))
        >>> settings.with_changes({"loss": {"margin": 0.2}, "batches": {"size": 64}}).loss
        LossSettings(kind='fixed', margin_min=0.1, margin_max=0.3, margin=0.2, negatives=10, weighting='violators', \
temperature=0.1, detach_weights=False)
    """

    encoder: EncoderSettings = EncoderSettings()
    prototypes: PrototypeSettings = PrototypeSettings()
    loss: LossSettings = LossSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    batches: BatchSettings = BatchSettings()
    training: TrainingSettings = TrainingSettings()
    classifiers: ClassifierSettings = ClassifierSettings()

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if not self.objective.query_to_label and not (self.has_prototypes and self.objective.query_to_prototype):
            raise ValueError(
                "no loss compares queries with labels; set objective.query_to_label or query_to_prototype above 0"
            )
        if self.loss.margin_min > self.loss.margin_max:
            raise ValueError("loss.margin_min is above loss.margin_max; swap them")
        if self.batches.columns == "all" and self.objective.label_to_query:
            raise ValueError(
                'with batches.columns "all" no labels are drawn for queries; set objective.label_to_query to 0'
            )
        return self

    def with_changes(self, changes: Mapping[str, Any]) -> PrimeSettings:
        """The same settings with some values replaced; `changes` has tables, like a TOML file."""
        return as_settings(_merge(self.model_dump(), changes))

    @property
    def has_prototypes(self) -> bool:
        """Whether a label's vector is made of more than its text."""
        return self.prototypes.kind != "text"


def as_settings(settings: Any) -> PrimeSettings:
    """Settings from an object, a mapping or the path of a TOML file; None means the defaults.

    Example:
        >>> as_settings({"loss": {"margn": 0.2}})
        Traceback (most recent call last):
        ...
        labelwood.errors.ParameterError: settings: loss.margn is not a setting; remove it or correct its spelling
    """
    if settings is None:
        return PrimeSettings()
    if isinstance(settings, PrimeSettings):
        return settings
    if isinstance(settings, str | PathLike):
        return load_settings(settings)
    try:
        return _validate(settings)
    except ValueError as e:
        raise ParameterError(f"settings: {e}") from None


def without_folder(settings: PrimeSettings) -> PrimeSettings:
    """The settings with only the name of the encoder's folder: its path on this machine is private.

    Example:
        >>> without_folder(PrimeSettings(encoder=EncoderSettings(checkpoint="/home/ann/minilm"))).encoder.checkpoint
        '…/minilm'
    """
    place = Path(settings.encoder.checkpoint)
    if settings.encoder.is_tiny or not (place.is_absolute() or place.is_dir()):
        return settings
    return settings.with_changes({"encoder": {"checkpoint": f"{NO_PLACE}{place.name or place.resolve().name}"}})


def check_deep(settings: PrimeSettings) -> None:
    """Raises `LabelwoodError` if a package that the encoder needs is not installed.

    Example:
        >>> check_deep(PrimeSettings())
    """
    for package in ("torch",) if settings.encoder.is_tiny else ("torch", "transformers"):
        if find_spec(package) is None:
            raise LabelwoodError(f"encoders need {package}, which is not installed: pip install 'labelwood[deep]'")


def load_settings(path: str | PathLike[str]) -> PrimeSettings:
    """Settings from a TOML file with the tables of `PrimeSettings`.

    A line ``extends = "other.toml"`` at the top starts from the settings of another file in the same folder.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "lite.toml")
        >>> _ = path.write_text("[batches]\\npositives = 1\\nsize = 1600\\n")
        >>> load_settings(path).batches.size
        1600
    """
    tables = _read_tables(Path(path), _MAX_EXTENSIONS)
    try:
        return _validate(tables)
    except ValueError as e:
        raise InputError(str(e), path) from None


def _read_tables(path: Path, depth: int) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"the settings cannot be read ({getattr(e, 'strerror', None) or e})", path) from None
    except tomllib.TOMLDecodeError as e:
        raise InputError(f"this is not TOML ({e})", path) from None
    base = tables.pop("extends", None)
    if base is None:
        return tables
    if not isinstance(base, str) or depth == 0:
        raise InputError("extends must name another file, without cycles", path)
    return _merge(_read_tables(path.parent / base, depth - 1), tables)


def _merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = _merge(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged


def _validate(tables: Any) -> PrimeSettings:
    """The settings, or a `ValueError` with one sentence about the first error."""
    try:
        return PrimeSettings.model_validate(tables)
    except ValidationError as e:
        detail = e.errors()[0]
        name = ".".join(map(str, detail["loc"])) or "the whole"
        if detail["type"] == "extra_forbidden":
            raise ValueError(f"{name} is not a setting; remove it or correct its spelling") from None
        if detail["type"] == "value_error":
            raise ValueError(detail["msg"].removeprefix("Value error, ")) from None
        expected = detail["msg"].replace("Input should be", "should be")
        raise ValueError(f"{name} is {detail['input']!r} but {expected}") from None
