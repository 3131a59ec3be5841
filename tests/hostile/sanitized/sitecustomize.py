"""Puts the native module that was built with sanitizers in the place of the installed one; see `make sanitize`."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

_NAME = "labelwood._native"


class _Sanitized:
    """Finds one module, and leaves all others to others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _NAME:
            return None
        (file,) = Path(os.environ["LABELWOOD_SANITIZED"]).glob("_native.*.so")
        loader = importlib.machinery.ExtensionFileLoader(_NAME, str(file))
        return importlib.util.spec_from_file_location(_NAME, file, loader=loader)


if "LABELWOOD_SANITIZED" in os.environ:
    sys.meta_path.insert(0, _Sanitized)
