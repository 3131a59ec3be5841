"""Attacks on Labelwood: `make attack` runs them and writes docs/attacks.md. `protocol` says what an attack is."""
