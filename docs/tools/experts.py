"""Makes the table of experts and crowd in docs/start/panel-worth.md: experts.py SUMMEVAL.csv.gz

SummEval (Fabbri and others, 2021, MIT): the columns doc_id, system_id, rater, dimension, score.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pandas as pd

import areopagus

PAGE = Path(__file__).parents[1] / "start" / "panel-worth.md"


def experts_and_crowd(file: Path) -> str:
    """Agreement of experts and of crowd workers with each other, by dimension."""
    frame = pd.read_csv(file)
    frame["response_id"] = frame["doc_id"] + "/" + frame["system_id"]
    names = {"doc_id": "prompt_id", "system_id": "source", "dimension": "criterion"}
    frame = frame.rename(columns={**names, "score": "value"})
    figures = {}
    with tempfile.TemporaryDirectory() as work:
        for group in ("expert", "turker"):
            part = Path(work) / f"{group}.csv"
            frame[frame["rater"].str.startswith(group)].to_csv(part, index=False)
            estimates = areopagus.agreement(part).estimates
            people = estimates[estimates["table"] == "people"]
            figures[group] = people.set_index(["criterion", "measure"])
    lines = ["| dimension | experts: tau of two within a document | crowd |", "| --- | --- | --- |"]
    for name in frame["criterion"].unique():
        rows = [figures[group].loc[(name, "tau")] for group in figures]
        cells = [f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    block = re.compile(r"(<!-- experts -->\n).*?(<!-- end -->)", re.DOTALL)
    table = experts_and_crowd(Path(sys.argv[1]))
    PAGE.write_text(block.sub(rf"\g<1>{table}\n\g<2>", PAGE.read_text(encoding="utf-8")))
