"""How a dual encoder learns."""
