"""Loads a pretrained encoder: the weights, settings and tokenizer of a checkpoint, but none of its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

import torch
from safetensors import SafetensorError, safe_open

from labelwood.dual_encoder.model.architectures import check_config, known_settings, model_class, new_config
from labelwood.dual_encoder.model.checkpoint_files import CheckpointFiles, read_json
from labelwood.dual_encoder.model.encoder import TINY_DIM, CheckpointEncoder, Encoder, TinyEncoder, check_tokens
from labelwood.dual_encoder.model.sentence_modules import SentenceModules
from labelwood.dual_encoder.model.tokenizer import SubwordTokenizer
from labelwood.dual_encoder.settings import NO_PLACE, EncoderSettings, Pooling
from labelwood.errors import LabelwoodError, ParameterError

_LARGEST = 10_000_000  # limit of dimensions


def load_encoder(settings: EncoderSettings) -> Encoder:
    """The encoder that the settings name: "tiny", "tiny:32", the folder of a checkpoint, or its name on the hub.

    It reads only safetensors weights, and runs no code of the checkpoint. If an encoder could not be loaded again from
    a saved model, it is refused here, before training.

    Example:
        >>> load_encoder(EncoderSettings(checkpoint="tiny:32")).dim
        32
    """
    if settings.is_tiny:
        dim = settings.checkpoint.partition(":")[2]
        if not (dim or str(TINY_DIM)).isdecimal() or not 1 <= int(dim or TINY_DIM) <= _LARGEST:
            raise ParameterError(
                f'encoder.checkpoint is {settings.checkpoint!r}: write "tiny", or "tiny:32" for example'
            )
        return TinyEncoder(int(dim or TINY_DIM))
    if settings.checkpoint.startswith(NO_PLACE):
        raise ParameterError(
            f"the model was trained with an encoder in a folder {settings.checkpoint.removeprefix(NO_PLACE)!r}, and "
            "does not say where it was: set encoder.checkpoint to its path"
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
    _check_length(encoder, settings)
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
    """The model with its weights; none may be missing. transformers translates old names of weights."""
    kind = model_class(config)
    prefix = f"{kind.base_model_prefix}."
    settings = check_config(config, {name.removeprefix(prefix): tuple(w.shape) for name, w in weights.items()})
    # The weights are given as arguments, so transformers does not look for files or use the hub.
    arguments = {"config": new_config(settings), "state_dict": dict(weights), "dtype": torch.float32}
    try:
        with _quiet():
            model, report = kind.from_pretrained(None, output_loading_info=True, **arguments)
    except (RuntimeError, TypeError) as e:
        raise ValueError(str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__) from None
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name.split("."))  # not used
    if missing:
        raise LabelwoodError(
            f"the encoder {checkpoint!r} lacks the weights {missing[0]!r}, which would be random: "
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
    """The pooling of the settings, or else that of the checkpoint."""
    pooling = settings.pooling or modules.pooling
    if pooling not in get_args(Pooling):
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} pools its tokens by {pooling}, which is not supported: "
            'set encoder.pooling to "mean" or "cls"'
        )
    return pooling


def _check_length(encoder: Encoder, settings: EncoderSettings) -> None:
    """Encodes a text of the largest length: not every encoder says how many tokens it can read."""
    n_tokens = max(settings.max_tokens, settings.max_label_tokens or 0)
    ids = torch.full((1, n_tokens), encoder.tokenizer.pad_id)
    try:
        with torch.inference_mode():
            encoder(ids, torch.ones_like(ids, dtype=torch.bool))
    except Exception as e:  # whatever transformers raises
        reason = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
        raise LabelwoodError(
            f"the encoder {settings.checkpoint!r} cannot read a text of {n_tokens} tokens ({reason}): "
            "give another encoder, or smaller encoder.max_tokens and max_label_tokens"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides the progress bars of transformers and its report of unused weights."""
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
