"""The libraries Labelwood is compared with: their environments, their settings and how each is driven."""
