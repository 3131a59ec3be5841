"""Encodes tokens as vectors: with a transformer from a checkpoint, or with a small encoder of our own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from labelwood.dual_encoder.gpu.packing import PACKED, register_packed_attention
from labelwood.dual_encoder.model.architectures import check_config, new_model, settings_from
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer, Tokenizer, WordHasher
from labelwood.dual_encoder.settings import EncoderSettings, Pooling
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.store.state import State

_TINY_WORDS = 8192
TINY_DIM = 64


class Encoder(nn.Module, ABC):  # type: ignore[misc]  # torch is not typed here
    """Encodes batches of tokens as vectors u, one per text. They are not of unit length; `unit` scales them.

    Example:
        >>> encoder = TinyEncoder(16)
        >>> ids = torch.tensor(encoder.tokenizer.encode(["a dog"], max_tokens=8))
        >>> encoder(ids, torch.ones_like(ids, dtype=torch.bool)).shape
        torch.Size([1, 16])
    """

    dim: int
    tokenizer: Tokenizer
    most_tokens: int | None = None  # the most tokens of a text; None if there is no limit

    @abstractmethod
    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of packed texts; see `tokens.Packed`."""

    @abstractmethod
    def state(self) -> State:
        """Everything the store needs."""


class TinyEncoder(Encoder):
    """The mean of the embeddings of a text's words: for tests, and for first trials on a CPU.

    Example:
        >>> TinyEncoder(dim=8).dim
        8
    """

    def __init__(self, dim: int = TINY_DIM, n_words: int = _TINY_WORDS) -> None:
        super().__init__()
        self.dim = dim
        self.tokenizer: WordHasher = WordHasher(n_words)
        self.words = nn.Embedding(n_words, dim)
        self.eval()

    def forward(self, ids: Any, real: Any) -> Any:
        """u, texts × dim."""
        return mean_pooled(self.words(ids), real)

    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of packed texts."""
        return packed_mean(self.words(ids), owners, bounds)

    def state(self) -> State:
        """Everything the store needs."""
        arrays = {"words": self.words.weight.detach().cpu().numpy()}
        return State("tiny", {}, {"dim": self.dim, "words": self.tokenizer.n_tokens}, arrays=arrays)


class CheckpointEncoder(Encoder):
    """A model of the library transformers with the tokenizer it was trained with.

    Example:
        >>> from tokenizers import Tokenizer, models
        >>> from transformers import BertConfig, BertModel
        >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
        >>> words = SubwordTokenizer(Tokenizer(models.WordLevel({"?": 0, "dog": 1}, unk_token="?")).to_str(), pad_id=0)
        >>> encoder = CheckpointEncoder(BertModel(BertConfig(vocab_size=2, **sizes)), words)
        >>> encoder(torch.tensor([[1]]), torch.tensor([[True]])).shape
        torch.Size([1, 8])
    """

    def __init__(self, model: Any, tokenizer: SubwordTokenizer, pooling: str = "mean") -> None:
        super().__init__()
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # it is for another task and is not trained here
        self.model = model.float()  # weights must not be rounded to half precision, even if the checkpoint's are
        self.tokenizer: SubwordTokenizer = tokenizer
        self.pooling = pooling
        self.dim = int(model.config.hidden_size)
        self.first_position, self.most_tokens = _positions(model)
        if not 0 <= tokenizer.pad_id <= tokenizer.highest_id < model.config.vocab_size:
            raise LabelwoodError(
                f"the tokenizer has tokens up to {tokenizer.highest_id} and {tokenizer.pad_id} for padding, but the "
                f"encoder has {model.config.vocab_size}: give a checkpoint whose files belong together"
            )
        self.eval()  # like its model: dropout is only for training

    def forward(self, ids: Any, real: Any) -> Any:
        """u, texts × dim."""
        hidden = self.model(input_ids=ids, attention_mask=real.long()).last_hidden_state
        return mean_pooled(hidden, real) if self.pooling == "mean" else hidden[:, 0]

    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of packed texts; needs packed attention."""
        hidden = self.model(
            input_ids=ids[None],
            position_ids=self.first_position + positions[None],
            attention_mask=None,
            bounds=bounds,
            longest=longest,
        ).last_hidden_state[0]
        return packed_mean(hidden, owners, bounds) if self.pooling == "mean" else hidden[bounds[:-1]]

    def __setstate__(self, state: Any) -> None:
        """Registers packed attention if needed: transformers may not know it in a new process."""
        super().__setstate__(state)
        if self.model.config._attn_implementation == PACKED:
            register_packed_attention()

    def state(self) -> State:
        """Everything the store needs; the tokenizer's file is an array of bytes."""
        arrays = {name: tensor.detach().cpu().float().numpy() for name, tensor in self.model.state_dict().items()}
        arrays["tokenizer.json"] = np.frombuffer(self.tokenizer.text.encode(), np.uint8)
        facts = {"config": settings_from(self.model.config), "pooling": self.pooling, "pad_id": self.tokenizer.pad_id}
        return State("checkpoint", {}, facts, arrays=arrays)


