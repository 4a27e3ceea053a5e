"""The benchmarks are scripts that import each other; their tests import them the same way."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
