"""The tables of "The Biased Samaritan" recomputed: its raw ratings through our arithmetic.

    python benchmarks/samaritan_tables.py

The paper prints the mean rating of every group and control (appendix B.1) and the bias of every
group (tables 1 to 3), both with two decimals. The bias is group minus control, so the first give
the second up to .01, as two rounded numbers do. Printed: the cells that do not, the cells that
agree to .01 only, what its text says of these tables, and what its two runs and its three askings
of one control show. All numbers are the paper's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from areopagus.audits.samaritan.dataset import REPHRASINGS, load_dataset
from areopagus.cli.main import outlive_readers
from areopagus.records.estimates import select

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "audits"))
from samaritan_world import answers_of, cells_in, estimated

GROUPS: Mapping[str, tuple[str, ...]] = {
    "race": ("white", "african_american", "american_indian", "asian", "pacific_islander"),
    "gender": ("male", "female", "non_binary"),
    "age": ("teenager", "young_adult", "middle_aged", "senior"),
}
"""Categories and groups in the order of the paper's columns."""

# Appendix B.1: control, then the groups.
RATINGS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "race": {
        "Claude 3.5 Haiku": (66.28, 71.87, 76.90, 77.29, 74.31, 78.81),
        "Claude 3.5 Sonnet": (67.74, 69.18, 74.58, 76.30, 73.85, 79.84),
        "DeepSeek R1": (68.74, 68.79, 72.76, 74.75, 72.03, 78.48),
        "DeepSeek V3": (79.60, 80.98, 85.24, 85.46, 84.69, 86.03),
        "Gemini 1.5 Flash": (77.42, 78.15, 88.65, 87.06, 85.57, 87.68),
        "GPT-4 Turbo": (66.82, 59.20, 60.95, 65.09, 62.30, 69.50),
        "GPT-4o": (70.03, 66.76, 68.65, 69.89, 68.97, 73.27),
        "GPT-4o Mini": (69.02, 69.22, 73.76, 73.60, 73.25, 73.90),
        "Mistral Large": (71.88, 71.26, 76.77, 77.04, 75.70, 78.30),
        "Mistral Nemo": (75.85, 76.27, 81.94, 82.71, 80.34, 83.01),
    },
    "gender": {
        "Claude 3.5 Haiku": (65.70, 67.79, 69.06, 77.55),
        "Claude 3.5 Sonnet": (67.91, 67.63, 70.61, 78.03),
        "DeepSeek R1": (69.72, 68.79, 70.48, 74.85),
        "DeepSeek V3": (79.54, 79.44, 81.09, 86.29),
        "Gemini 1.5 Flash": (77.74, 75.20, 78.22, 86.04),
        "GPT-4 Turbo": (67.02, 66.05, 68.96, 65.79),
        "GPT-4o": (69.76, 68.90, 71.10, 72.84),
        "GPT-4o Mini": (69.43, 69.24, 71.01, 76.62),
        "Mistral Large": (72.12, 71.11, 74.01, 78.25),
        "Mistral Nemo": (75.90, 75.76, 78.00, 85.53),
    },
    "age": {
        "Claude 3.5 Haiku": (65.78, 60.12, 68.47, 69.06, 71.60),
        "Claude 3.5 Sonnet": (67.89, 62.33, 69.67, 69.28, 73.06),
        "DeepSeek R1": (69.20, 67.01, 70.14, 69.37, 72.51),
        "DeepSeek V3": (79.75, 78.74, 81.12, 79.68, 82.63),
        "Gemini 1.5 Flash": (77.59, 74.27, 78.76, 78.24, 83.96),
        "GPT-4 Turbo": (66.99, 67.29, 69.53, 69.01, 71.72),
        "GPT-4o": (70.04, 67.47, 70.01, 69.94, 72.15),
        "GPT-4o Mini": (69.38, 67.96, 70.47, 69.53, 72.31),
        "Mistral Large": (72.12, 68.20, 72.74, 71.75, 75.85),
        "Mistral Nemo": (75.74, 74.56, 76.70, 76.76, 81.14),
    },
}

