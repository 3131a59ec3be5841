"""Encodes queries as unit vectors, with torch or ONNX Runtime, without the parts that only training needs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from labelwood.arrays.rows import Floats
from labelwood.arrays.threads import thread_count
from labelwood.errors import LabelwoodError, ParameterError

Backend: TypeAlias = Literal["torch", "onnx", "onnx-int8"]
_FEW = 8  # so few texts are encoded directly, without a table of tokens on the device
_MIN_COSINES = {"onnx": 0.9999, "onnx-int8": 0.95}
_SAMPLES = ("", "a first text", "and a second one, which is longer: what comes of both must be the same as before")


class QueryEncoder:
    """Encodes texts as unit vectors with a trained encoder.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encode = QueryEncoder(TinyEncoder(dim=4), max_tokens=8)
        >>> np.linalg.norm(encode(["a dog", "two dogs"]), axis=1).round(3).tolist()
        [1.0, 1.0]
    """

    def __init__(
        self,
        encoder: Any,
        *,
        max_tokens: int,
        backend: Backend = "torch",
        device: str | None = None,
        n_threads: int | None = None,
    ) -> None:
        if backend not in get_args(Backend):
            raise ParameterError(f"backend is {backend!r}: give one of {', '.join(get_args(Backend))}")
        if backend != "torch" and device not in (None, "cpu"):
            raise ParameterError(f'backend is {backend!r}, which computes on a CPU: leave device out or give "cpu"')
        self.max_tokens = max_tokens
        self._tokenizer = encoder.tokenizer
        if backend == "torch":
            self._vectors: Any = _TorchEncoder(encoder, device, n_threads)
        else:
            self._vectors = _OnnxEncoder(encoder, backend, n_threads)

    @property
    def device(self) -> Any:
        """The torch device to search prototypes on; None for the CPU."""
        device = getattr(self._vectors, "device", None)
        return device if device is not None and device.type == "cuda" else None

    def __call__(self, texts: Any) -> Floats:
        """Unit vectors, texts × dim, of a list or an Arrow array of strings."""
        vectors: Floats = self._vectors(texts, self._tokenizer, self.max_tokens)
        lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, np.maximum(lengths, np.float32(1e-12)), dtype=np.float32)


class _TorchEncoder:
    """Encodes with the encoder itself, in torch."""

    def __init__(self, encoder: Any, device: str | None, n_threads: int | None) -> None:
        from labelwood.devices import find_device

        self.device = find_device(device)
        self.n_threads = thread_count(n_threads)
        self.encoder = encoder.to(self.device).eval()

    def __call__(self, texts: Any, tokenizer: Any, max_tokens: int) -> Floats:
        import torch

        from labelwood.devices import threads
        from labelwood.dual_encoder.data.tokens import Tokens
        from labelwood.dual_encoder.model.embedding import embed_texts

        with threads(self.n_threads), torch.inference_mode():
            if 0 < len(texts) <= _FEW:
                vectors = self._encode_few(tokenizer.encode(_strings(texts), max_tokens), tokenizer.pad_id)
            else:
                tokens = Tokens.of(texts, tokenizer, max_tokens=max_tokens)
                vectors = embed_texts(self.encoder, tokens, device=self.device)
            found: Floats = vectors.cpu().numpy()
        return found

    def _encode_few(self, tokens: Sequence[Sequence[int]], pad_id: int) -> Any:
        import torch

        width = max(1, *map(len, tokens))
        padded = torch.tensor([[*ids, *[pad_id] * (width - len(ids))] for ids in tokens])
        lengths = torch.tensor([[len(ids)] for ids in tokens])
        real = torch.arange(width) < lengths
        return self.encoder(padded.to(self.device), real.to(self.device)).float()


class _OnnxEncoder:
    """Encodes with ONNX Runtime, one text at a time, so that a text's vector does not depend on the other texts."""

    def __init__(self, encoder: Any, backend: str, n_threads: int | None) -> None:
        for package in ("onnx", "onnxruntime"):
            if find_spec(package) is None:
                raise LabelwoodError(
                    f"backend={backend!r} needs {package}, which is not installed: pip install 'labelwood[onnx]'"
                )
        import onnxruntime

        from labelwood.dual_encoder.answering.onnx_graph import encoder_graph

        self.n_threads = thread_count(n_threads)
        self.dim = int(encoder.dim)
        options = onnxruntime.SessionOptions()
        # Each text is encoded by one thread, so answers are the same for any number of threads.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = encoder_graph(encoder, int8=backend == "onnx-int8")
        self.session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._check(encoder, backend)

    def __call__(self, texts: Any, tokenizer: Any, max_tokens: int) -> Floats:
        vectors = np.empty((len(texts), self.dim), np.float32)

        def fill(which: range) -> None:
            for i, ids in zip(
                which, tokenizer.encode(_strings(texts[which.start : which.stop]), max_tokens), strict=True
            ):
                vectors[i] = self._encode_one(ids)

        if len(texts) == 1 or self.n_threads == 1:
            fill(range(len(texts)))
            return vectors
        with ThreadPoolExecutor(self.n_threads) as pool:
            parts = (range(at, min(at + _FEW, len(texts))) for at in range(0, len(texts), _FEW))
            list(pool.map(fill, parts))
        return vectors

    def _encode_one(self, ids: Sequence[int]) -> Any:
        tokens = np.array([ids], np.int64)
        return self.session.run(["u"], {"ids": tokens, "real": np.ones(tokens.shape, np.int32)})[0][0]

    def _check(self, encoder: Any, backend: str) -> None:
        """Raises an error if the graph gives other vectors than the encoder."""
        expected, max_tokens = _TorchEncoder(encoder, "cpu", 1), min(32, encoder.most_tokens or 32)
        for text in _SAMPLES:
            a, b = (of([text], encoder.tokenizer, max_tokens)[0] for of in (expected, self))
            cosine = float(a @ b / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))
            if not (cosine >= _MIN_COSINES[backend] or np.array_equal(a, b)):  # both are zeros if a text has no tokens
                raise LabelwoodError(
                    f"ONNX Runtime gives other vectors than this encoder (their cosine is {cosine:.4f}): "
                    'use backend="torch"'
                )


def _strings(texts: Any) -> list[str]:
    found: list[str] = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    return found
