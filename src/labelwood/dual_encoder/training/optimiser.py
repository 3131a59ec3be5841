"""AdamW with the parameter groups and the learning rate schedule of dual encoders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from labelwood.dual_encoder.settings import TrainingSettings
from labelwood.errors import ModelError

_WARM_UP = 100  # steps, unless training is short
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Optimiser:
    """AdamW without decay of biases, layer norms and free vectors; linear warm-up, then linear decay to zero.

    Example:
        >>> layer = torch.nn.Linear(2, 1)
        >>> optimiser = Optimiser(layer, TrainingSettings(learning_rate=1.0, warm_up=2.0), total_steps=4)
        >>> [optimiser.rate(step) for step in range(5)]
        [0.5, 1.0, 1.0, 0.5, 0.0]
    """

    def __init__(self, network: Any, settings: TrainingSettings, *, total_steps: int) -> None:
        self.settings = settings
        self.total_steps = total_steps
        self.warm_up = min(self._warm_up(), total_steps)
        self.names: list[str] = []
        device = next(network.parameters()).device
        on_gpu = device.type == "cuda"  # then one kernel updates all weights and can be recorded
        groups = self._groups(network)
        self._adam = torch.optim.AdamW(
            groups, lr=settings.learning_rate, eps=settings.epsilon, fused=on_gpu, capturable=on_gpu
        )
        self._peaks = [group["lr"] for group in self._adam.param_groups]
        for group in self._adam.param_groups if on_gpu else ():
            group["lr"] = torch.tensor(group["lr"], device=device)  # recorded steps read it from here

    def _warm_up(self) -> int:
        asked = self.settings.warm_up
        if asked is None:
            return min(_WARM_UP, round(self.total_steps / 10))
        return round(asked if asked >= 1 else asked * self.total_steps)

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        s = self.settings
        groups: dict[tuple[bool, bool], list[tuple[str, Any]]] = {}
        for name, parameter in network.named_parameters():
            decays = parameter.ndim > 1 and not name.endswith("bank")
            groups.setdefault((name.startswith("encoder."), decays), []).append((name, parameter))
        self.names = [name for members in groups.values() for name, _ in members]
        return [
            {
                "params": [parameter for _, parameter in members],
                "weight_decay": s.weight_decay if decays else 0.0,
                "lr": s.learning_rate if of_encoder else s.prototype_learning_rate or s.learning_rate,
            }
            for (of_encoder, decays), members in groups.items()
        ]

    def rate(self, step: int) -> float:
        """The factor of the learning rate in a step, counted from 0."""
        if step < self.warm_up:
            return (step + 1) / self.warm_up
        return max(0.0, (self.total_steps - step) / max(1, self.total_steps - self.warm_up))

    def set_rates(self, step: int) -> None:
        """Sets the learning rates of a step, counted from 0."""
        for group, peak in zip(self._adam.param_groups, self._peaks, strict=True):
            rate = peak * self.rate(step)
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def step(self, scaler: Any) -> None:
        """Updates the weights by the accumulated gradient and clears it."""
        scaler.step(self._adam)
        scaler.update()
        self._adam.zero_grad(set_to_none=True)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The moments of all parameters by name."""
        state = self._adam.state_dict()["state"]
        return {
            f"{self.names[i]}.{moment}": values[moment].cpu().numpy()
            for i, values in state.items()
            for moment in _MOMENTS
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restores the moments that `arrays` returned."""
        state: dict[int, dict[str, Any]] = {}
        for i, name in enumerate(self.names):
            found = {m: arrays[f"{name}.{m}"] for m in _MOMENTS if f"{name}.{m}" in arrays}
            if found.keys() != set(_MOMENTS) and found:
                raise ModelError(f"the checkpoint lacks a moment of {name}: remove it to start again")
            if found:
                state[i] = {m: torch.from_numpy(np.array(values)) for m, values in found.items()}
        self._adam.load_state_dict({"state": state, "param_groups": self._adam.state_dict()["param_groups"]})
