"""The objective that training minimises."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from labelwood.dual_encoder.gpu.kernels import can_fuse
from labelwood.dual_encoder.settings import PrimeSettings
from labelwood.dual_encoder.training.losses import decoupled_softmax, make_loss, regulariser


class Relations(NamedTuple):
    """The true pairs of a batch, on the device.

    Example:
        >>> truth = marked((2, 3), torch.tensor([0, 1]), torch.tensor([0, 1]))
        >>> Relations(truth, torch.tensor([[0], [1]]), torch.tensor([0, 1])).truth.int().tolist()
        [[1, 0, 0], [0, 1, 0]]
    """

    truth: Any  # queries × columns, bool
    positives: Any  # queries × P, columns
    owners: Any  # for each of the first columns, a query that has it


def marked(shape: tuple[int, int], rows: Any, columns: Any) -> Any:
    """A boolean table that is True for the given pairs of rows and columns.

    Example:
        >>> marked((2, 2), torch.tensor([0]), torch.tensor([1])).int().tolist()
        [[0, 1], [0, 0]]
    """
    table = torch.zeros(shape, dtype=torch.bool, device=rows.device)
    # ``table[rows, columns] = True`` would wait for the GPU.
    table.view(-1).index_fill_(0, rows * shape[1] + columns, True)
    return table


class Objective:
    """L(h_q, z) + L(h_q, h_l) + L(h_l, h_q) + λ R, each with its weight (Equation 5), and an anchor in each L.

    Most positives are behind the hardest negatives at the start, or always if only few of many true answers are known.
    Then a loss with a margin gets smaller if vectors get more similar, so all could collapse to one point. The anchor,
    a softmax, is far from its minimum there and prevents this.

    It is called with unit vectors of queries, of the columns' texts and of their prototypes. The last are None if
    labels are represented by their texts. It returns the sum and its parts by name.

    Example:
        >>> relations = Relations(torch.eye(2, dtype=torch.bool), torch.tensor([[0], [1]]), torch.tensor([0, 1]))
        >>> total, parts = Objective(PrimeSettings())(torch.eye(2), torch.eye(2), torch.eye(2), relations)
        >>> sorted(parts)
        ['label_to_query', 'query_to_label', 'query_to_prototype', 'regulariser']
    """

    def __init__(self, settings: PrimeSettings) -> None:
        self.weights = settings.objective
        self.of_triplets = settings.loss
        self._loss = make_loss(settings.loss)

    def loss(self, similarities: Any, truth: Any, positives: Any) -> Any:
        """The loss of one relation, with the anchor."""
        anchor, temperature = self.weights.anchor, self.weights.anchor_temperature
        if self._fuses(similarities, positives):
            from labelwood.dual_encoder.gpu.kernels.fused_losses import fused_triplets

            how = {"anchor": anchor, "anchor_temperature": temperature}
            return fused_triplets(similarities, truth, positives, self.of_triplets, **how)
        total = self._loss(similarities, truth, positives)
        if not anchor:
            return total
        return total + anchor * decoupled_softmax(similarities, truth, positives, temperature=temperature)

    def _regulariser(self, by_text: Any, by_prototype: Any, truth: Any, positives: Any) -> Any:
        how: dict[str, Any] = {"margin": self.weights.regulariser_margin, "n_negatives": self.of_triplets.negatives}
        if self._fuses(by_text, positives):
            from labelwood.dual_encoder.gpu.kernels.fused_losses import fused_regulariser

            return fused_regulariser(by_text, by_prototype, truth, positives, **how)
        return regulariser(by_text, by_prototype, truth, positives, **how)

    def _fuses(self, similarities: Any, positives: Any) -> bool:
        has_triplets = self.of_triplets.kind in ("dynamic", "fixed", "inverted")
        return has_triplets and can_fuse(similarities, positives, self.of_triplets.negatives)

    def __call__(self, queries: Any, texts: Any, prototypes: Any, relations: Relations) -> tuple[Any, dict[str, Any]]:
        """The value to minimise, and its parts."""
        w, (truth, positives, owners) = self.weights, relations
        # In half precision, similarities would have rounding errors of up to a twentieth of a margin.
        with torch.autocast(queries.device.type, enabled=False):
            by_text = queries.float() @ texts.float().T
            parts = {}
            if prototypes is not None:
                by_prototype = queries.float() @ prototypes.float().T
                if w.query_to_prototype:
                    parts["query_to_prototype"] = w.query_to_prototype * self.loss(by_prototype, truth, positives)
                if w.regulariser:
                    parts["regulariser"] = w.regulariser * self._regulariser(by_text, by_prototype, truth, positives)
            if w.query_to_label:
                parts["query_to_label"] = w.query_to_label * self.loss(by_text, truth, positives)
            if w.label_to_query and len(owners):
                columns = slice(len(owners))
                # Contiguous, because the loss works along rows, which are scattered in a transposed matrix.
                transposed = by_text.T[columns].contiguous(), truth.T[columns].contiguous()
                parts["label_to_query"] = w.label_to_query * self.loss(*transposed, owners[:, None])
            return sum(parts.values()), parts
