"""What a label of a row means where a catalogue describes the labels: a name, an id, or the number of a line."""

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


UNLESS_OTHER = ", or say --no-label-file if that file is for other data"  # of one that was found and not given


class LabelError(LabelwoodError):
    """A label that cannot be used; readers turn it into an `InputError` with its place."""

    def __init__(self, message: str, entry: int = 0) -> None:
        self.message = message
        self.entry = entry  # which of those that were asked for
        super().__init__(message)


class LabelIds:
    """The labels that a catalogue describes, by their ids and by the numbers of their lines from zero.

    Where at least half of its ids are whole numbers, whole numbers among labels are ids; elsewhere they are lines, and
    a file of which all are ids by chance is in `doubt`. None of this is asked where the caller knows their `meaning`.

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
        self._or_without = "" if given else UNLESS_OTHER
        self._n_met = self._n_ids = 0  # numbers that were said to be lines, and those of them that are ids
        self._id_too: int | None = None  # a number that was taken for a line and is an id as well
        self._told_lines = False  # whether a number was met that can be a line only

    def lines(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines of the labels with these numbers, from zero."""
        own, of_own = self._numbered
        if not self.has_other_numbers:
            return self._in_range(numbers)
        place = np.minimum(np.searchsorted(own, numbers), len(own) - 1)
        known = own[place] == numbers
        if self._meaning == "lines":
            self._n_met += len(numbers)
            self._n_ids += int(known.sum())
            return self._in_range(numbers)
        by_id = np.where(known, of_own[place], -1)
        if self._takes_ids:
            if not known.all():
                raise self._unknown(numbers, known)
            return by_id
        self._told_lines |= not known.all()
        also = known & (by_id != numbers)
        if self._id_too is None and also.any():
            self._id_too = int(numbers[also.argmax()])
        return self._in_range(numbers)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """For each label the number that `lines` takes for it."""
        if not self._takes_ids:
            return np.arange(len(self._names))
        own, of_own = self._numbered
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
    def _takes_ids(self) -> bool:
        if self._meaning == "lines" or not self.has_other_numbers:
            return False
        return self._meaning == "ids" or 2 * len(self._numbered[0]) >= len(self._names)

    @property
    def doubt(self) -> str | None:
        """What is wrong where nothing among all numbers told whether they are ids or lines, or they are not lines."""
        if self._are_rather_ids:
            return (
                f"{self._n_ids} of {self._n_met} labels are ids in {self._where}, so they are no numbers of lines; "
                f"leave out --label-numbers lines, and add the others to that file{self._or_without}"
            )
        if self._id_too is None or self._told_lines:
            return None
        own, of_own = self._numbered
        named = self._name(int(of_own[np.searchsorted(own, self._id_too)]))
        return (
            f"label {self._id_too} may be the id of {named[:40]!r} or the number of a line, "
            f"{self._name(self._id_too)[:40]!r}, in {self._where}, and no label tells which; "
            "say --label-numbers ids or lines, or write names"
        )

    @property
    def _are_rather_ids(self) -> bool:
        """Whether numbers that were said to be lines are ids far more often than lines of the file are."""
        own, n = self._numbered[0], len(self._names)
        if 2 * len(own) < n or self._n_ids < max(2, _MOSTLY * self._n_met):
            return False
        return 2 * int((own < n).sum()) < n

    def names(self, given: list[str]) -> list[str]:
        """The names of labels that are given by name or by id."""
        if self._ids is None or (self._has_whole_ids and not any(name.isdecimal() for name in given)):
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
                    "another label there; mend that file",
                    entry,
                )
        return wanted

    def ids_of(self, names: Any) -> Any:
        """The ids of labels of which the catalogue has the first: the others have their names as ids."""
        return None if self._ids is None else pa.concat_arrays([self._ids, names[len(self._ids) :]])

    @cached_property
    def has_other_numbers(self) -> bool:
        """Whether a label has a whole number as its id that is not its line's."""
        return bool((self._numbered[0] != self._numbered[1]).any())

    @cached_property
    def _numbered(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids that are whole numbers, ascending, and the lines they stand in."""
        ids = self._names if self._ids is None else self._ids
        for pattern in (_PADDED, _WHOLE):
            whole = pc.match_substring_regex(ids, pattern)
            numbers = np.asarray(ids.filter(whole).cast("int64"), np.int64)
            order = np.argsort(numbers, kind="stable")
            if (np.diff(numbers[order]) > 0).all():  # 7 and 007 are two labels
                break
        return numbers[order], np.flatnonzero(np.asarray(whole))[order]

    @cached_property
    def _has_whole_ids(self) -> bool:
        return len(self._numbered[0]) == len(self._names)

    @cached_property
    def _line_of_id(self) -> dict[str, int]:
        return {label_id: line for line, label_id in enumerate(self._ids.to_pylist())}

    @cached_property
    def _name_set(self) -> set[str]:
        return set(self._names.to_pylist())

    def _name(self, line: int) -> str:
        return str(self._names[line].as_py())

    def _unknown(self, numbers: NDArray[np.int64], known: NDArray[np.bool_]) -> LabelError:
        entry = int(known.argmin())
        number = int(numbers[entry])
        fix = f"add it to that file{self._or_without}"
        if 0 <= number < len(self._names):
            fix += f"; --label-numbers lines would make it {self._name(number)[:40]!r} and all others lines as well"
        return LabelError(f"label {number} is no id in {self._where}, whose ids are whole numbers; {fix}", entry)

    def _in_range(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        if (wrong := (numbers < 0) | (numbers >= len(self._names))).any():
            entry = int(wrong.argmax())
            raise self._beyond(int(numbers[entry]), entry)
        return numbers

    def _beyond(self, number: int, entry: int) -> LabelError:
        n = len(self._names)
        return LabelError(
            f"label {number} is out of range: {self._where} describes {n} labels, so ids run from 0 to {n - 1}; "
            f"mend the label{self._or_without}",
            entry,
        )
