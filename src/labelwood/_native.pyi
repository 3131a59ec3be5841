# The compiled module. Its functions are called in few places, each of which names the type of the result.
from typing import Any

def __getattr__(name: str) -> Any: ...
