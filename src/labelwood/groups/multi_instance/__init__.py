"""Networks that learn from bags of instances: Deep-MIML and its co-attention form.

`bags` checks what is passed in, `network` computes in NumPy what a trained network says, `training` teaches one with
torch, and `classifier` joins them. Only `training` needs torch.
"""

from labelwood.groups.multi_instance.classifier import MultiInstanceClassifier

__all__ = ["MultiInstanceClassifier"]
