"""Hides torch and what comes with it, as on a machine without them: for `make test-fast`, by PYTHONPATH=tests/lean.

So a test that needs one of them and has no marker `deep` fails where the fast tests run, its child processes included.
"""

from importlib.machinery import PathFinder

HIDDEN = {"accelerate", "onnx", "onnxruntime", "tokenizers", "torch", "transformers", "triton"}

_find = PathFinder.find_spec


def find_spec(finder, name, path=None, target=None):
    return None if name.partition(".")[0] in HIDDEN else _find(name, path, target)


PathFinder.find_spec = classmethod(find_spec)
