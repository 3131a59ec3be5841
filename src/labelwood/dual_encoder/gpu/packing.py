"""Texts of a batch end to end instead of padded to the longest: on a GPU half the work where lengths differ.

A transformer's layers see tokens one by one except in attention, where each text must see itself alone. That is what
`packed_attention` does; transformers lets us register it beside its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from labelwood.dual_encoder.gpu.kernels import can_run

PACKED = "labelwood_packed"
_EXACT = 1e-4  # the distance between the vectors that both ways give in single precision, as a share of their length
_ALIKE = 0.999  # their cosine in half precision, which rounds by less
_SAME_WAY = 0.99  # the cosine of the gradients of any matrix, which rounding changes more
_NO_GRADIENT = 1e-6  # of the largest of all: what a matrix has that does not matter, as those of attention to one token
_MOST_TOKENS, _WIDTHS = 128, (16, 32, 64, 128)  # of what our own kernel is made for: texts, and heads
_has_kernels: dict[int | None, bool] = {}  # by the number of the GPU; asked for before anything is compiled


def packed_attention(
    module: Any, query: Any, key: Any, value: Any, mask: Any, *, bounds: Any = None, longest: int = 0, **others: Any
) -> tuple[Any, None]:
    """Attention of 1 × heads × tokens × size, within each text, which ends where `bounds` says the next one begins.

    Without bounds the texts are padded, and this is the library's own attention. On a GPU it is one kernel, without
    dropout and for texts of at most `longest` tokens; with 0 texts are taken one by one there too.

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
    scaling = others.get("scaling")
    is_usual = scaling is None or scaling == query.shape[-1] ** -0.5
    scale = {} if is_usual else {"scale": scaling}  # not every version of the kernel takes one
    if query.is_cuda and longest:
        flat = [tensor[0].transpose(0, 1) for tensor in (query, key, value)]
        is_plain = query.shape == key.shape == value.shape  # in some, heads share keys and values
        fits = is_plain and longest <= _MOST_TOKENS and query.shape[-1] in _WIDTHS
        if fits and _has_kernels.get(query.device.index, False):
            from labelwood.dual_encoder.gpu.kernels.short_attention import short_attention

            factor = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
            return short_attention(*flat, bounds, longest, factor)[None], None
        from torch.nn.attention.varlen import varlen_attn

        return varlen_attn(*flat, bounds, bounds, longest, longest, **scale)[None], None
    sizes = bounds.diff().tolist()
    texts = zip(*(tensor.split(sizes, dim=2) for tensor in (query, key, value)), strict=True)
    found = [nn.functional.scaled_dot_product_attention(*text, **scale) for text in texts]
    return torch.cat(found, dim=2).transpose(1, 2), None


def can_pack(encoder: Any, device: Any, half: Any, *, longest: int) -> bool:
    """Whether the encoder gives the same vectors to texts that are packed: tried, because encoders differ.

    Only on a GPU in half precision, where attention over packed texts is fast. An encoder that can is left so.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> can_pack(TinyEncoder(dim=4), torch.device("cpu"), None, longest=32)
        False
    """
    if torch.device(device).type != "cuda" or half is None or not hasattr(encoder, "model"):
        return False
    place = next(encoder.parameters()).device  # with its number, which `device` need not have
    _has_kernels[place.index] = can_run(place)
    return packs(encoder, device, half, longest=longest)


