"""Attacks Labelwood and writes what came of it: python -m attack.run [--minutes M] [--seed S] [--page FILE] [NAME …].

A failure is printed with the command that repeats it alone: python -m attack.run --only NAME --case N --seed S.
"""

import sys

from attack.main import main

if __name__ == "__main__":
    sys.exit(main())
