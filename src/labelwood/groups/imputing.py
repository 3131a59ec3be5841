"""Labels of single rows from labels of groups, with their certainty and advice on whether to assign labels at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwood.errors import ParameterError
from labelwood.groups.advising import Advice, advice
from labelwood.groups.choosing import EagleChoice, choose_eagle
from labelwood.groups.eagle import Eagle
from labelwood.groups.grouped import baseline_labels, marks


@dataclass(frozen=True, eq=False)
class Imputed:
    """The labels that rows got.

    Fields:
        Y: Rows × labels, a sparse matrix of ones.
        sureness: How certain each entry is, from 0 to 1 (see `Assignment`); None with the baseline, where every row got
            all labels of its groups.
        shares: The row's share of the label, for each entry; None unless assignment is soft.
        advice: An `Advice`: whether assigning labels is expected to help.
        choice: An `EagleChoice` if parameters were chosen on held-out groups.

    Example:
        >>> given = impute([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.6, -0.8]], [0, 0, 1, 1], [[1], [1]])
        >>> given.Y.toarray().ravel(), given.sureness.data.round(1)
        (array([1., 0., 1., 0.], dtype=float32), array([1., 1.], dtype=float32))
    """

    Y: Any
    sureness: Any
    shares: Any
    advice: Advice
    choice: EagleChoice | None = None

    @property
    def values(self) -> dict[str, Any]:
        """`sureness` and `shares` by name, as far as there are any, rounded to four digits."""
        given = {"sureness": self.sureness, "shares": self.shares}
        return {name: _round(matrix) for name, matrix in given.items() if matrix is not None}

    def describe(self) -> dict[str, Any]:
        """A summary for people: counts of labels, and the advice."""
        facts: dict[str, Any] = {
            "labels_given": int(self.Y.nnz),
            "labels_per_row": round(self.Y.nnz / max(1, self.Y.shape[0]), 2),
            "rows_without_labels": int((np.diff(self.Y.indptr) == 0).sum()),
        }
        if self.sureness is not None:
            facts["mean_sureness"] = round(float(self.sureness.data.mean()), 4)
        if self.choice is not None:
            facts["chosen"] = self.choice.best.describe()
        facts["mixedness"] = round(self.advice.mixedness, 4)
        facts["advised"] = self.advice.use
        facts["reason"] = self.advice.reason
        return facts


def impute(
    X: Any, groups: Any, group_labels: Any, *, eagle: Eagle | None = None, baseline: bool = False, choose: bool = False
) -> Imputed:
    """Assigns the labels of groups to rows by `eagle`; with `baseline`, every row gets all labels of its groups.

    With `choose`, the best parameters are first chosen on held-out groups (`choose_eagle`), and `eagle` has the others.
    The other arguments are those of `Eagle.fit`.

    Example:
        >>> impute(np.eye(4), [0, 0, 1, 1], [[1, 1], [0, 1]], baseline=True).Y.nnz
        6
    """
    if baseline and (choose or eagle is not None):
        raise ParameterError("the baseline needs no parameters of Eagle: give either baseline, or eagle and choose")
    advised = advice(X, groups, group_labels)
    if baseline:
        return Imputed(baseline_labels(groups, group_labels), None, None, advised)
    choice = choose_eagle(X, groups, group_labels, eagle=eagle) if choose else None
    how = choice.eagle if choice is not None else Eagle() if eagle is None else eagle
    given = how.fit(X, groups, group_labels).assignment_
    shares = given.to_scipy()
    return Imputed(
        Y=marks(shares),  # a row keeps its label even if its share is so small that it rounds to zero
        sureness=given.to_scipy("sureness"),
        shares=shares if how.assign == "soft" else None,
        advice=advised,
        choice=choice,
    )


def _round(matrix: Any) -> Any:
    copy = matrix.astype(np.float64)
    copy.data = copy.data.round(4)
    return copy
