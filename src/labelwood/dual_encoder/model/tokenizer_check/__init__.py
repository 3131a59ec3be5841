"""Checks the file of a tokenizer before the library that runs it sees it.

That library, in Rust, trusts such files: a wrong one ends the process, prints its stack, or takes all time and memory.
"""

from labelwood.dual_encoder.model.tokenizer_check.file import checked

__all__ = ["checked"]
