"""Attacks on Labelwood: `make attack` runs them, writes docs/results/attacks.md. `protocol` says what an attack is."""
