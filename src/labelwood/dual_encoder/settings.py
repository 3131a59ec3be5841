"""All that can be set about a dual encoder, in one object that a TOML file fills.

DPR, ANCE, NGAME, DEXA, DEXML, PRIME and its ablations are settings of the same trainer; they lie in
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
_MOST_EXTENSIONS = 8  # files that extend each other; more is a circle


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Pooling = Literal["mean", "cls"]


class EncoderSettings(_Group):
    """What turns a text into a vector.

    Example:
        >>> EncoderSettings(pooling="cls").max_tokens
        32
    """

    checkpoint: str = "sentence-transformers/msmarco-distilbert-base-v4"  # a folder, a hub's name, "tiny" or "tiny:64"
    pooling: Pooling | None = None  # None: as the checkpoint does, or the mean
    max_tokens: Count = 32  # of a query; longer texts are cut
    max_label_tokens: Count | None = None  # of a label's text; None: as many

    @property
    def is_tiny(self) -> bool:
        """Whether it is our own small one, which needs no checkpoint."""
        return self.checkpoint.partition(":")[0] == "tiny"


class PrototypeSettings(_Group):
    """What a label's vector is made of.

    Example:
        >>> PrototypeSettings(kind="sum", centroids=False).free_vectors
        65536
    """

    # "network": text, free vector and centroid through a transformer layer; "sum": text plus free vector; "text"
    kind: Literal["network", "sum", "text"] = "network"
    free_vectors: Annotated[int, Ge(0)] = 65536  # as many as labels, or the next lower power of two
    centroids: bool = True  # whether prototypes know the mean of the texts with the label
    momentum: Annotated[float, Ge(0), Le(1)] = 0.95  # share of a centroid that stays when a text moves it
    heads: Count = 1  # of the transformer layer
    feedforward: Count = 1024  # numbers of its inner layer
    dropout: Share = 0.1  # of the transformer layer


class LossSettings(_Group):
    """How far positives are to lead negatives.

    Example:
        >>> LossSettings(kind="fixed", margin=0.2).negatives
        10
    """

    # "dynamic": a margin from γ_min to γ_max; "fixed": `margin`; "inverted": Equation 3 as printed; others have none
    kind: Literal["dynamic", "fixed", "inverted", "decoupled", "softmax"] = "dynamic"
    margin_min: Amount = 0.1  # γ_min of the dynamic margin
    margin_max: Amount = 0.3  # γ_max of the dynamic margin
    margin: Amount = 0.3  # of "fixed"
    negatives: Count = 10  # the most similar ones of a row
    weighting: Literal["violators", "masked", "mean"] = "violators"  # of negatives; "masked" as NGAME does
    temperature: Positive = 0.1  # of the weights, or of a softmax
    detach_weights: bool = False  # whether these weights have no gradient


class ObjectiveSettings(_Group):
    """How much each relation counts (Equation 5).

    Example:
        >>> ObjectiveSettings().regulariser
        0.1
    """

    query_to_prototype: Amount = 1.0  # how much it counts
    query_to_label: Amount = 1.0  # the same, of labels' texts
    label_to_query: Amount = 1.0  # the same, from labels to queries
    regulariser: Amount = 0.1  # prototypes are to be better than texts
    regulariser_margin: Amount = 0.1  # by how much
    # A decoupled softmax beside the loss of each relation, which drawing all vectors together does not make smaller.
    anchor: Amount = 0.1
    anchor_temperature: Positive = 0.05  # of that softmax


@dataclass(frozen=True)
class ClusterSchedule:
    """Before which epochs, counted from 0, clusters of queries are found, and how large they are.

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
        """Whether clusters are to be found before this epoch."""
        since = epoch - self.random_epochs
        return self.size_at(epoch) > 1 and since >= 0 and since % self.refresh_every == 0

    def size_at(self, epoch: int) -> int:
        """About how many queries a cluster has in this epoch."""
        return int(self.cluster_size * 2 ** sum(epoch >= at for at in self.double_at))


