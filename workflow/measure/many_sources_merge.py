"""Join the files of all datasets, results/many_sources/<dataset>.csv, into results/many_sources.csv.

python -m workflow.measure.many_sources_merge --measurements results/many_sources/nyc.csv --out FILE.csv
"""

import argparse
from pathlib import Path

from workflow import step
from workflow.views.many_sources_table import SCHEMA


def main(args: argparse.Namespace) -> None:
    SCHEMA.write(SCHEMA.text(args.measurements), args.out)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--measurements", type=Path, nargs="+", required=True, metavar="FILE.csv")
    arguments.add_argument("--out", type=Path, required=True, metavar="FILE.csv")
    step.run(main, arguments)