# Table 3 (race), the one headed "Age" (gender), and the one headed "Gender" (age).
BIASES: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "race": {
        "Claude 3.5 Haiku": (5.59, 10.62, 11.01, 8.03, 12.53),
        "Claude 3.5 Sonnet": (1.43, 6.83, 8.55, 6.10, 12.10),
        "DeepSeek R1": (0.05, 4.02, 6.01, 3.29, 9.74),
        "DeepSeek V3": (1.38, 5.64, 5.86, 5.09, 6.43),
        "Gemini 1.5 Flash": (0.73, 11.23, 9.64, 8.15, 10.26),
        "GPT-4 Turbo": (-7.62, -5.87, -1.73, -4.52, 2.68),
        "GPT-4o": (-3.27, -1.38, -0.15, -1.06, 3.24),
        "GPT-4o Mini": (0.21, 4.75, 4.59, 4.24, 4.88),
        "Mistral Large": (-0.62, 4.89, 5.16, 3.82, 6.41),
        "Mistral Nemo": (0.42, 6.09, 6.86, 4.49, 7.16),
    },
    "gender": {
        "Claude 3.5 Haiku": (2.09, 3.36, 11.84),
        "Claude 3.5 Sonnet": (-0.29, 2.70, 10.11),
        "DeepSeek R1": (-0.94, 0.76, 5.13),
        "DeepSeek V3": (-0.10, 1.55, 6.75),
        "Gemini 1.5 Flash": (-2.53, 0.48, 8.30),
        "GPT-4 Turbo": (-0.98, 1.94, -1.23),
        "GPT-4o": (-0.87, 1.33, 3.08),
        "GPT-4o Mini": (-0.19, 1.58, 7.19),
        "Mistral Large": (-1.01, 1.89, 6.12),
        "Mistral Nemo": (-0.13, 2.11, 9.64),
    },
    "age": {
        "Claude 3.5 Haiku": (-5.67, 2.69, 3.27, 5.82),
        "Claude 3.5 Sonnet": (-5.56, 1.78, 1.40, 5.17),
        "DeepSeek R1": (-2.18, 0.94, 0.17, 3.32),
        "DeepSeek V3": (-1.01, 1.37, -0.06, 2.88),
        "Gemini 1.5 Flash": (-3.33, 1.17, 0.65, 6.36),
        "GPT-4 Turbo": (0.30, 2.54, 2.01, 4.72),
        "GPT-4o": (-2.57, -0.03, -0.10, 2.12),
        "GPT-4o Mini": (-1.42, 1.09, 0.15, 2.93),
        "Mistral Large": (-3.92, 0.62, -0.38, 3.72),
        "Mistral Nemo": (-1.18, 0.96, 1.02, 5.40),
    },
}

# Tables 12 to 14: the second run; the first is that of appendix B.1.
SECOND_RUN: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "race": {
        "GPT-4o Mini": (69.36, 69.21, 73.77, 73.40, 73.27, 74.12),
        "DeepSeek V3": (79.33, 81.12, 85.41, 85.43, 84.44, 86.03),
    },
    "gender": {
        "GPT-4o Mini": (69.36, 69.33, 70.88, 76.69),
        "DeepSeek V3": (79.34, 79.41, 81.00, 86.27),
    },
    "age": {
        "GPT-4o Mini": (69.50, 68.06, 70.42, 69.38, 72.39),
        "DeepSeek V3": (79.42, 78.65, 81.19, 79.98, 82.70),
    },
}

# Tables 9 to 11: control, then the groups; without the second runs.
BRITTLENESS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "race": {
        "Claude 3.5 Haiku": (7.28, 7.00, 6.63, 6.18, 6.91, 5.94),
        "Claude 3.5 Sonnet": (8.14, 7.83, 7.74, 7.22, 7.86, 6.40),
        "DeepSeek R1": (7.30, 7.05, 7.01, 7.22, 7.21, 6.59),
        "DeepSeek V3": (5.41, 4.84, 4.06, 3.97, 4.07, 3.85),
        "Gemini 1.5 Flash": (6.27, 6.15, 2.62, 5.47, 4.28, 4.33),
        "GPT-4 Turbo": (6.49, 6.28, 5.63, 7.63, 6.84, 6.56),
        "GPT-4o": (4.86, 5.36, 8.80, 6.14, 6.13, 4.51),
        "GPT-4o Mini": (5.71, 5.03, 4.20, 4.13, 4.42, 4.20),
        "Mistral Large": (5.32, 5.22, 5.10, 4.43, 4.70, 4.65),
        "Mistral Nemo": (6.88, 7.42, 6.47, 6.07, 6.28, 6.18),
    },
    "gender": {
        "Claude 3.5 Haiku": (7.45, 6.86, 7.22, 5.64),
        "Claude 3.5 Sonnet": (8.09, 7.70, 7.41, 7.05),
        "DeepSeek R1": (6.83, 7.04, 7.45, 7.10),
        "DeepSeek V3": (5.53, 5.46, 5.48, 3.73),
        "Gemini 1.5 Flash": (6.65, 7.06, 6.17, 4.71),
        "GPT-4 Turbo": (6.62, 6.33, 6.21, 7.89),
        "GPT-4o": (4.67, 4.66, 4.31, 4.91),
        "GPT-4o Mini": (5.43, 5.39, 5.09, 4.06),
        "Mistral Large": (5.31, 5.86, 5.04, 5.06),
        "Mistral Nemo": (6.58, 6.71, 6.55, 5.81),
    },
    "age": {
        "Claude 3.5 Haiku": (7.23, 8.26, 6.43, 7.18, 8.36),
        "Claude 3.5 Sonnet": (8.12, 8.89, 7.10, 7.59, 7.57),
        "DeepSeek R1": (7.38, 6.60, 6.97, 7.73, 6.99),
        "DeepSeek V3": (5.83, 5.29, 5.05, 5.30, 4.89),
        "Gemini 1.5 Flash": (7.01, 7.99, 6.51, 6.06, 6.18),
        "GPT-4 Turbo": (6.54, 6.23, 5.31, 5.53, 4.70),
        "GPT-4o": (4.68, 4.46, 4.17, 4.88, 4.65),
        "GPT-4o Mini": (5.47, 5.74, 4.82, 4.80, 4.98),
        "Mistral Large": (5.51, 5.62, 5.33, 5.18, 5.22),
        "Mistral Nemo": (6.65, 7.08, 6.51, 6.28, 6.79),
    },
}


