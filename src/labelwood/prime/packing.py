"""Texts of a batch end to end instead of padded to the longest: on a GPU half the work where lengths differ.

A transformer's layers see tokens one by one except in attention, where each text must see itself alone. That is what
`packed_attention` does; transformers lets us register it beside its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

PACKED = "labelwood_packed"
_ALIKE = 0.999  # cosine of the vectors that both ways give; half precision rounds by less


def packed_attention(
    module: Any, query: Any, key: Any, value: Any, mask: Any, *, bounds: Any = None, longest: int = 0, **others: Any
) -> tuple[Any, None]:
    """Attention of 1 × heads × tokens × size, within each text, which ends where `bounds` says the next one begins.

    Without bounds the texts are padded, and this is the library's own attention.

    Example:
        >>> tokens = torch.randn(1, 2, 5, 4)
        >>> both, _ = packed_attention(None, tokens, tokens, tokens, None, bounds=torch.tensor([0, 2, 5]), longest=3)
        >>> first, _ = packed_attention(
        ...     None, *[tokens[:, :, :2]] * 3, None, bounds=torch.tensor([0, 2]), longest=2
        ... )
        >>> bool(torch.allclose(both[:, :2], first))
        True
    """
    if bounds is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        padded: tuple[Any, None] = sdpa_attention_forward(module, query, key, value, mask, **others)
        return padded
    if query.is_cuda:
        from torch.nn.attention.varlen import varlen_attn

        flat = [tensor[0].transpose(0, 1) for tensor in (query, key, value)]
        return varlen_attn(*flat, bounds, bounds, longest, longest)[None], None
    sizes = bounds.diff().tolist()
    texts = zip(*(tensor.split(sizes, dim=2) for tensor in (query, key, value)), strict=True)
    found = [nn.functional.scaled_dot_product_attention(*text) for text in texts]
    return torch.cat(found, dim=2).transpose(1, 2), None


def can_pack(encoder: Any, device: Any, half: Any) -> bool:
    """Whether the encoder gives the same vectors to texts that are packed: tried, because encoders differ.

    Only on a GPU in half precision, where attention over packed texts is fast. An encoder that can is left so.

    Example:
        >>> from labelwood.prime.encoder import TinyEncoder
        >>> can_pack(TinyEncoder(dim=4), torch.device("cpu"), None)
        False
    """
    if torch.device(device).type != "cuda" or half is None or not hasattr(encoder, "model"):
        return False
    return packs(encoder, device, half)


def packs(encoder: Any, device: Any, half: Any) -> bool:
    """Whether packing does not change what the encoder gives; leaves it with its own attention where it does.

    Example:
        >>> packs(torch.nn.Linear(1, 1), "cpu", None)
        False
    """
    from labelwood.prime.tokens import TokenFeeder, Tokens

    was_training = encoder.training
    try:
        before = use_packed_attention(encoder.model)
        tokens = Tokens.of(["one text", "another, which is longer than that"], encoder.tokenizer, max_tokens=16)
        feeder = TokenFeeder((tokens,), device)
        which = tokens.everything()
        encoder.eval()
        with torch.no_grad(), torch.autocast(torch.device(device).type, half, enabled=half is not None):
            both = encoder.packed(*feeder.packed(which)), encoder(*feeder.padded(which))
        alike = nn.functional.cosine_similarity(*(vectors.float() for vectors in both)).min() > _ALIKE
    except (AttributeError, ImportError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    finally:
        encoder.train(was_training)
    if not alike:
        encoder.model.set_attn_implementation(before)
    return bool(alike)


def use_packed_attention(model: Any) -> str:
    """Registers our attention and lets the model use it; returns the name of what it used before.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        >>> use_packed_attention(BertModel(BertConfig(vocab_size=2, **sizes)))
        'sdpa'
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    before: str = model.config._attn_implementation
    AttentionInterface.register(PACKED, packed_attention)
    AttentionMaskInterface.register(PACKED, sdpa_mask)
    model.set_attn_implementation(PACKED)
    return before
