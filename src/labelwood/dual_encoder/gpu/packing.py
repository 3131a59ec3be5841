"""Packs the texts of a batch one after the other instead of padding them: half the work on a GPU if lengths differ.

A transformer's layers handle each token separately, except for attention, where a text must see only its own tokens.
`packed_attention` does this; transformers lets us register it as another implementation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from labelwood.dual_encoder.gpu.kernels import can_run

PACKED = "labelwood_packed"
_MAX_DISTANCE = 1e-4  # distance of packed and padded vectors in single precision, relative to their length
_MIN_COSINE = 0.999  # cosine of packed and padded vectors in half precision; rounding changes it less
_MIN_GRADIENT_COSINE = 0.99  # cosine of the gradients of each matrix, which rounding changes more
_NEGLIGIBLE = 1e-6  # gradients smaller than this, relative to the largest, do not matter
_MOST_TOKENS, _WIDTHS = 128, (16, 32, 64, 128)  # texts and heads that our own kernel supports
_has_kernels: dict[int | None, bool] = {}  # by the number of the GPU; filled before anything is compiled


def packed_attention(
    module: Any, query: Any, key: Any, value: Any, mask: Any, *, bounds: Any = None, longest: int = 0, **others: Any
) -> tuple[Any, None]:
    """Attention of 1 × heads × tokens × size within each text; `bounds` says where texts start and end.

    Without bounds the texts are padded, and this is the library's own attention. On a GPU it is one kernel without
    dropout, for texts of at most `longest` tokens. If `longest` is 0, texts are handled one by one there too.

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
        is_plain = query.shape == key.shape == value.shape  # in some encoders, heads share keys and values
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
    """Whether the encoder gives the same vectors to packed texts. This is tested, because encoders differ.

    It is always False except on a GPU in half precision, where packed attention is fast. If it is True, the encoder
    uses packed attention from now on.

    Example:
        >>> from labelwood.dual_encoder.model.encoder import TinyEncoder
        >>> can_pack(TinyEncoder(dim=4), torch.device("cpu"), None, longest=32)
        False
    """
    if torch.device(device).type != "cuda" or half is None or not hasattr(encoder, "model"):
        return False
    place = next(encoder.parameters()).device  # this has a number, which `device` may lack
    _has_kernels[place.index] = can_run(place)
    return packs(encoder, device, half, longest=longest)


def packs(encoder: Any, device: Any, half: Any, *, longest: int) -> bool:
    """Whether the encoder gives the same vectors to packed and padded texts of up to `longest` tokens.

    If it does not, the encoder keeps its own attention.

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
        alike = use_packed_attention(encoder.model) and _vectors_agree(encoder.eval(), device, half, longest)
    except Exception:  # only a test: whatever an encoder or a compiler raises, padding still works
        alike = False
    finally:
        encoder.train(was_training)
    if not alike and encoder.model.config._attn_implementation != before:
        encoder.model.set_attn_implementation(before)
    return alike


def _vectors_agree(encoder: Any, device: Any, half: Any, longest: int) -> bool:
    """Whether short, long and medium texts get the same vectors packed and padded.

    It first tests in single precision, where a wrong position or a visible token of another text makes a difference,
    and then in the precision of training.
    """
    from labelwood.dual_encoder.data.tokens import TokenFeeder, Tokens

    lengths = np.array([1, longest, min(2, longest), -(-longest // 2)])
    pad_id, rng = encoder.tokenizer.pad_id, np.random.default_rng(0)
    ids = rng.integers(max(1, encoder.model.config.vocab_size - 1), size=lengths.sum(), dtype=np.int32)
    ids[ids >= pad_id] += 1  # any token except padding
    feeder = TokenFeeder((Tokens(ids, np.append(0, np.cumsum(lengths)), pad_id),), device)
    packed, padded = feeder.packed(np.arange(len(lengths))), feeder.padded(np.arange(len(lengths)))
    kind = torch.device(device).type
    with torch.no_grad(), torch.autocast(kind, enabled=False), sdpa_kernel(SDPBackend.MATH):
        expected = encoder(*padded)
        distances = (encoder.packed(*packed._replace(longest=0)) - expected).norm(dim=1)
        if not bool((distances <= _MAX_DISTANCE * expected.norm(dim=1)).all()):
            return False
    with torch.enable_grad():
        with torch.autocast(kind, half, enabled=half is not None):
            found, expected = encoder.packed(*packed).float(), encoder(*padded).float()
        alike = nn.functional.cosine_similarity(found, expected) > _MIN_COSINE
        return bool(alike.all()) and _gradients_agree(*(_gradients(encoder, vectors) for vectors in (found, expected)))


def _gradients(encoder: Any, vectors: Any) -> list[Any]:
    """The gradients of a weighted sum of the vectors' numbers, for all matrices that the encoder learns."""
    weights = torch.linspace(-1, 1, vectors.numel(), device=vectors.device).cos()
    matrices = [parameter for parameter in encoder.parameters() if parameter.requires_grad and parameter.ndim > 1]
    found = torch.autograd.grad((vectors.flatten() * weights).sum(), matrices, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def _gradients_agree(some: list[Any], others: list[Any]) -> bool:
    def cosine(a: Any, b: Any) -> float:
        return float(nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0))

    largest = max(float(gradient.norm()) for gradient in others)
    pairs = [pair for pair in zip(some, others, strict=True) if float(pair[1].norm()) > _NEGLIGIBLE * largest]
    return all(cosine(a, b) > _MIN_GRADIENT_COSINE for a, b in pairs)


def use_packed_attention(model: Any) -> bool:
    """Registers our attention and lets the model use it; returns whether it does, since some models refuse.

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
    return bool(model.config._attn_implementation == PACKED)  # a refusal is only logged


def register_packed_attention() -> None:
    """Registers our attention with transformers.

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