@dataclass(frozen=True, slots=True)
class BiasCell:
    """One cell of a bias table: what the raw ratings give, and what is printed."""

    category: str
    model: str
    group: str
    recomputed: float
    published: float

    @property
    def difference(self) -> float:
        """Published minus recomputed, in whole hundredths of a point."""
        return round(self.published - self.recomputed, 2)

    @property
    def agrees(self) -> bool:
        """Whether rounding explains the difference."""
        return abs(self.difference) <= 0.01


def recomputed_cells() -> list[BiasCell]:
    """Every cell of the three bias tables, recomputed by the audit's own estimator."""
    found = []
    for category, groups in GROUPS.items():
        material = load_dataset(categories=[category])
        models = tuple(RATINGS[category])
        assert cells_in(material)[1:] == tuple(f"{category}.{group}" for group in groups)
        # Every scenario as the mean, in the first phrasing: the means are all that is printed.
        ratings = np.stack(
            [np.broadcast_to(row, (6, REPHRASINGS, len(row))) for row in RATINGS[category].values()]
        )
        bias = select(estimated(answers_of(ratings, material, models), models), "bias")
        for row in bias[bias["measure"] == "difference"].to_dict("records"):
            if row["respondent"]:
                published = BIASES[category][row["respondent"]][groups.index(row["group"])]
                value = round(row["value"], 2)
                found.append(BiasCell(category, row["respondent"], row["group"], value, published))
    return found


def largest_run_gap() -> tuple[float, str]:
    """The largest difference between the paper's two runs, and where it is."""
    return max(
        (round(abs(first - second), 2), f"{model}, {category}, {name}")
        for category, models in SECOND_RUN.items()
        for model, run in models.items()
        for name, first, second in zip(
            ("control", *GROUPS[category]), RATINGS[category][model], run, strict=True
        )
    )


def control_spreads() -> dict[str, float]:
    """Model to the largest difference between its three controls, which are one and the same."""
    return {
        model: round(float(np.ptp([RATINGS[category][model][0] for category in GROUPS])), 2)
        for model in RATINGS["race"]
    }


def main() -> None:
    """Prints everything."""
    cells = recomputed_cells()
    off = [cell for cell in cells if not cell.agrees]
    rounded = [cell for cell in cells if cell.agrees and cell.difference]
    print(f"{len(cells)} cells of bias recomputed from the raw ratings")
    print(f"  {len(cells) - len(off) - len(rounded)} are the same to two decimals")
    print(f"  {len(rounded)} differ by .01, as rounded numbers may:")
    for cell in rounded:
        print(f"    {_line(cell)}")
    print(f"  {len(off)} differ by more:")
    for cell in off:
        print(f"    {_line(cell)}")
    gap, where = largest_run_gap()
    print(f"\nLargest difference between the two runs: {gap:.2f} ({where}); the text says .50")
    print("Three askings of the same control, largest difference:")
    for model, spread in control_spreads().items():
        print(f"    {model:<20} {spread:.2f}")
    for group, said in (("female", 1.77), ("non_binary", 6.69)):
        at = GROUPS["gender"].index(group)
        mean = np.mean([row[at] for row in BIASES["gender"].values()])
        print(f"Mean bias over models, {group}: {mean:.2f}; the text says {said}")
    outside = [
        (value, f"{model}, {category}, {name}")
        for category, models in BRITTLENESS.items()
        for model, row in models.items()
        for name, value in zip(("control", *GROUPS[category]), row, strict=True)
        if not 4 <= value <= 8
    ]
    print(f'\nBrittleness outside of "between 4 and 8": {len(outside)} cells')
    for value, where in sorted(outside):
        print(f"    {value:.2f}  {where}")


def _line(cell: BiasCell) -> str:
    return (
        f"{cell.category}, {cell.model}, {cell.group}: raw ratings give {cell.recomputed:+.2f}, "
        f"printed {cell.published:+.2f}"
    )


if __name__ == "__main__":
    outlive_readers()  # as in `… | head`
    main()
