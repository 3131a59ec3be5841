"""Finds out what a row's label means when a label file describes the labels: a name, an id, or a line number."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from labelwood.errors import LabelwoodError

LabelNumbers: TypeAlias = Literal["ids", "lines"]
_WHOLE = r"^(0|[1-9][0-9]{0,17})$"
_PADDED = r"^[0-9]{1,18}$"
_MOSTLY = 0.9  # so many numbers match ids by accident only if at least half of the lines have an id


NO_LABEL_FILE_HINT = ", or say --no-label-file if that file is for other data"  # for a file found beside the data


class LabelError(LabelwoodError):
    """A label cannot be used. Readers turn this into an `InputError` that names the place."""

    def __init__(self, message: str, entry: int = 0) -> None:
        self.message = message
        self.entry = entry  # the position of the label among those that were looked up
        super().__init__(message)


class LabelIds:
    """The labels of a label file, looked up by their ids or by the numbers of their lines, from zero.

    If at least half of the ids are whole numbers, then whole numbers among the rows' labels are ids. Otherwise they are
    line numbers, with an `ambiguity` if each of them could be an id too. A caller who knows gives their `meaning`.

    Example:
        >>> import pyarrow as pa
        >>> labels = LabelIds(pa.array(["animal", "plant"]), pa.array(["7", "1"]), "labels.jsonl")
        >>> labels.lines(np.array([1, 7]))
        array([1, 0])
        >>> labels.names(["7", "plant"])
        ['animal', 'plant']
    """

    def __init__(
        self, names: Any, ids: Any, where: str, meaning: LabelNumbers | None = None, *, given: bool = True
    ) -> None:
        self._names, self._ids, self._where, self._meaning = names, ids, where, meaning
        self._hint = "" if given else NO_LABEL_FILE_HINT
        self._n_numbers = self._n_ids = 0  # numbers that the caller calls line numbers, and those that match an id
        self._ambiguous_number: int | None = None  # a number used as a line number that is also an id
        self._has_line_only = False  # whether some number can only be a line number

    def lines(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines of the labels with these numbers, from zero."""
        own, of_own = self._whole_ids
        if not self.has_other_numbers:
            return self._in_range(numbers)
        place = np.minimum(np.searchsorted(own, numbers), len(own) - 1)
        known = own[place] == numbers
        if self._meaning == "lines":
            self._n_numbers += len(numbers)
            self._n_ids += int(known.sum())
            return self._in_range(numbers)
        by_id = np.where(known, of_own[place], -1)
        if self._numbers_are_ids:
            if not known.all():
                raise self._unknown_id(numbers, known)
            return by_id
        self._has_line_only |= not known.all()
        also = known & (by_id != numbers)
        if self._ambiguous_number is None and also.any():
            self._ambiguous_number = int(numbers[also.argmax()])
        return self._in_range(numbers)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """For each label the number that `lines` maps to it."""
        if not self._numbers_are_ids:
            return np.arange(len(self._names))
        own, of_own = self._whole_ids
        found = np.full(len(self._names), -1)
        found[of_own] = own
        if (found < 0).any():
            entry = int((found < 0).argmax())
            raise LabelError(
                f"the label {self._name(entry)[:40]!r} has no number, as most other labels do; write jsonl instead, or "
                "give it a number in the file that describes labels",
                entry,
            )
        return found

    @property
    def _numbers_are_ids(self) -> bool:
        if self._meaning == "lines" or not self.has_other_numbers:
            return False
        return self._meaning == "ids" or 2 * len(self._whole_ids[0]) >= len(self._names)

    @property
    def ambiguity(self) -> str | None:
        """The error if no number shows whether they are ids or lines, or if the caller's "lines" look like ids."""
        if self._lines_look_like_ids:
            return (
                f"{self._n_ids} of {self._n_numbers} labels are ids in {self._where}, so they are not line numbers; "
                f"leave out --label-numbers lines, and add the others to that file{self._hint}"
            )
        if self._ambiguous_number is None or self._has_line_only:
            return None
        own, of_own = self._whole_ids
        named = self._name(int(of_own[np.searchsorted(own, self._ambiguous_number)]))
        return (
            f"label {self._ambiguous_number} may be the id of {named[:40]!r} or the line number of "
            f"{self._name(self._ambiguous_number)[:40]!r} in {self._where}, and no label shows which; "
            "say --label-numbers ids or lines, or write names"
        )

    @property
    def _lines_look_like_ids(self) -> bool:
        """Whether the caller's line numbers match ids far more often than chance explains."""
        own, n = self._whole_ids[0], len(self._names)
        if 2 * len(own) < n or self._n_ids < max(2, _MOSTLY * self._n_numbers):
            return False
        return 2 * int((own < n).sum()) < n

    def names(self, given: list[str]) -> list[str]:
        """The names of labels, each given by its name or by its id."""
        if self._ids is None or (self._all_ids_whole and not any(name.isdecimal() for name in given)):
            return given
        wanted = []
        for entry, name in enumerate(given):
            line = self._line_of_id.get(name)
            if line is None:
                wanted.append(name)
                continue
            wanted.append(self._name(line))
            if wanted[-1] != name and name in self._name_set:
                raise LabelError(
                    f"the label {name[:40]!r} is the id of {wanted[-1][:40]!r} in {self._where} and also the name of "
                    "another label there; correct that file",
                    entry,
                )
        return wanted

    def ids_of(self, names: Any) -> Any:
        """The ids of labels: first those of the label file, then the names of further labels as their ids."""
        return None if self._ids is None else pa.concat_arrays([self._ids, names[len(self._ids) :]])

    @cached_property
    def has_other_numbers(self) -> bool:
        """Whether a label has a whole number as id that differs from its line number."""
        return bool((self._whole_ids[0] != self._whole_ids[1]).any())

    @cached_property
    def _whole_ids(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids that are whole numbers, ascending, and their lines."""
        ids = self._names if self._ids is None else self._ids
        for pattern in (_PADDED, _WHOLE):
            whole = pc.match_substring_regex(ids, pattern)
            numbers = np.asarray(ids.filter(whole).cast("int64"), np.int64)
            order = np.argsort(numbers, kind="stable")
            if (np.diff(numbers[order]) > 0).all():  # not if 7 and 007 are two labels
                break
        return numbers[order], np.flatnonzero(np.asarray(whole))[order]

    @cached_property
    def _all_ids_whole(self) -> bool:
        return len(self._whole_ids[0]) == len(self._names)

    @cached_property
    def _line_of_id(self) -> dict[str, int]:
        return {label_id: line for line, label_id in enumerate(self._ids.to_pylist())}

    @cached_property
    def _name_set(self) -> set[str]:
        return set(self._names.to_pylist())

    def _name(self, line: int) -> str:
        return str(self._names[line].as_py())

    def _unknown_id(self, numbers: NDArray[np.int64], known: NDArray[np.bool_]) -> LabelError:
        entry = int(known.argmin())
        number = int(numbers[entry])
        fix = f"add it to that file{self._hint}"
        if 0 <= number < len(self._names):
            name = self._name(number)[:40]
            fix += f"; --label-numbers lines would take all labels as line numbers, this one as {name!r}"
        return LabelError(f"label {number} is not an id in {self._where}, whose ids are whole numbers; {fix}", entry)

    def _in_range(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        if (wrong := (numbers < 0) | (numbers >= len(self._names))).any():
            entry = int(wrong.argmax())
            raise self._out_of_range(int(numbers[entry]), entry)
        return numbers

    def _out_of_range(self, number: int, entry: int) -> LabelError:
        n = len(self._names)
        return LabelError(
            f"label {number} is out of range: {self._where} describes {n} labels, so ids run from 0 to {n - 1}; "
            f"correct the label{self._hint}",
            entry,
        )
