"""What is not in the wheel: experiments, a folder a paper, and benchmarks. Run as `python -m lab.…`."""
