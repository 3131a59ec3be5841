"""All trained parts: the encoder, and the network that turns a label's text into its prototype."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from labelwood.arrays.rows import Sparse
from labelwood.dual_encoder.model.encoder import Encoder, unit
from labelwood.dual_encoder.model.prototypes import (
    CentroidMemory,
    FreeVectors,
    LabelPrototypeNetwork,
    initial_centroids,
    label_clusters,
)
from labelwood.dual_encoder.settings import PrimeSettings, PrototypeSettings
from labelwood.errors import ParameterError


class DualEncoder(nn.Module):  # type: ignore[misc]  # torch is not typed here
    """An encoder for queries and labels, and the parts for prototypes; missing parts are None.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> settings = PrototypeSettings(kind="sum", free_vectors=2)
        >>> owners = torch.tensor([0, 1]).numpy()
        >>> dual = DualEncoder(TinyEncoder(dim=4), settings, free=FreeVectors(owners, dim=4))
        >>> dual.prototypes(torch.ones(2, 4), torch.tensor([0, 1])).shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        encoder: Encoder,
        settings: PrototypeSettings,
        *,
        free: FreeVectors | None = None,
        centroids: CentroidMemory | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.kind = settings.kind
        self.free = free
        self.centroids = centroids
        self.mixer = None
        if settings.kind == "network":
            if encoder.dim % settings.heads:
                raise ParameterError(f"prototypes.heads is {settings.heads} but should divide {encoder.dim}")
            self.mixer = LabelPrototypeNetwork(
                encoder.dim, heads=settings.heads, feedforward=settings.feedforward, dropout=settings.dropout
            )

    @classmethod
    def start(
        cls,
        encoder: Encoder,
        settings: PrimeSettings,
        *,
        queries: Any,
        texts: Any,
        Y: Sparse,
    ) -> DualEncoder:
        """The network before training, from the encoder's unit vectors of queries and label texts."""
        s, free, memory = settings.prototypes, None, None
        if s.free_vectors and settings.has_prototypes:
            owners = label_clusters(texts, s.free_vectors, seed=settings.training.seed)
            free = FreeVectors(owners, encoder.dim)
        if s.centroids and s.kind == "network":
            first = initial_centroids(queries.cpu().numpy(), Y, texts.cpu().numpy())
            memory = CentroidMemory(torch.from_numpy(first), momentum=s.momentum)
        return cls(encoder, s, free=free, centroids=memory)

    def prototypes(self, texts: Any, labels: Any) -> Any:
        """z of some labels from their texts' vectors u; None if labels are represented by their texts."""
        if self.kind == "text":
            return None
        free = None if self.free is None else self.free(labels)
        return self.mix(texts, free, None if self.centroids is None else self.centroids(labels))

    def mix(self, texts: Any, free: Any, centroids: Any) -> Any:
        """Prototypes of unit length, from vectors of texts, free vectors and centroids; the last two may be None."""
        if self.mixer is not None:
            return self.mixer(texts, free, centroids)
        return unit(texts if self.kind == "text" or free is None else texts + free)


def all_prototypes(network: DualEncoder, texts: Any, *, block: int = 8192) -> Any:
    """Prototypes of all labels from their texts' vectors, in blocks.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> network = DualEncoder(TinyEncoder(dim=4), PrototypeSettings(kind="text"))
        >>> all_prototypes(network, torch.tensor([[0.0, 3, 0, 4]])).round(decimals=1).numpy()
        array([[0. , 0.6, 0. , 0.8]], dtype=float32)
    """
    was_training = network.training
    network.eval()
    found = []
    with torch.no_grad():
        for at in range(0, len(texts), block):
            some = texts[at : at + block]
            z = network.prototypes(some, torch.arange(at, at + len(some), device=texts.device))
            found.append(unit(some) if z is None else z)
    network.train(was_training)
    return torch.cat(found)
