"""Models that can be made smaller."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Compressible(Protocol):
    """A fitted model that has a smaller copy, which answers nearly the same.

    Example:
        >>> import labelwood as lw
        >>> X = Y = [[1.0, 0.0], [0.0, 1.0]]
        >>> isinstance(lw.SoftmaxTreeClassifier().fit(X, Y), Compressible)
        True
        >>> isinstance(lw.TreeClassifier().fit(X, Y), Compressible)
        False
    """

    n_features_in_: int

    def compressed(self, *, max_features: int | None = None, part: int = 2) -> Any:
        """A copy that takes a fraction of the memory."""
        ...

    def features_that_matter(self, n: int) -> Any:
        """The numbers of the features without which answers would change most."""
        ...

    def restricted_to(self, features: Any) -> Any:
        """A copy for rows that have these features only, numbered anew."""
        ...
