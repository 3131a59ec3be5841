"""The built-in sample: WordNet 3.0's noun definitions, labelled with the concepts above them."""

from __future__ import annotations

from importlib.resources import as_file, files

from labelwood.data.dataset import Dataset
from labelwood.data.read import read


def sample() -> tuple[Dataset, Dataset]:
    """Training and test rows of the sample: real texts, real label texts, a real power law.

    Example:
        >>> train, test = sample()
        >>> train.labels[3], train.n_labels == test.n_labels
        ('plant', True)
    """
    with as_file(files(__name__)) as folder:
        return read(folder, split="train"), read(folder, split="test")