def packs(encoder: Any, device: Any, half: Any, *, longest: int) -> bool:
    """Whether packing does not change what the encoder gives to texts of up to `longest` tokens.

    An encoder that packing would change is left with its own attention.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from labelwood.dual_encoder.model.encoder import CheckpointEncoder, SubwordTokenizer
        >>> from tokenizers import Tokenizer, models
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        >>> words = SubwordTokenizer(Tokenizer(models.WordLevel({"?": 0, "dog": 1}, unk_token="?")).to_str(), pad_id=0)
        >>> packs(CheckpointEncoder(BertModel(BertConfig(vocab_size=2, **sizes)), words), "cpu", None, longest=8)
        True
    """
    was_training, before = encoder.training, encoder.model.config._attn_implementation
    try:
        alike = use_packed_attention(encoder.model) and _are_alike(encoder.eval(), device, half, longest)
    except Exception:  # a trial: whatever an encoder or a compiler of kernels raises, padding works
        alike = False
    finally:
        encoder.train(was_training)
    if not alike and encoder.model.config._attn_implementation != before:
        encoder.model.set_attn_implementation(before)
    return alike


def _are_alike(encoder: Any, device: Any, half: Any, longest: int) -> bool:
    """Whether texts of one token, of as many as there can be, and between get the same vectors packed and padded.

    First without rounding, where any other position or any token seen of another text shows; then as it is to be used.
    """
    from labelwood.dual_encoder.data.tokens import TokenFeeder, Tokens

    lengths = np.array([1, longest, min(2, longest), -(-longest // 2)])
    pad_id, rng = encoder.tokenizer.pad_id, np.random.default_rng(0)
    ids = rng.integers(max(1, encoder.model.config.vocab_size - 1), size=lengths.sum(), dtype=np.int32)
    ids[ids >= pad_id] += 1  # any token but that one, which stands for none
    feeder = TokenFeeder((Tokens(ids, np.append(0, np.cumsum(lengths)), pad_id),), device)
    packed, padded = feeder.packed(np.arange(len(lengths))), feeder.padded(np.arange(len(lengths)))
    kind = torch.device(device).type
    with torch.no_grad(), torch.autocast(kind, enabled=False), sdpa_kernel(SDPBackend.MATH):
        expected = encoder(*padded)
        missed = (encoder.packed(*packed._replace(longest=0)) - expected).norm(dim=1)
        if not bool((missed <= _EXACT * expected.norm(dim=1)).all()):
            return False
    with torch.enable_grad():
        with torch.autocast(kind, half, enabled=half is not None):
            found, expected = encoder.packed(*packed).float(), encoder(*padded).float()
        alike = nn.functional.cosine_similarity(found, expected) > _ALIKE
        return bool(alike.all()) and _go_the_same_way(*(_gradients(encoder, vectors) for vectors in (found, expected)))


def _gradients(encoder: Any, vectors: Any) -> list[Any]:
    """Of all matrices that the encoder learns, for a sum of the vectors' numbers with weights."""
    weights = torch.linspace(-1, 1, vectors.numel(), device=vectors.device).cos()
    matrices = [parameter for parameter in encoder.parameters() if parameter.requires_grad and parameter.ndim > 1]
    found = torch.autograd.grad((vectors.flatten() * weights).sum(), matrices, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def _go_the_same_way(some: list[Any], others: list[Any]) -> bool:
    largest = max(float(gradient.norm()) for gradient in others)
    pairs = [pair for pair in zip(some, others, strict=True) if float(pair[1].norm()) > _NO_GRADIENT * largest]
    return all(float(nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0)) > _SAME_WAY for a, b in pairs)


def use_packed_attention(model: Any) -> bool:
    """Registers our attention and lets the model use it; returns whether it does, for some keep to their own.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        >>> model = BertModel(BertConfig(vocab_size=2, **sizes))
        >>> use_packed_attention(model)
        True
        >>> model.config._attn_implementation
        'labelwood_packed'
    """
    register_packed_attention()
    model.set_attn_implementation(PACKED)
    return bool(model.config._attn_implementation == PACKED)  # where it cannot, it only logs that


def register_packed_attention() -> None:
    """Lets transformers know our attention by its name.

    Example:
        >>> from transformers import AttentionInterface
        >>> register_packed_attention()
        >>> PACKED in AttentionInterface()
        True
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(PACKED, packed_attention)
    AttentionMaskInterface.register(PACKED, sdpa_mask)
