"""Tokens to vectors: a transformer from a checkpoint, or a small one of our own."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.prime.packing import PACKED, register_packed_attention
from labelwood.prime.sentence_modules import SentenceModules
from labelwood.prime.settings import EncoderSettings, Pooling
from labelwood.prime.tokenizer import SubwordTokenizer, Tokenizer, WordHasher
from labelwood.store.state import State

_TINY_WORDS = 8192
_TINY_DIM = 64
_LARGEST = 10_000_000  # any size in the configuration of an encoder that anybody has
_REPEATED = ("layer", "blocks", "experts", "groups", "stages", "depth")  # names of counts of parts that have weights


class Encoder(nn.Module, ABC):  # type: ignore[misc]  # torch is not typed here
    """Turns batches of tokens into vectors u, one a text and not of unit length; `unit` scales them.

    Example:
        >>> encoder = load_encoder(EncoderSettings(checkpoint="tiny:16"))
        >>> ids = torch.tensor(encoder.tokenizer.encode(["a dog"], max_tokens=8))
        >>> encoder(ids, torch.ones_like(ids, dtype=torch.bool)).shape
        torch.Size([1, 16])
    """

    dim: int
    tokenizer: Tokenizer
    most_tokens: int | None = None  # that a text can have; None where there is no limit

    @abstractmethod
    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of texts that are end to end; see `tokens.Packed`."""

    @abstractmethod
    def state(self) -> State:
        """Everything the store needs."""


class TinyEncoder(Encoder):
    """The mean of the embeddings of a text's words: for tests, and for a first impression on a CPU.

    Example:
        >>> TinyEncoder(dim=8).dim
        8
    """

    def __init__(self, dim: int = _TINY_DIM, n_words: int = _TINY_WORDS) -> None:
        super().__init__()
        self.dim = dim
        self.tokenizer: WordHasher = WordHasher(n_words)
        self.words = nn.Embedding(n_words, dim)
        self.eval()

    def forward(self, ids: Any, real: Any) -> Any:
        """u, texts × dim."""
        return mean_pooled(self.words(ids), real)

    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of texts that are end to end."""
        return packed_mean(self.words(ids), owners, bounds)

    def state(self) -> State:
        """Everything the store needs."""
        arrays = {"words": self.words.weight.detach().cpu().numpy()}
        return State("tiny", {}, {"dim": self.dim, "words": self.tokenizer.n_tokens}, arrays=arrays)


class CheckpointEncoder(Encoder):
    """A transformer of the library transformers with the tokenizer it was trained with.

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
            model.pooler = None  # made for another task, and learned by none of ours
        self.model = model.float()  # whatever its checkpoint was kept in: what is learned must not be rounded to that
        self.tokenizer: SubwordTokenizer = tokenizer
        self.pooling = pooling
        self.dim = int(model.config.hidden_size)
        self.first_position, self.most_tokens = _positions(model)
        if not 0 <= tokenizer.pad_id <= tokenizer.highest_id < model.config.vocab_size:
            raise LabelwoodError(
                f"the tokenizer's tokens go to {tokenizer.highest_id} with {tokenizer.pad_id} for padding, and the "
                f"encoder has {model.config.vocab_size}: give a checkpoint whose files belong together"
            )
        self.eval()  # as its model is: dropout is for training

    def forward(self, ids: Any, real: Any) -> Any:
        """u, texts × dim."""
        hidden = self.model(input_ids=ids, attention_mask=real.long()).last_hidden_state
        return mean_pooled(hidden, real) if self.pooling == "mean" else hidden[:, 0]

    def packed(self, ids: Any, positions: Any, owners: Any, bounds: Any, longest: int) -> Any:
        """u of texts that are end to end; needs packed attention."""
        hidden = self.model(
            input_ids=ids[None],
            position_ids=self.first_position + positions[None],
            attention_mask=None,
            bounds=bounds,
            longest=longest,
        ).last_hidden_state[0]
        return packed_mean(hidden, owners, bounds) if self.pooling == "mean" else hidden[bounds[:-1]]

    def __setstate__(self, state: Any) -> None:
        """In another process transformers may have yet to know the attention that this encoder uses."""
        super().__setstate__(state)
        if self.model.config._attn_implementation == PACKED:
            register_packed_attention()

    def state(self) -> State:
        """Everything the store needs; the tokenizer's file is an array of bytes."""
        config = json.loads(self.model.config.to_json_string(use_diff=False))
        arrays = {name: tensor.detach().cpu().float().numpy() for name, tensor in self.model.state_dict().items()}
        arrays["tokenizer.json"] = np.frombuffer(self.tokenizer.text.encode(), np.uint8)
        facts = {"config": config, "pooling": self.pooling, "pad_id": self.tokenizer.pad_id}
        return State("checkpoint", {}, facts, arrays=arrays)


