"""Attacks Labelwood and writes what came of it: python attack/run.py [--minutes M] [--seed S] [--page FILE] [NAME …].

A failure is printed with the command that repeats it alone: python attack/run.py --only NAME --case N --seed S.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    from attack.main import main

    sys.exit(main())
