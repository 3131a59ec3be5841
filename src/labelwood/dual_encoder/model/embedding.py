"""Texts to vectors, as fast as the device allows: packed where that is possible, else padded beside texts as long."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from labelwood.dual_encoder.data.tokens import Ids, Packed, TokenFeeder, Tokens, on_device
from labelwood.dual_encoder.gpu.packing import can_pack

# Tokens that pass the encoder together, if every text is as long as the longest: packed on a GPU, padded on a GPU, and
# on a CPU, where they are to fit into its caches.
_PACKED, _PADDED, _ON_A_CPU = 1 << 17, 1 << 15, 1 << 11


class Embedder:
    """The encoder with the tokens of all texts it is asked for; those of several tables are numbered through.

    Args:
        encoder: Is on the device.
        tables: The texts.
        device: Where to compute.
        half: The type to compute in, or None for single precision.
        compiled: Whether to compile the encoder for training.
        pack: Whether to pack texts where that is possible.

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
        self._asked = self._learning = encoder.packed if self.packs else encoder
        if compiled:
            self._learning = torch.compile(self._asked, dynamic=True)

    def __call__(self, which: Ids) -> Any:
        """Vectors u of some texts, through which gradients flow; by compiled code only in training."""
        encode = self._learning if self.encoder.training else self._asked
        with torch.autocast(self.device.type, self.half, enabled=self.half is not None):
            if self.packs:
                return encode(*self.feeder.packed(which)).float()
            chunks = self.feeder.by_length(which, self._at_a_time())
            vectors = [encode(*self.feeder.padded(which[chunk])).float() for chunk in chunks]
        (places,) = on_device((np.argsort(np.concatenate(chunks)),), self.device)
        return torch.cat(vectors).index_select(0, places)

    def _at_a_time(self) -> int:
        """How many texts pass the encoder together, at most."""
        n_tokens = _PACKED if self.packs else _ON_A_CPU if self.device.type == "cpu" else _PADDED
        return max(1, n_tokens // self.feeder.longest)

    def of_packed(self, texts: Packed, *, compiled: bool = True) -> Any:
        """The same in training, of texts that are on the device already."""
        encode = self._learning if compiled else self._asked
        with torch.autocast(self.device.type, self.half, enabled=self.half is not None):
            return encode(*texts).float()

    def release(self) -> None:
        """Forgets what was compiled: after eight encoders torch would compile no more. It cannot forget only some."""
        if self._compiles:
            torch.compiler.reset()

    def all(self, which: Ids | None = None) -> Any:
        """Vectors u of all texts or many, without a gradient; the encoder's dropout is off meanwhile."""
        which = np.arange(len(self.feeder.lengths)) if which is None else which
        vectors = torch.empty(len(which), self.encoder.dim, device=self.device)
        was_training = self.encoder.training
        self.encoder.eval()
        with torch.inference_mode():
            for chunk in self.feeder.by_length(which, self._at_a_time()):
                vectors[torch.from_numpy(chunk).to(self.device, non_blocking=True)] = self(which[chunk])
        self.encoder.train(was_training)
        return vectors


def embedded(encoder: Any, tokens: Tokens, *, device: Any, half: Any = None) -> Any:
    """Vectors u of all texts, on the device.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> encoder = TinyEncoder(dim=4)
        >>> embedded(encoder, Tokens.of(["a dog", "a"], encoder.tokenizer, max_tokens=8), device="cpu").shape
        torch.Size([2, 4])
    """
    return Embedder(encoder, (tokens,), device=device, half=half).all()
