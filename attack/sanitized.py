"""Runs the attacks with a build of Labelwood's native code under address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from attack.running import ROOT

_BUILD = ROOT / "build" / "sanitize"  # as `make sanitize` has it
_MODULE = "LABELWOOD_SANITIZED_MODULE"
# A large allocation fails as it does without sanitizers; leaks are Python's at exit, not ours.
_ADDRESS = (
    "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=2048:detect_odr_violation=0"
)
_UNDEFINED = "print_stacktrace=1:halt_on_error=1:abort_on_error=1"


def use() -> None:
    """Builds that module and makes the children of this process load it."""
    tools = Path(sys.executable).parent
    settings = ["-DCMAKE_BUILD_TYPE=Debug", "-DLABELWOOD_SANITIZE=ON", "-DLABELWOOD_PYTHON=ON", "-DLABELWOOD_TESTS=ON"]
    settings += [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"]
    subprocess.run([tools / "cmake", "-S", ROOT, "-B", _BUILD, "-G", "Ninja", *settings], check=True, stdout=sys.stderr)
    subprocess.run([tools / "cmake", "--build", _BUILD, "--target", "_native"], check=True, stdout=sys.stderr)
    (module,) = _BUILD.glob("_native*.so")
    compiler = os.environ.get("CXX", "c++")
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")  # the latter first, for its exceptions to be seen
    ]
    os.environ |= {
        _MODULE: str(module),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": _ADDRESS,
        "UBSAN_OPTIONS": _UNDEFINED,
        "PYTHONMALLOC": "malloc",
    }


def load() -> None:
    """In a child: takes the module that `use` named, in the place of the installed one."""
    place = os.environ.get(_MODULE)
    if place is None:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    import labelwood

    spec = spec_from_file_location("labelwood._native", place)
    assert spec is not None and spec.loader is not None
    module = sys.modules["labelwood._native"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    labelwood._native = module  # type: ignore[attr-defined]
