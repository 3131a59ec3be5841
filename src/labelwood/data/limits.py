"""Limits on what reading a file may cost: a file beyond them is an attack or an accident."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from labelwood.errors import ParameterError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_FREE = 32 << 20  # bytes of content that every file may hold, however small it is
_IDS_A_BYTE = 64  # a byte of the file, compressed or not, may account for this many ids


@dataclass(frozen=True)
class ReadLimits:
    """Limits on what a file may cost. Real data stays far below; raise a limit for a file that you trust.

    Parameters:
        max_bytes: The most bytes of content, uncompressed.
        max_ratio: How many times larger the content may be than the file; checked above 32 MiB of content.
        max_line: The most bytes of one line or one record.
        max_labels: The most labels that a small file may have; a large file may have 64 labels for each of its bytes.
        max_features: Likewise for features.

    Example:
        >>> import tempfile, pathlib, labelwood as lw
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.svm"
        >>> _ = path.write_text("0 100000000:1")
        >>> lw.read(path, limits=ReadLimits(max_features=1 << 31)).sparse.shape
        (1, 100000001)
    """

    max_bytes: int = 1 << 40
    max_ratio: float = 500
    max_line: int = 256 << 20
    max_labels: int = 1 << 22
    max_features: int = 1 << 24

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < math.inf:
                raise ParameterError(f"the limit {field.name} must be a number from 1, not {value!r}")

    def excess(self, n_bytes: int, n_stored: int) -> str | None:
        """The error for at least `n_bytes` of content from a file of `n_stored` bytes; None if it is within the limits.

        Example:
            >>> ReadLimits().excess(1 << 20, 100) is None
            True
            >>> ReadLimits(max_bytes=1000).excess(1 << 20, 100)
            'holds more than 1000 bytes; if you trust it, raise --limit max_bytes=…'
        """
        if n_bytes > self.max_bytes:
            return f"holds more than {self.max_bytes} bytes; if you trust it, raise --limit max_bytes=…"
        if n_bytes > _FREE and n_bytes > self.max_ratio * n_stored:
            return (
                f"holds over {self.max_ratio:g} times more than its size, as if it were made to fill the memory; "
                "if you trust it, raise --limit max_ratio=…"
            )
        return None

    def too_many(self, what: str, n: int, n_stored: int) -> str | None:
        """The error for `n` labels or features in a file of `n_stored` bytes; None if it is within the limits.

        Example:
            >>> ReadLimits().too_many("labels", 5_000_000, 20)
            'has 5000000 labels, more than so small a file can use; if you trust it, say --limit max_labels=5000000'
            >>> ReadLimits().too_many("labels", 5_000_000, 1_000_000) is None
            True
        """
        if n <= max(getattr(self, f"max_{what}"), _IDS_A_BYTE * n_stored):
            return None
        return f"has {n} {what}, more than so small a file can use; if you trust it, say --limit max_{what}={n}"

    @property
    def long_line(self) -> str:
        """The error for a line that is too long.

        Example:
            >>> ReadLimits(max_line=100).long_line
            'is longer than 100 bytes; break it up, or raise --limit max_line=…'
        """
        return f"is longer than {self.max_line} bytes; break it up, or raise --limit max_line=…"

    @classmethod
    def of(cls, assignments: Iterable[str]) -> ReadLimits:
        """The limits in assignments of the command line.

        Example:
            >>> ReadLimits.of(["max_bytes=200G"]).max_bytes
            214748364800
        """
        names = [field.name for field in fields(cls)]
        given: dict[str, Any] = {}
        for assignment in assignments:
            name, _, text = assignment.partition("=")
            size = _SIZE.fullmatch(text.strip())
            if name not in names or size is None:
                raise ParameterError(
                    f"--limit {assignment!r} does not set {', '.join(names)} to a size; write it like max_bytes=200G"
                )
            given[name] = int(float(size[1]) * 2 ** _POWERS[size[2].upper()])
        return cls(**given)
