"""Texts to vectors, as fast as the device allows: packed where that is possible, padded elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from labelwood.prime.packing import can_pack
from labelwood.prime.tokens import Ids, TokenFeeder, Tokens

_TEXTS_AT_A_TIME = 512
_TOKENS_AT_A_TIME = 1 << 17  # where texts are packed


class Embedder:
    """The encoder with the tokens of all texts it is asked for; those of several tables are numbered through.

    Args:
        encoder: Is on the device.
        tables: The texts.
        device: Where to compute.
        half: The type to compute in, or None for single precision.
        compiled: Whether to compile the encoder for training.
        pack: Whether to pack texts where that is possible.
        replay: Whether to record what a step of training asks of the GPU, once for each size of batches, and replay it
            from then on, where texts are packed and the encoder is compiled: short texts keep a GPU busy for less time
            than it takes to launch all kernels. Vectors and gradients must be used and dropped before the next call.
            Batches of less than half the texts of others are neither compiled nor recorded.

    Example:
        >>> from labelwood.prime.encoder import TinyEncoder
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
        replay: bool = False,
    ) -> None:
        self.encoder = encoder
        self.device = torch.device(device)
        self.half = half
        self.feeder = TokenFeeder(tables, self.device)
        self.packs = pack and can_pack(encoder, self.device, half, longest=self.feeder.longest)
        self._compiles = compiled
        self._replays = replay and compiled and self.packs and self.feeder.longest > 1  # or sizes are not round
        self._most_texts = 0  # of a batch of training so far
        self._asked = self._learning = encoder.packed if self.packs else encoder
        if compiled:
            mode = "reduce-overhead" if self._replays else "default"
            self._learning = torch.compile(self._asked, dynamic=True, mode=mode)
        if self._replays:
            from torch._inductor import config

            if hasattr(config.triton, "cudagraph_dynamic_shape_warn_limit"):
                # It warns of each size beyond the eighth. Large batches have a dozen, small ones dozens.
                config.triton.cudagraph_dynamic_shape_warn_limit = None

    def __call__(self, which: Ids) -> Any:
        """Vectors u of some texts, through which gradients flow."""
        learns = self.encoder.training
        self._most_texts = max(self._most_texts, len(which) if learns else 0)
        # What is left at the end of an epoch takes less time than to record it.
        is_rest = self._replays and 2 * len(which) < self._most_texts
        rounded = learns and self._replays and not is_rest  # each size is recorded: there must be few
        encode = self._learning if learns and not is_rest else self._asked
        with torch.autocast(self.device.type, self.half, enabled=self.half is not None):
            batch = self.feeder.packed(which, rounded=rounded) if self.packs else self.feeder.padded(which)
            if rounded:
                torch.compiler.cudagraph_mark_step_begin()  # what the last call gave is no longer needed
            return encode(*batch)[: len(which)].float()

    def release(self) -> None:
        """Forgets what was compiled and recorded.

        Recordings keep the memory of a whole step from everything else, and after eight encoders torch would no longer
        compile. It knows no way to forget only some.
        """
        if self._compiles:
            torch.compiler.reset()

    def all(self, which: Ids | None = None) -> Any:
        """Vectors u of all texts or many, without a gradient; the encoder's dropout is off meanwhile."""
        which = np.arange(len(self.feeder.lengths)) if which is None else which
        vectors = torch.empty(len(which), self.encoder.dim, device=self.device)
        size = max(1, _TOKENS_AT_A_TIME // self.feeder.longest) if self.packs else _TEXTS_AT_A_TIME
        was_training = self.encoder.training
        self.encoder.eval()
        with torch.inference_mode():
            for chunk in self.feeder.by_length(which, size):
                vectors[torch.from_numpy(chunk).to(self.device, non_blocking=True)] = self(which[chunk])
        self.encoder.train(was_training)
        return vectors


def embedded(encoder: Any, tokens: Tokens, *, device: Any, half: Any = None) -> Any:
    """Vectors u of all texts, on the device.

    Example:
        >>> from labelwood.prime.encoder import TinyEncoder
        >>> encoder = TinyEncoder(dim=4)
        >>> embedded(encoder, Tokens.of(["a dog", "a"], encoder.tokenizer, max_tokens=8), device="cpu").shape
        torch.Size([2, 4])
    """
    return Embedder(encoder, (tokens,), device=device, half=half).all()