class BatchSettings(_Group):
    """Which queries and labels meet in a step.

    Example:
        >>> BatchSettings().schedule(epochs=60)
        ClusterSchedule(random_epochs=2, refresh_every=1, cluster_size=1, double_at=(2, 4, 5, 10, 15, 20, 25, 30, 40))
    """

    size: Count = 3200  # queries
    positives: Count = 2  # labels a query
    positive_weights: Literal["propensity", "uniform"] = "propensity"  # how labels are drawn for a query
    propensity_family: Literal["default", "wikipedia", "amazon"] = "default"  # whose constants
    columns: Literal["sampled", "distinct", "all"] = "sampled"  # a label sampled twice: two columns or one; all labels
    sampler: Literal["clusters", "random"] = "clusters"  # which queries share a batch
    cluster_size: Count = 1  # queries of a cluster, to begin with
    # None: as in the paper's 300 epochs, in proportion to those there are.
    random_epochs: Annotated[int, Ge(0)] | None = None  # before there are clusters
    refresh_every: Count | None = None  # epochs from one search for clusters to the next
    double_at: Annotated[tuple[int, ...], Strict(False)] | None = None  # epochs at which clusters double
    hard_negatives: Annotated[int, Ge(0)] = 0  # labels a query that the encoder takes for answers, added as columns

    def schedule(self, epochs: int) -> ClusterSchedule:
        """When clusters are found in a training of so many epochs; never, where batches are to be random."""

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
    """How to descend.

    Example:
        >>> TrainingSettings(epochs=5).precision
        'bf16'
    """

    epochs: Count = _EPOCHS
    learning_rate: Positive = 3e-4  # goes with the root of the size of batches
    prototype_learning_rate: Positive | None = None  # of the prototype network and free vectors; None: the same
    weight_decay: Amount = 0.01  # of AdamW
    epsilon: Positive = 1e-6  # of AdamW
    warm_up: Amount | None = None  # steps; below one, a share of all steps; None: a hundred, or a tenth if that is less
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"  # where the device multiplies it; else fp32
    accumulate: Count = 1  # batches a step
    chunk_size: Count | None = None  # texts that are in memory with their graph at a time; None: the whole batch
    compile: bool = False  # the encoder, which takes up to a minute and makes steps faster
    replay: bool = True  # with `compile`: steps are recorded for each size of batches, which keeps memory
    held_out: Share = 0.0  # share of rows to measure P@1 on
    evaluate_every: Count = 1  # epochs
    patience: Count | None = None  # evaluations without a better P@1 before training ends
    checkpoint_every: Count = 1000  # steps
    seed: Annotated[int, Ge(0)] = 0  # same seed, same training


class ClassifierSettings(_Group):
    """Classifiers on top of the encoder, once it has learned; the defaults are NGAME's.

    Example:
        >>> ClassifierSettings(enabled=True).epochs
        100
    """

    enabled: bool = False  # whether `fit` trains them too
    epochs: Count = 100
    learning_rate: Positive = 1e-3  # of SparseAdam
    warm_up: Annotated[int, Ge(0)] = 500  # steps
    size: Count = 2048  # queries of a batch
    cluster_size: Count = 1  # queries that share a batch because they lie near each other; 1: any
    dropout: Share = 0.5  # of the numbers of a query
    margin: Amount = 0.2
    positives: Count = 3  # the least similar ones of a query
    negatives: Count = 5  # the most similar ones
    weighting: Literal["losses", "masked"] = "losses"  # of negatives, see losses/triplets.py
    temperature: Positive = 0.1  # of the weights where they are "masked"


class PrimeSettings(_Group):
    """Everything about a dual encoder; the defaults are PRIME's, with an anchor.

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
    def _fit_together(self) -> Self:
        if not self.objective.query_to_label and not (self.has_prototypes and self.objective.query_to_prototype):
            raise ValueError(
                "nothing ties queries to labels; set objective.query_to_label or query_to_prototype above 0"
            )
        if self.loss.margin_min > self.loss.margin_max:
            raise ValueError("loss.margin_min is above loss.margin_max; exchange them")
        if self.batches.columns == "all" and self.objective.label_to_query:
            raise ValueError(
                'no label of batches.columns "all" is drawn for a query; set objective.label_to_query to 0'
            )
        return self

    def with_changes(self, changes: Mapping[str, Any]) -> PrimeSettings:
        """The same with some values replaced, given as tables of a TOML file would be."""
        return as_settings(_merged(self.model_dump(), changes))

    @property
    def has_prototypes(self) -> bool:
        """Whether a label's vector is more than its text."""
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
        return _checked(settings)
    except ValueError as e:
        raise ParameterError(f"settings: {e}") from None


def without_place(settings: PrimeSettings) -> PrimeSettings:
    """The same, with the mere name of the encoder's folder: where it is on this machine is nobody else's business.

    Example:
        >>> without_place(PrimeSettings(encoder=EncoderSettings(checkpoint="/home/ann/minilm"))).encoder.checkpoint
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

    A line ``extends = "other.toml"`` at the top begins with those of another file beside it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "lite.toml")
        >>> _ = path.write_text("[batches]\\npositives = 1\\nsize = 1600\\n")
        >>> load_settings(path).batches.size
        1600
    """
    tables = _tables(Path(path), _MOST_EXTENSIONS)
    try:
        return _checked(tables)
    except ValueError as e:
        raise InputError(str(e), path) from None


def _tables(path: Path, depth: int) -> dict[str, Any]:
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
        raise InputError("extends must name another file, and not in a circle", path)
    return _merged(_tables(path.parent / base, depth - 1), tables)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        merged[key] = _merged(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return merged


def _checked(tables: Any) -> PrimeSettings:
    """The settings, or a `ValueError` of one sentence about the first that is wrong."""
    try:
        return PrimeSettings.model_validate(tables)
    except ValidationError as e:
        detail = e.errors()[0]
        name = ".".join(map(str, detail["loc"])) or "the whole"
        if detail["type"] == "extra_forbidden":
            raise ValueError(f"{name} is not a setting; remove it or correct its spelling") from None
        if detail["type"] == "value_error":
            raise ValueError(detail["msg"].removeprefix("Value error, ")) from None
        wish = detail["msg"].replace("Input should be", "should be")
        raise ValueError(f"{name} is {detail['input']!r} but {wish}") from None
