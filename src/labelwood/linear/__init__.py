"""Linear classifiers on a label tree: how they are trained, searched, stored and combined."""
