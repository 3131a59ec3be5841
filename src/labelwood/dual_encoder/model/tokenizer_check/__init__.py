"""Checks a tokenizer's file before the tokenizers library reads it.

This library, in Rust, trusts such files: a bad one ends the process, prints its stack, or takes all time and memory.
"""

from labelwood.dual_encoder.model.tokenizer_check.file import check_tokenizer

__all__ = ["check_tokenizer"]
