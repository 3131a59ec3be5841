"""Speed and memory of Labelwood, beside others and from version to version."""
