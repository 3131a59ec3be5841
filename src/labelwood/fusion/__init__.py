"""Several models that answer as one."""
