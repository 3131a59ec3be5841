"""What makes learning fast on GPUs, one or several."""
