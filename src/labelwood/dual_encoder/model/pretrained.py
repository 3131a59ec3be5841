"""An encoder from a checkpoint of others: its weights, its settings and its tokenizer, and none of its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

import torch
from safetensors import SafetensorError, safe_open

from labelwood.dual_encoder.model.architectures import checked_config, known_settings, model_class, new_config
from labelwood.dual_encoder.model.checkpoint_files import CheckpointFiles, read_json
from labelwood.dual_encoder.model.encoder import TINY_DIM, CheckpointEncoder, Encoder, TinyEncoder, check_tokens
from labelwood.dual_encoder.model.sentence_modules import SentenceModules
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.settings import NO_PLACE, EncoderSettings, Pooling
from labelwood.errors import LabelwoodError, ParameterError

_LARGEST = 10_000_000  # of any dimension


def load_encoder(settings: EncoderSettings) -> Encoder:
    """The encoder that the settings name: "tiny", "tiny:32", a folder of a checkpoint, or its name on the hub.

    Only safetensors weights are read, and no code that comes with a checkpoint is run. An encoder that could not be
    loaded again from a saved model is refused here, before anything is learned.

    Example:
        >>> load_encoder(EncoderSettings(checkpoint="tiny:32")).dim
        32
    """
    if settings.is_tiny:
        dim = settings.checkpoint.partition(":")[2]
        if not (dim or str(TINY_DIM)).isdecimal() or not 1 <= int(dim or TINY_DIM) <= _LARGEST:
            raise ParameterError(f'encoder.checkpoint is {settings.checkpoint!r}: write "tiny" or, say, "tiny:32"')
        return TinyEncoder(int(dim or TINY_DIM))
    if settings.checkpoint.startswith(NO_PLACE):
        raise ParameterError(
            f"the model learned with an encoder in a folder {settings.checkpoint.removeprefix(NO_PLACE)!r}, and does "
            "not say where that was: set encoder.checkpoint to its place"
        )
    modules = SentenceModules.of(settings.checkpoint)
    pooling = _pooling(settings, modules)
    files = CheckpointFiles(settings.checkpoint, modules.transformer)
    weights, config = _weights(files), read_json(files.read("config.json"))
    try:
        model = _model(settings.checkpoint, known_settings(config), weights)
    except ValueError as e:
        raise LabelwoodError(f"the encoder {settings.checkpoint!r} cannot be used: {e}; give another one") from None
    words = _tokenizer(files, pad_id=int(model.config.pad_token_id or 0))
    encoder = CheckpointEncoder(model, words, pooling)
    check_tokens(encoder, settings)
    _try(encoder, settings)
    return encoder


def _weights(files: CheckpointFiles) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in files.weights():
        try:
            with safe_open(path, "pt") as file:
                found |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as e:
            raise LabelwoodError(
                f"{path} cannot be read as safetensors weights ({e}): give another checkpoint"
            ) from None
    return found


def _model(checkpoint: str, config: Mapping[str, Any], weights: Mapping[str, Any]) -> Any:
    """The model with its weights, of which none may be lacking; transformers knows their older names."""
    kind = model_class(config)
    prefix = f"{kind.base_model_prefix}."
    settings = checked_config(config, {name.removeprefix(prefix): tuple(w.shape) for name, w in weights.items()})
    # The state is at hand, so that nothing is looked for: no file of an adapter, nothing on the hub.
    arguments = {"config": new_config(settings), "state_dict": dict(weights), "dtype": torch.float32}
    try:
        with _quiet():
            model, report = kind.from_pretrained(None, output_loading_info=True, **arguments)
    except (RuntimeError, TypeError) as e:
        raise ValueError(str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__) from None
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name.split("."))  # which is not used
    if missing:
        raise LabelwoodError(
            f"the encoder {checkpoint!r} lacks {missing[0]!r} and would have it at random: "
            "give a checkpoint with all weights"
        )
    return model


def _tokenizer(files: CheckpointFiles, pad_id: int) -> SubwordTokenizer:
    file = files.find("tokenizer.json")
    if file is None:
        raise LabelwoodError(
            f"the encoder {files.checkpoint!r} has no {files.name('tokenizer.json')}: save one with its tokenizer"
        )
    try:
        return SubwordTokenizer(file.read_text(encoding="utf-8"), pad_id=pad_id)
    except (OSError, UnicodeDecodeError) as e:
        raise LabelwoodError(f"{file} cannot be read ({e}): give another checkpoint") from None


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
