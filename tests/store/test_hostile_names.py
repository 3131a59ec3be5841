"""Files of names with right hashes and false contents."""

import io

import numpy as np
import pyarrow as pa
import pytest
from tests.store.store_samples import file_of, refused, survives, swap


def arrow(table, **options):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def named(values, kind=None, nullable=False, name="name", metadata=None):
    kind = kind or pa.large_string()
    schema = pa.schema([pa.field(name, kind, nullable=nullable)], metadata=metadata)
    return pa.table([values if isinstance(values, pa.Array) else pa.array(values, kind)], schema=schema)


THREE = ["ein", "zwei", "drei"]
BAD_UTF8 = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 1, 2, 3])), pa.py_buffer(b"a\xffc"))
CUT_UTF8 = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 1, 2, 3])), pa.py_buffer("aä".encode()))
BAD_OFFSETS = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 1 << 40, 2, 3])), pa.py_buffer(b"abc"))
DESCENDING = pa.LargeStringArray.from_buffers(3, pa.py_buffer(np.array([0, 3, 1, 3])), pa.py_buffer(b"abc"))


ARROWS = {
    "nulls": lambda: arrow(named(["ein", None, "drei"], nullable=True)),
    "nulls in a column without nulls": lambda: arrow(named(["ein", None, "drei"])),
    "nullable": lambda: arrow(named(THREE, nullable=True)),
    "small strings": lambda: arrow(named(THREE, pa.string())),
    "bytes": lambda: arrow(named(THREE, pa.large_binary())),
    "numbers": lambda: arrow(named([1, 2, 3], pa.int64())),
    "dictionary": lambda: arrow(named(pa.array(THREE).dictionary_encode(), pa.dictionary(pa.int32(), pa.string()))),
    "two columns": lambda: arrow(named(THREE).append_column("more", pa.array([1, 2, 3]))),
    "no column": lambda: arrow(pa.table({})),
    "other column": lambda: arrow(named(THREE, name="label")),
    "metadata": lambda: arrow(named(THREE, metadata={"a": "b"})),
    "two batches": lambda: arrow(pa.concat_tables([named(["ein"]), named(["zwei", "drei"])])),
    "no batch": lambda: arrow(named([]).slice(0, 0)),
    "too few": lambda: arrow(named(["ein"])),
    "compressed": lambda: arrow(named(["ein" * 1000, "zwei", "drei"]), compression="zstd"),
    "a stream": lambda: b"\xff\xff\xff\xff",
    "nothing but magic": lambda: b"ARROW1\0\0ARROW1",
    "offset past the end": lambda: arrow(named(THREE)).replace(
        np.array([0, 3, 7, 11]).tobytes(), np.array([0, 3, 7, 1 << 40]).tobytes()
    ),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("case", ARROWS)
def test_a_file_of_names_that_is_another_table_is_refused(model, case, verify):
    swap(model, file_of(model, "names").name, ARROWS[case]())
    refused(model, verify, "names-")


@pytest.mark.parametrize("names_", [BAD_UTF8, CUT_UTF8, BAD_OFFSETS, DESCENDING], ids=range(4))
def test_names_with_bad_contents_are_refused(model, names_):
    sink = arrow(named(names_))
    swap(model, file_of(model, "names").name, sink)
    refused(model, True, "names-")
    survives(model, verify=False)
