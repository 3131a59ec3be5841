"""Builds the graph of an encoder for ONNX Runtime from its weights, in memory: no graph is ever read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from labelwood.errors import LabelwoodError

_OWN = "com.microsoft"  # the runtime's own operators; one of them replaces several standard operators
_OPSET = 17
_IR_VERSION = 8  # the version of this operator set; a newer one would need a newer runtime
# The largest 8-bit weight. Processors without instructions for dot products add two products in 16 bits. Larger weights
# could overflow there, and the answers would depend on the machine.
_LEVELS = 64
_ACTIVATIONS = {"gelu"}
_POSITIONS = {"absolute"}


@dataclass(frozen=True)
class _Names:
    """The names of weights in a family of encoders."""

    layer: str
    query: str
    key: str
    value: str
    attended: str
    attended_norm: str
    inner: str
    outer: str
    outer_norm: str


_FAMILIES = {
    "bert": _Names(
        layer="encoder.layer",
        query="attention.self.query",
        key="attention.self.key",
        value="attention.self.value",
        attended="attention.output.dense",
        attended_norm="attention.output.LayerNorm",
        inner="intermediate.dense",
        outer="output.dense",
        outer_norm="output.LayerNorm",
    ),
    "distilbert": _Names(
        layer="transformer.layer",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        attended="attention.out_lin",
        attended_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        outer_norm="output_layer_norm",
    ),
}


def encoder_graph(encoder: Any, *, int8: bool = False) -> bytes:
    """A graph that computes the encoder's `u` from `ids` (int64) and `real` (int32), both texts × tokens.

    With `int8`, matrix products use 8-bit numbers, with a scale for each column of weights and one for each text.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encoder_graph(TinyEncoder())
        Traceback (most recent call last):
        ...
        labelwood.errors.LabelwoodError: ONNX Runtime is for encoders of the kinds bert, distilbert: use backend="torch"
    """
    config = getattr(getattr(encoder, "model", None), "config", None)
    if getattr(config, "model_type", None) not in _FAMILIES:
        kinds = ", ".join(_FAMILIES)
        raise LabelwoodError(f'ONNX Runtime is for encoders of the kinds {kinds}: use backend="torch"')
    weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in encoder.model.state_dict().items()}
    return _Graph(config, weights, int8=int8).build(encoder.pooling)


class _Graph:
    """Collects nodes and weights; each method adds nodes and returns the name of the last output."""

    def __init__(self, config: Any, weights: Mapping[str, NDArray[Any]], *, int8: bool) -> None:
        self.names = _FAMILIES[config.model_type]
        is_bert = config.model_type == "bert"
        self.heads = int(config.num_attention_heads if is_bert else config.n_heads)
        self.layers = int(config.num_hidden_layers if is_bert else config.n_layers)
        self.epsilon = float(config.layer_norm_eps) if is_bert else 1e-12
        activation = config.hidden_act if is_bert else config.activation
        positions = getattr(config, "position_embedding_type", "absolute")
        if activation not in _ACTIVATIONS or positions not in _POSITIONS:
            raise LabelwoodError(
                f"this encoder has the activation {activation!r} and {positions} positions, which are not supported "
                'with ONNX Runtime: use backend="torch"'
            )
        self.weights, self.int8 = weights, int8
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []

    def build(self, pooling: str) -> bytes:
        hidden = self.embed()
        for layer in range(self.layers):
            hidden = self.layer(hidden, f"{self.names.layer}.{layer}.")
        self.pool(hidden, pooling)
        shapes = ("texts", "tokens")
        inputs = [
            helper.make_tensor_value_info("ids", TensorProto.INT64, shapes),
            helper.make_tensor_value_info("real", TensorProto.INT32, shapes),
        ]
        outputs = [helper.make_tensor_value_info("u", TensorProto.FLOAT, ("texts", "dim"))]
        graph = helper.make_graph(self.nodes, "encoder", inputs, outputs, self.tensors)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_OWN, 1)]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        found: bytes = model.SerializeToString()
        return found

    def embed(self) -> str:
        """The sum of the embeddings of words, positions and the first type of segment."""
        positions = self.weights["embeddings.position_embeddings.weight"]
        if "embeddings.token_type_embeddings.weight" in self.weights:
            positions = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), "ids")
        shape = self.node("Shape", "ids", start=1, end=2)
        begin, axis = self.constant(np.array([0])), self.constant(np.array([0]))
        places = self.node("Slice", self.constant(positions), begin, shape, axis)
        return self.normalise(self.node("Add", words, places), "embeddings.LayerNorm")

    def layer(self, hidden: str, prefix: str) -> str:
        n = self.names
        three = [prefix + part for part in (n.query, n.key, n.value)]
        weights = np.concatenate([self.weights[f"{part}.weight"] for part in three])
        biases = np.concatenate([self.weights[f"{part}.bias"] for part in three])
        mixed = self.product(hidden, weights, biases)
        query, key, value = self.split(mixed, 3)
        attended = self.node("MultiHeadAttention", query, key, value, "", "real", domain=_OWN, num_heads=self.heads)
        middle = self.residual(attended, hidden, prefix + n.attended, prefix + n.attended_norm)
        inner = self.product(middle, self.weights[f"{prefix + n.inner}.weight"])
        inner = self.node("BiasGelu", inner, self.weight(f"{prefix + n.inner}.bias"), domain=_OWN)
        return self.residual(inner, middle, prefix + n.outer, prefix + n.outer_norm)

    def residual(self, values: str, before: str, linear: str, norm: str) -> str:
        """A linear layer, plus the values before it, with layer normalisation."""
        product = self.product(values, self.weights[f"{linear}.weight"])
        parts = (self.weight(f"{norm}.weight"), self.weight(f"{norm}.bias"), self.weight(f"{linear}.bias"))
        return self.node("SkipLayerNormalization", product, before, *parts, domain=_OWN, epsilon=self.epsilon)

    def normalise(self, values: str, norm: str) -> str:
        parts = (self.weight(f"{norm}.weight"), self.weight(f"{norm}.bias"))
        return self.node("LayerNormalization", values, *parts, axis=-1, epsilon=self.epsilon)

    def product(self, values: str, weights: NDArray[Any], bias: NDArray[Any] | None = None) -> str:
        """Values times weights, which have torch's shape: outputs × inputs."""
        columns = np.ascontiguousarray(weights.T)
        if not self.int8:
            product = self.node("MatMul", values, self.constant(columns))
            return product if bias is None else self.node("Add", product, self.constant(bias))
        codes, scales = _as_int8(columns)
        zeros = self.constant(np.zeros(len(scales), np.int8))
        given = [self.constant(codes), self.constant(scales), zeros]
        if bias is not None:
            given.append(self.constant(bias))
        return self.node("DynamicQuantizeMatMul", values, *given, domain=_OWN)

    def pool(self, hidden: str, pooling: str) -> None:
        if pooling == "cls":
            first = self.constant(np.int64(0))
            self.node("Gather", hidden, first, axis=1, output="u")
            return
        shares = self.node("Cast", "real", to=TensorProto.FLOAT)
        one, tokens, last = (self.constant(np.array([axis])) for axis in (1, 1, 2))
        total = self.node("ReduceSum", shares, tokens, keepdims=1)
        total = self.node("Max", total, self.constant(np.float32(1)))
        weighted = self.node("Mul", hidden, self.node("Unsqueeze", shares, last))
        summed = self.node("ReduceSum", weighted, one, keepdims=0)
        self.node("Div", summed, total, output="u")

    def split(self, values: str, n: int) -> list[str]:
        outputs = [f"{values}-{i}" for i in range(n)]
        self.nodes.append(helper.make_node("Split", [values], outputs, axis=-1))
        return outputs

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name])

    def constant(self, array: NDArray[Any] | np.generic) -> str:
        name = f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name


def _as_int8(columns: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantises a matrix: 8-bit numbers, and a scale for each column."""
    scales = np.maximum(np.abs(columns).max(axis=0), 1e-12).astype(np.float32) / np.float32(_LEVELS)
    return np.rint(columns / scales).astype(np.int8), scales
