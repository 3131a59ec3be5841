"""Makes training fast on one or several GPUs."""
