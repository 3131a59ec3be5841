"""Models that read texts by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labelwood.arrays.pairs import as_pairs
from labelwood.arrays.rows import as_labels
from labelwood.contract.examples import Examples, as_weights
from labelwood.contract.model import Model
from labelwood.errors import LabelwoodError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset


class TextModel(Model):
    """A model whose rows are texts, which it turns into numbers by itself.

    Example:
        >>> import labelwood as lw
        >>> isinstance(lw.PrimeClassifier(), TextModel), isinstance(lw.TreeClassifier(), TextModel)
        (True, False)
    """

    takes = "texts"

    def _of_dataset(self, data: Dataset, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        if data.groups is not None:
            raise LabelwoodError(
                f"the labels are those of groups and not of single rows, which {type(self).__name__} cannot use: "
                "use a TextClassifier with a GroupedClassifier"
            )
        own: dict[str, Any] = {}
        if "label_texts" in self.uses and "label_texts" not in given:
            own["label_texts"] = data.texts_of_labels()
        if "filters" in self.uses and data.filters is not None:
            own["filters"] = data.filters
        return data.texts_to_read(), data.labels_to_learn_from(), {**own, **given}

    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        from labelwood.data.texts import as_texts

        rows, labels = as_texts(X, "texts"), as_labels(Y)
        if labels.n_rows != len(rows):
            raise LabelwoodError(
                f"Y has {labels.n_rows} rows and there are {len(rows)} texts: give each text its row of labels"
            )
        label_texts, filters = given.get("label_texts"), given.get("filters")
        return Examples(
            rows,
            labels,
            label_texts=None if label_texts is None else as_texts(label_texts, "label_texts"),
            filters=None if filters is None else as_pairs(filters, len(rows)),
            row_weights=as_weights(given.get("row_weights"), len(rows)),
        )

    def _rows(self, X: Any) -> tuple[Any, int]:
        from labelwood.data.texts import as_texts

        rows = as_texts(X, "texts")
        return rows, len(rows)
