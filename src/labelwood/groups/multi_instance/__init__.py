"""Networks that learn from bags of instances: Deep-MIML and its variant with co-attention.

`bags` checks the input, `network` computes the answers of a trained network in NumPy, `training` trains a network with
torch, and `classifier` brings them together. Only `training` needs torch.
"""

from labelwood.groups.multi_instance.classifier import MultiInstanceClassifier

__all__ = ["MultiInstanceClassifier"]
