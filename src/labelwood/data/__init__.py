"""Reading and writing data: `read`, `write`, `Dataset`, and the built-in sample."""

from labelwood.data.dataset import Dataset, Groups
from labelwood.data.limits import ReadLimits
from labelwood.data.read import read, read_batches
from labelwood.data.reading import Columns
from labelwood.data.sample import sample
from labelwood.data.write import write

__all__ = ["Columns", "Dataset", "Groups", "ReadLimits", "read", "read_batches", "sample", "write"]
