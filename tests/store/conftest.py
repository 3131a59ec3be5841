import numpy as np
import pytest
from tests.store.store_samples import names

from labelwood import store
from labelwood.store import State


@pytest.fixture
def model(tmp_path):
    state = State(
        "demo",
        {"k": 5},
        {"n": 2},
        arrays={
            "a": np.arange(6.0).reshape(2, 3),
            "b": np.array([True, False]),
            "c": np.arange(3, dtype=np.int16),
        },
        names={"labels": names("ein", "zwei", "drei")},
        parts={"part": State("inner", {}, {}, arrays={"a": np.arange(4, dtype=np.float32)})},
    )
    store.write(tmp_path / "m", state)
    return tmp_path / "m"
