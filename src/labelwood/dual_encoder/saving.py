"""Converts a dual encoder to the state that is saved, and back, with checks that its parts agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.rows import Floats
from labelwood.dual_encoder.settings import PrimeSettings, as_settings, without_folder
from labelwood.errors import LabelwoodError, ModelError

if TYPE_CHECKING:
    from labelwood.dual_encoder.classifier import PrimeClassifier
    from labelwood.dual_encoder.model.network import DualEncoder
    from labelwood.store import State


def state_of(model: PrimeClassifier) -> State:
    """The state of a fitted model, without anything that depends on the machine: same training, same bytes.

    Example:
        >>> from labelwood import PrimeClassifier
        >>> quick = {"encoder": {"checkpoint": "tiny"}, "training": {"epochs": 1}}
        >>> model = PrimeClassifier(settings=quick).fit(["a dog", "a rose"], np.eye(2), ["animals", "plants"])
        >>> "queries_per_second" in model.history_[0], "queries_per_second" in state_of(model).fitted["history"][0]
        (True, False)
    """
    from labelwood.store import State

    parts = {"encoder": model.network_.encoder.state()}
    if model.network_.mixer is not None:
        weights = {n: t.detach().cpu().numpy() for n, t in model.network_.mixer.state_dict().items()}
        parts["mixer"] = State("mixer", {}, {}, arrays=weights)
    arrays = {"prototypes": model.prototypes_, "free_vectors": model.free_vectors_, "centres": model.centres_}
    optional = {"classifiers": model.classifiers_, "clusters": model.clusters_}
    history = [{name: x for name, x in line.items() if name != "queries_per_second"} for line in model.history_]
    return State(
        kind=model.kind,
        params={"settings": model.settings_.model_dump(mode="json")},
        fitted={"n_labels": model.n_labels_, "labels_per_row": model.labels_per_row_, "history": history},
        arrays=arrays | {name: array for name, array in optional.items() if array is not None},
        parts=parts,
    )


def settings_of(state: State) -> PrimeSettings:
    """The settings of the model's training.

    Example:
        >>> from labelwood.store import State
        >>> settings_of(State("prime", {"settings": {"training": {"epochs": 7}}}, {})).training.epochs
        7
    """
    settings = state.params.get("settings", {})
    if not isinstance(settings, dict):  # a text would be read as the path of a file
        raise ModelError("the model's settings are not tables: save it again")
    try:
        return without_folder(as_settings(settings))
    except LabelwoodError as e:
        raise ModelError(f"the model's {e}: save it again") from None


def network_from(state: State, settings: PrimeSettings) -> DualEncoder:
    """The encoder and the prototype network, with their weights.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> from labelwood.store import State
        >>> state = State("prime", {}, {}, parts={"encoder": TinyEncoder(dim=4).state()})
        >>> network_from(state, as_settings({"prototypes": {"kind": "sum"}})).encoder.dim
        4
    """
    from labelwood.dual_encoder.model.encoder import check_tokens, encoder_from_state, load_weights
    from labelwood.dual_encoder.model.network import DualEncoder

    if "encoder" not in state.parts:
        raise ModelError("the model lacks its encoder: save it again")
    encoder = encoder_from_state(state.parts["encoder"])
    try:
        check_tokens(encoder, settings.encoder)
    except LabelwoodError as e:
        raise ModelError(f"the model's {e}") from None
    network: DualEncoder = DualEncoder(encoder, _check_prototypes(settings.prototypes, state, encoder.dim)).eval()
    if network.mixer is not None:
        load_weights(network.mixer, state.parts["mixer"].arrays, verify=state.verify)
    return network


def tables_from(state: State, dim: int) -> dict[str, Floats]:
    """Prototypes, free vectors with their clusters' centres and, if there are any, classifiers.

    Example:
        >>> from labelwood.store import State
        >>> none = np.empty((0, 2), np.float32)
        >>> arrays = {"prototypes": np.eye(2, dtype=np.float32), "free_vectors": none, "centres": none}
        >>> sorted(tables_from(State("prime", {}, {"n_labels": 2, "labels_per_row": 1}, arrays=arrays), dim=2))
        ['centres', 'free_vectors', 'prototypes']
    """
    found: dict[str, Floats] = {}
    for name in ("prototypes", "free_vectors", "centres", *({"classifiers"} & state.arrays.keys())):
        found[name] = state.array(name, np.float32, 2)
        if dim < 1 or found[name].shape[1] != dim or (state.verify and not np.isfinite(found[name]).all()):
            raise ModelError(f"the model's {name} are not vectors of {dim} finite numbers: save the model again")
    if state.count("labels_per_row") > state.count("n_labels"):
        raise ModelError("the model has more labels per row than labels: save it again")
    of_labels = {len(found[name]) for name in ("prototypes", "classifiers") if name in found}
    if of_labels != {state.count("n_labels")} or len(found["free_vectors"]) != len(found["centres"]):
        raise ModelError(
            "the model's prototypes, classifiers or free vectors differ in number from its labels: save it again"
        )
    return found


def clusters_from(state: State) -> NDArray[np.int32] | None:
    """The two clusters of each label, if they were found.

    Example:
        >>> from labelwood.store import State
        >>> clusters_from(State("prime", {}, {"n_labels": 2}, arrays={"clusters": np.int32([[1, 0], [0, 1]])}))
        array([[1, 0],
               [0, 1]], dtype=int32)
    """
    if "clusters" not in state.arrays:
        return None
    clusters, n_labels = state.array("clusters", np.int32, 2), state.count("n_labels")
    in_range = not state.verify or bool(((clusters >= 0) & (clusters < n_labels)).all())
    if clusters.shape != (n_labels, 2) or not in_range:
        raise ModelError("the model's clusters are not two for each label: save it again")
    return clusters


def _check_prototypes(settings: Any, state: State, dim: int) -> Any:
    """Checks that the settings of prototypes match the saved weights, before memory is allocated for them."""
    if settings.kind != "network":
        return settings
    mixer = state.parts.get("mixer")
    inner = None if mixer is None else mixer.arrays.get("layer.linear1.weight")
    if inner is None or inner.shape != (settings.feedforward, dim) or dim % settings.heads:
        raise ModelError("the model's prototype network is missing or contradicts its settings: save the model again")
    return settings
