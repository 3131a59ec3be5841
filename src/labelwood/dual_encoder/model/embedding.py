"""Encodes texts as vectors fast: packed if possible, otherwise padded together with texts of similar length."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from labelwood.dual_encoder.data.tokens import Ids, Packed, TokenFeeder, Tokens, on_device
from labelwood.dual_encoder.gpu.packing import can_pack

# The most tokens that are encoded together, if every text has the longest length: packed on a GPU, padded on a GPU, and
# on a CPU, where they should fit into its caches.
_PACKED, _PADDED, _ON_A_CPU = 1 << 17, 1 << 15, 1 << 11


class Embedder:
    """An encoder together with the tokens of texts; the texts of several tables are numbered consecutively.

    Args:
        encoder: The encoder, on the device.
        tables: The texts.
        device: Where to compute.
        half: The type to compute in, or None for single precision.
        compiled: Whether to compile the encoder for training.
        pack: Whether to pack texts if possible.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encoder = TinyEncoder(dim=4)
        >>> embed = Embedder(encoder, (Tokens.of(["a dog", "a"], encoder.tokenizer, max_tokens=8),), device="cpu")
        >>> bool(torch.equal(embed(np.array([1]))[0], embed.all()[1]))
        True
    """

    def __init__(
        self,
        encoder: Any,
        tables: tuple[Tokens, ...],
        *,
        device: Any,
        half: Any = None,
        compiled: bool = False,
        pack: bool = True,
    ) -> None:
        self.encoder = encoder
        self.device = torch.device(device)
        self.half = half
        self.feeder = TokenFeeder(tables, self.device)
        self.packs = pack and can_pack(encoder, self.device, half, longest=self.feeder.longest)
        self._compiles = compiled
        self._encode = self._encode_compiled = encoder.packed if self.packs else encoder
        if compiled:
            self._encode_compiled = torch.compile(self._encode, dynamic=True)

    def __call__(self, which: Ids) -> Any:
        """Vectors u of some texts, with gradients; compiled code is used only in training."""
        encode = self._encode_compiled if self.encoder.training else self._encode
        with torch.autocast(self.device.type, self.half, enabled=self.half is not None):
            if self.packs:
                return encode(*self.feeder.packed(which)).float()
            chunks = self.feeder.by_length(which, self._texts_at_once())
            vectors = [encode(*self.feeder.padded(which[chunk])).float() for chunk in chunks]
        (places,) = on_device((np.argsort(np.concatenate(chunks)),), self.device)
        return torch.cat(vectors).index_select(0, places)

    def _texts_at_once(self) -> int:
        """The most texts that are encoded together."""
        n_tokens = _PACKED if self.packs else _ON_A_CPU if self.device.type == "cpu" else _PADDED
        return max(1, n_tokens // self.feeder.longest)

    def embed_packed(self, texts: Packed, *, compiled: bool = True) -> Any:
        """Vectors u in training, of packed texts that are already on the device."""
        encode = self._encode_compiled if compiled else self._encode
        with torch.autocast(self.device.type, self.half, enabled=self.half is not None):
            return encode(*texts).float()

    def release(self) -> None:
        """Drops all compiled code: after eight encoders torch compiles no more, and it cannot drop only some."""
        if self._compiles:
            torch.compiler.reset()

    def all(self, which: Ids | None = None) -> Any:
        """Vectors u of all or many texts, without gradients and without dropout."""
        which = np.arange(len(self.feeder.lengths)) if which is None else which
        vectors = torch.empty(len(which), self.encoder.dim, device=self.device)
        was_training = self.encoder.training
        self.encoder.eval()
        with torch.inference_mode():
            for chunk in self.feeder.by_length(which, self._texts_at_once()):
                vectors[torch.from_numpy(chunk).to(self.device, non_blocking=True)] = self(which[chunk])
        self.encoder.train(was_training)
        return vectors


def embed_texts(encoder: Any, tokens: Tokens, *, device: Any, half: Any = None) -> Any:
    """Vectors u of all texts, on the device.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encoder = TinyEncoder(dim=4)
        >>> embed_texts(encoder, Tokens.of(["a dog", "a"], encoder.tokenizer, max_tokens=8), device="cpu").shape
        torch.Size([2, 4])
    """
    return Embedder(encoder, (tokens,), device=device, half=half).all()