def unit(vectors: Any) -> Any:
    """Scales vectors to unit length, in single precision.

    Example:
        >>> unit(torch.tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    return nn.functional.normalize(vectors.float(), dim=1)


def mean_pooled(hidden: Any, real: Any) -> Any:
    """The mean over the real tokens of each text.

    Example:
        >>> mean_pooled(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[True, True, False]])).tolist()
        [[3.0]]
    """
    weights = real[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def packed_mean(hidden: Any, owners: Any, bounds: Any) -> Any:
    """The mean over the tokens of each packed text.

    Example:
        >>> hidden = torch.tensor([[2.0], [4.0], [9.0]])
        >>> packed_mean(hidden, torch.tensor([0, 0, 1]), torch.tensor([0, 2, 3])).tolist()
        [[3.0], [9.0]]
    """
    sums = hidden.new_zeros(len(bounds) - 1, hidden.shape[1], dtype=torch.float32)
    return sums.index_add_(0, owners, hidden.float()) / bounds.diff().clamp(min=1)[:, None]


def check_tokens(encoder: Encoder, settings: EncoderSettings) -> None:
    """Raises `ParameterError` if texts may have more tokens than the encoder has positions.

    Example:
        >>> check_tokens(TinyEncoder(), EncoderSettings(max_tokens=100_000))
    """
    asked = max(settings.max_tokens, settings.max_label_tokens or 0)
    if encoder.most_tokens is not None and asked > encoder.most_tokens:
        raise ParameterError(
            f"encoder.max_tokens or max_label_tokens is {asked}, but this encoder reads texts of at most "
            f"{encoder.most_tokens} tokens: give a smaller number"
        )


def encoder_from_state(state: State) -> Encoder:
    """The saved encoder; raises `ModelError` if its parts contradict each other.

    Example:
        >>> encoder_from_state(TinyEncoder(dim=4).state()).dim
        4
    """
    if state.kind == "tiny":
        dim, n_words = state.count("dim"), state.count("words")
        words = state.array("words", np.float32, 2)
        if words.shape != (n_words, dim) or n_words < 3:
            raise ModelError("the encoder's number of words is wrong: save the model again")
        encoder: Encoder = TinyEncoder(dim, n_words)
        load_weights(encoder, {"words.weight": words}, verify=state.verify)
        return encoder
    if state.kind != "checkpoint":
        raise ModelError(f"this Labelwood has no encoder of the kind {state.kind!r}: install a newer one")
    return _checkpoint_from(state)


def load_weights(module: Any, arrays: Mapping[str, NDArray[Any]], *, verify: bool) -> None:
    """Loads weights into a module; missing or additional weights and other shapes are an error.

    Example:
        >>> load_weights(nn.Linear(1, 1), {"weight": np.ones((1, 1), np.float32)}, verify=True)
        Traceback (most recent call last):
        ...
        labelwood.errors.ModelError: the model's weights 'bias' are missing or of another shape: save the model again
    """
    own = module.state_dict()
    for name in sorted(own.keys() | arrays.keys()):
        array = arrays.get(name)
        if name not in own or array is None or tuple(own[name].shape) != array.shape:
            raise ModelError(f"the model's weights {name!r} are missing or of another shape: save the model again")
        if verify and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"the model's weights {name!r} are not all finite: save the model again")
    if own and next(iter(own.values())).device.type != "meta":
        module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})


def _positions(model: Any) -> tuple[int, int | None]:
    """The first position, and the most tokens of a text: None if positions have no vectors."""
    embeddings = getattr(model, "embeddings", None)
    padding = getattr(embeddings, "padding_idx", None)
    first = 0 if padding is None else int(padding) + 1  # RoBERTa and similar models count from after the padding
    table = getattr(embeddings, "position_embeddings", None)
    return first, int(table.num_embeddings) - first if isinstance(table, nn.Embedding) else None


def _checkpoint_from(state: State) -> Encoder:
    arrays = dict(state.arrays)
    text = arrays.pop("tokenizer.json", np.empty((0, 0), np.uint8))
    config, pad_id, pooling = state.fitted.get("config"), state.fitted.get("pad_id"), str(state.fitted.get("pooling"))
    if not isinstance(config, dict):
        raise ModelError("the encoder's configuration is missing: save the model again")
    if text.dtype != np.uint8 or text.ndim != 1 or type(pad_id) is not int or pooling not in get_args(Pooling):
        raise ModelError("the encoder's tokenizer or pooling is missing: save the model again")
    try:
        settings = check_config(config, {name: array.shape for name, array in arrays.items()})
        tokenizer = SubwordTokenizer(text.tobytes().decode(), pad_id=pad_id)
        # First without memory: this detects missing weights before any memory is allocated for them.
        with torch.device("meta"):
            skeleton = CheckpointEncoder(new_model(settings), tokenizer, pooling)
        load_weights(skeleton.model, arrays, verify=state.verify)
        encoder = CheckpointEncoder(new_model(settings), tokenizer, pooling)
        load_weights(encoder.model, arrays, verify=False)
        _check_output(encoder)
    except ModelError:
        raise
    except Exception as e:  # our errors, and whatever transformers raises for unusual sizes
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise ModelError(f"the encoder cannot be restored from its files ({reason}): save the model again") from None
    return encoder


def _check_output(encoder: CheckpointEncoder) -> None:
    """Encodes a short text: settings can contradict each other even if each one is valid."""
    n = 8 if encoder.most_tokens is None else min(8, encoder.most_tokens)
    ids = torch.full((1, n), encoder.tokenizer.highest_id)
    with torch.no_grad():
        shape = tuple(encoder(ids, torch.ones_like(ids, dtype=torch.bool)).shape)
    if shape != (1, encoder.dim):
        raise ModelError(f"the encoder gives no vectors of {encoder.dim} numbers: save the model again")
