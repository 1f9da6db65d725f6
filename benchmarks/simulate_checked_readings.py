"""Measures coverage of rates of a job's readings, corrected by people's labels of drawn texts.

Run: python benchmarks/simulate_checked_readings.py --worlds 1500 --seed 1
Prints one line a world; the Monte Carlo error of a share of .95 of 1,500 worlds is .006. 300 texts
of 60 prompts, each that of one to six answers; people label 100 texts without error. The figures
stand in docs/how-it-works/simulations.md.
"""

import argparse

import numpy as np

from areopagus.checked import check_estimates
from areopagus.records.estimates import estimate_at
from areopagus.records.readings import MachineReading, PeopleLabels, Rate, Readings

TEXTS, UNITS, DRAWN, MOST_ANSWERS = 300, 60, 100, 6
WORLDS = (
    # truth, share of false alarms, share of misses, likeness of the texts of a prompt
    (0.0, 0.163, 0.1, 0.0),
    (0.05, 0.1, 0.2, 0.0),
    (0.2, 0.1, 0.2, 0.0),
    (0.2, 0.1, 0.2, 0.15),
    (0.5, 0.02, 0.02, 0.0),
)


def world(
    rng: np.random.Generator, truth: float, alarms: float, misses: float, alike: float
) -> tuple[list[MachineReading], dict[str, str]]:
    """Readings, and what each text is."""
    shares = np.full(UNITS, truth)
    if alike:
        size = (1 - alike) / alike
        shares = rng.beta(truth * size, (1 - truth) * size, UNITS)
    rows: list[MachineReading] = []
    is_so: dict[str, str] = {}
    for k in range(TEXTS):
        is_yes = rng.random() < shares[k % UNITS]
        is_read = rng.random() >= misses if is_yes else rng.random() < alarms
        one = MachineReading((f"text {k}",), "yes" if is_read else "no", f"prompt {k % UNITS}")
        rows += [one] * int(rng.integers(1, MOST_ANSWERS + 1))
        is_so[one.item_id] = "yes" if is_yes else "no"
    return rows, is_so


def main() -> None:
    """Prints coverage and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for truth, alarms, misses, alike in WORLDS:
        rng = np.random.default_rng(given.seed)
        covers, raw_covers, widths = [], [], []
        for _ in range(given.worlds):
            rows, is_so = world(rng, truth, alarms, misses, alike)
            names = list(is_so)
            drawn = [names[k] for k in rng.permutation(TEXTS)[:DRAWN]]
            readings = Readings(
                "?", {"yes": "", "no": ""}, ("text",), "prompt", "respondent",
                (Rate("yes", frozenset(["yes"])),), lambda rows=rows: iter(rows),
            )  # fmt: skip
            labels = PeopleLabels({name: {"ada": is_so[name]} for name in drawn})
            found = check_estimates(readings, labels, frozenset(drawn)).frame()
            raw, corrected = (
                estimate_at(found, "checks", name, factor="rate") for name in ("raw", "corrected")
            )
            covers.append(corrected.low <= truth <= corrected.high)
            raw_covers.append(raw.low <= truth <= raw.high)
            widths.append(corrected.high - corrected.low)
        print(
            f"truth {truth:.2f}, false alarms {alarms:.3f}, misses {misses:.2f}, alike "
            f"{alike:.2f}: corrected covers {np.mean(covers):.3f}, width {np.mean(widths):.3f}; "
            f"raw covers {np.mean(raw_covers):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