def unit(vectors: Any) -> Any:
    """Vectors of unit length, in single precision.

    Example:
        >>> unit(torch.tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    return nn.functional.normalize(vectors.float(), dim=1)


def mean_pooled(hidden: Any, real: Any) -> Any:
    """The mean over the tokens that are real.

    Example:
        >>> mean_pooled(torch.tensor([[[2.0], [4.0], [9.0]]]), torch.tensor([[True, True, False]])).tolist()
        [[3.0]]
    """
    weights = real[:, :, None].to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def packed_mean(hidden: Any, owners: Any, bounds: Any) -> Any:
    """The mean over the tokens of each text, texts end to end.

    Example:
        >>> hidden = torch.tensor([[2.0], [4.0], [9.0]])
        >>> packed_mean(hidden, torch.tensor([0, 0, 1]), torch.tensor([0, 2, 3])).tolist()
        [[3.0], [9.0]]
    """
    sums = hidden.new_zeros(len(bounds) - 1, hidden.shape[1], dtype=torch.float32)
    return sums.index_add_(0, owners, hidden.float()) / bounds.diff().clamp(min=1)[:, None]


def load_encoder(settings: EncoderSettings) -> Encoder:
    """The encoder that the settings name: "tiny", "tiny:32", a folder of a checkpoint, or its name on the hub.

    Only safetensors weights are read, and no code that comes with a checkpoint is run.

    Example:
        >>> load_encoder(EncoderSettings(checkpoint="tiny:32")).dim
        32
    """
    if settings.is_tiny:
        dim = settings.checkpoint.partition(":")[2]
        if not (dim or str(_TINY_DIM)).isdecimal() or not 1 <= int(dim or _TINY_DIM) <= _LARGEST:
            raise ParameterError(f'encoder.checkpoint is {settings.checkpoint!r}: write "tiny" or, say, "tiny:32"')
        return TinyEncoder(int(dim or _TINY_DIM))
    from transformers import AutoModel, AutoTokenizer

    modules = SentenceModules.of(settings.checkpoint)
    pooling = _pooling(settings, modules)
    place: dict[str, Any] = {
        "pretrained_model_name_or_path": settings.checkpoint,
        "subfolder": modules.transformer,
        "trust_remote_code": False,
    }
    try:
        with _quiet():
            model, report = AutoModel.from_pretrained(**place, use_safetensors=True, output_loading_info=True)
            tokenizer = AutoTokenizer.from_pretrained(**place, use_fast=True)
    except (OSError, ValueError, ImportError) as e:
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} cannot be loaded ({reason}): "
            "give the folder of a checkpoint with safetensors weights, or a name that the hub knows"
        ) from None
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name.split("."))  # which is not used
    if missing:
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} lacks {missing[0]!r} and would have it at random: "
            "give a checkpoint with all weights"
        )
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise LabelwoodError(f"the encoder {settings.checkpoint!r} has no tokenizer.json: save one with its tokenizer")
    words = SubwordTokenizer(tokenizer.backend_tokenizer.to_str(), pad_id=int(model.config.pad_token_id or 0))
    encoder = CheckpointEncoder(model, words, pooling)
    check_tokens(encoder, settings)
    _try(encoder, settings)
    return encoder


def _pooling(settings: EncoderSettings, modules: SentenceModules) -> str:
    """As is wanted, or as the checkpoint does."""
    pooling = settings.pooling or modules.pooling
    if pooling not in get_args(Pooling):
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} pools its tokens by {pooling}, which is not known here: "
            'set encoder.pooling to "mean" or "cls"'
        )
    return pooling


def _try(encoder: Encoder, settings: EncoderSettings) -> None:
    """Reads a text of as many tokens as there may be, since not every encoder says how many it can read."""
    n_tokens = max(settings.max_tokens, settings.max_label_tokens or 0)
    ids = torch.full((1, n_tokens), encoder.tokenizer.pad_id)
    try:
        with torch.inference_mode():
            encoder(ids, torch.ones_like(ids, dtype=torch.bool))
    except Exception as e:  # whatever its code raises
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} cannot read a text of {n_tokens} tokens ({reason}): "
            "give another encoder, or smaller encoder.max_tokens and max_label_tokens"
        ) from None


def check_tokens(encoder: Encoder, settings: EncoderSettings) -> None:
    """Raises `ParameterError` if texts may have more tokens than the encoder has positions.

    Example:
        >>> check_tokens(TinyEncoder(), EncoderSettings(max_tokens=100_000))
    """
    asked = max(settings.max_tokens, settings.max_label_tokens or 0)
    if encoder.most_tokens is not None and asked > encoder.most_tokens:
        raise ParameterError(
            f"encoder.max_tokens or max_label_tokens is {asked}, and this encoder reads texts of at most "
            f"{encoder.most_tokens} tokens: give a smaller number"
        )


def encoder_from_state(state: State) -> Encoder:
    """The encoder that was saved; raises `ModelError` where its parts contradict each other.

    Example:
        >>> encoder_from_state(TinyEncoder(dim=4).state()).dim
        4
    """
    if state.kind == "tiny":
        dim, n_words = state.count("dim"), state.count("words")
        words = state.array("words", np.float32, 2)
        if words.shape != (n_words, dim) or n_words < 3:
            raise ModelError("the encoder's words are not as many as it says: save the model again")
        encoder: Encoder = TinyEncoder(dim, n_words)
        load_weights(encoder, {"words.weight": words}, verify=state.verify)
        return encoder
    if state.kind != "checkpoint":
        raise ModelError(f"this Labelwood has no encoder of the kind {state.kind!r}: install a newer one")
    return _checkpoint_from(state)


def load_weights(module: Any, arrays: Mapping[str, NDArray[Any]], *, verify: bool) -> None:
    """Fills a module with exactly its weights; others, or ones of another shape, are an error.

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


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars of transformers, and its report of weights that we do not use."""
    from transformers.utils import logging

    was_shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if was_shown:
            logging.enable_progress_bar()


def _positions(model: Any) -> tuple[int, int | None]:
    """The first position, and how many tokens a text can have: as many as wanted where positions have no vectors."""
    embeddings = getattr(model, "embeddings", None)
    padding = getattr(embeddings, "padding_idx", None)
    first = 0 if padding is None else int(padding) + 1  # RoBERTa and its kin begin to count behind that of padding
    table = getattr(embeddings, "position_embeddings", None)
    return first, int(table.num_embeddings) - first if isinstance(table, nn.Embedding) else None


def _checkpoint_from(state: State) -> Encoder:
    from transformers import AutoModel

    config = _config_from(state)
    arrays = dict(state.arrays)
    text = arrays.pop("tokenizer.json", np.empty((0, 0), np.uint8))
    pad_id, pooling = state.fitted.get("pad_id"), str(state.fitted.get("pooling"))
    if text.dtype != np.uint8 or text.ndim != 1 or type(pad_id) is not int or pooling not in get_args(Pooling):
        raise ModelError("the encoder's tokenizer or pooling is missing: save the model again")
    try:
        tokenizer = SubwordTokenizer(text.tobytes().decode(), pad_id=pad_id)
        # Without memory first: a file that asks for weights it does not hold is found out before they are made.
        with torch.device("meta"):
            frame = CheckpointEncoder(AutoModel.from_config(config, trust_remote_code=False), tokenizer, pooling)
        load_weights(frame.model, arrays, verify=state.verify)
        encoder = CheckpointEncoder(AutoModel.from_config(config, trust_remote_code=False), tokenizer, pooling)
    except ModelError:
        raise
    except Exception as e:  # tokenizers raises plain Exception, and transformers whatever a strange size leads to
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise ModelError(f"the encoder cannot be made from its files ({reason}): save the model again") from None
    load_weights(encoder.model, arrays, verify=False)
    return encoder


def _config_from(state: State) -> Any:
    from transformers import AutoConfig

    config = state.fitted.get("config")
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ModelError("the encoder's configuration is missing: save the model again")
    _check_config(config, len(state.arrays))
    try:
        return AutoConfig.for_model(**config)
    except Exception as e:  # an unknown kind of model, or a value that its configuration refuses
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise ModelError(f"the encoder's configuration cannot be used ({reason}): save the model again") from None


def _check_config(config: Mapping[str, Any], n_arrays: int) -> None:
    """Refuses what could run code, and sizes that take long to find out to be wrong."""
    for name, value in config.items():
        # The name of an implementation can be that of a package on the hub, which would be fetched and run.
        if value and (name in ("auto_map", "quantization_config") or "implementation" in name):
            raise ModelError(
                f"the encoder's configuration asks for code of its own ({name}): load only models with known encoders"
            )
        if isinstance(value, dict):
            _check_config(value, n_arrays)
        most = n_arrays if any(word in name for word in _REPEATED) else _LARGEST
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and not isinstance(number, bool) and number > most:
                raise ModelError(
                    f"the encoder's {name} is {number}, which its weights do not bear out: save the model again"
                )
