"""Runs a declared simulation and prints its table (see simulation.py).

    python benchmarks/simulate.py NAME [--worlds N] [--seed 0]

The simulations are the functions declared in benchmarks/simulations/.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from simulation import SIMULATIONS, table

for path in sorted((Path(__file__).parent / "simulations").glob("*.py")):
    importlib.import_module(f"simulations.{path.stem}")


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=sorted(SIMULATIONS))
    parser.add_argument("--worlds", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = SIMULATIONS[options.name]
    print(inspect.cleandoc(chosen.world.__doc__ or ""))
    print(f"{options.worlds or chosen.worlds} worlds a row\n")
    print(table(list(chosen.run(options.worlds, options.seed))))


if __name__ == "__main__":
    main()
