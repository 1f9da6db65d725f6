"""A construction of prompts, read: its folder, its estimates, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..experiment.cost_cap import cap_notices
from ..formats import count, listed, share, units, words
from ..formats import estimate as shown
from ..graphs.prompt_construction import BUNDLE_STATUSES
from ..graphs.prompt_writing import CRITERIA, FLAWS
from ..records.estimates import estimates_by, select
from ..records.readings import MachineReading, Rate, Readings, in_drawn_order
from ..reports.document import Chart, Document, Paragraph, Part, Section
from ..reports.run_sections import job_sections
from ..reports.views import Measure, estimates_chart, estimates_table
from ..run import JobRun
from .estimates import ACROSS, AGREEMENT, GENERATORS, REFUSALS, SET
from .map import MAP_TABLE, read_map
from .scenarios import SCENARIOS_FILE, funnel_tables, read_scenarios
from .tables import CANDIDATES_FILE, PAIRS_FILE, PROMPTS_FILE, read_tables

if TYPE_CHECKING:
    import pandas as pd

_DEMONSTRATION: Final = (
    "An embedded stand-in wrote the prompts, from templates. It is no language model, and nothing "
    "here says anything about one."
)
_TROUBLE: Final = ("refused", "unreadable", "failed")
_BY = {"group": "source", "respondent": "generator"}
_VOTERS = {
    "others": "the models that did not write it",
    "all": "all models, its writer among them",
}
_MOST_NAMED: Final = 3
_QUESTION: Final = (
    "The question is for an examination of reasoning whose answers are essays. Does it need more "
    "than everyday opinion, leave room for several defensible answers, reach beyond one incident "
    "or text, give away no answer, take no side, hold more than a factual claim, and refer to no "
    "source?"
)
_QUALITIES: Final = {"passed": "all of these", "failed": "not all of these"}
_PAIR_QUESTION: Final = (
    "Do the two questions, for an examination of reasoning, demand the same analytical work: could "
    "whoever has written a strong essay on the one hand it in for the other with small changes, "
    "and it would still be a strong answer? The same matter does not make them the same, and "
    "different words alone do not make them different."
)
_PAIRS: Final = {"equivalent": "the same work", "different": "different work"}


class PromptRun(JobRun):
    """The folder of a construction, read."""

    kind = "prompts"
    command = "prompts generate"

    @property
    def prompts_path(self) -> Path:
        """The prompt set: what `respond`, `stress` and `sample` take."""
        return self.path / PROMPTS_FILE

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        stages = self.record["stages"]
        found = stages.get("construct", {})
        bundles, votes = found.get("bundles", {}), found.get("votes", {})
        troubled = sum(bundles.get(name, 0) for name in ("partial", *_TROUBLE))
        troubled += sum(votes.get(name, 0) for name in _TROUBLE)
        troubled += sum(found.get("pair_votes", {}).get(name, 0) for name in _TROUBLE)
        troubled += stages.get("embed", {}).get("failed", 0)
        return 3 if troubled else 0

    def document(self) -> Document:
        """What is shown of the construction."""
        return self.checked(document(self.record, self.estimates, read_map(self.path)))

    def readings(self) -> tuple[Readings, ...]:
        """Whether each usable prompt passes, and whether two demand the same, as votes decided."""
        has_pairs = bool(read_tables(self.path)[PAIRS_FILE])

        def rows() -> Iterator[MachineReading]:
            scenarios = read_scenarios(self.path / SCENARIOS_FILE).rows
            texts = {one.scenario_id: one.text for one in scenarios}
            for row in read_tables(self.path)[CANDIDATES_FILE]:
                if row["is_usable"] == "yes" and row["quality"] in _QUALITIES:
                    shown = (texts.get(row["scenario_id"], ""), row["prompt_text"])
                    yield MachineReading(
                        shown, row["quality"], row["scenario_id"], (row["generator"],)
                    )

        passed = Rate("pass rate", frozenset(["passed"]))
        quality = Readings(
            _QUESTION, _QUALITIES, ("scenario", "prompt_text"), "scenario", ("respondent",),
            (passed,), rows, name="quality" if has_pairs else "",
        )  # fmt: skip
        differing = Rate("functional diversity", frozenset(["different"]))
        pairs = Readings(
            _PAIR_QUESTION, _PAIRS, ("first_prompt_text", "second_prompt_text"), "scenario",
            ("respondent", "baseline"), (differing,), self._pair_readings, name="equivalence",
            sheet="pairs", item="pair",
        )  # fmt: skip
        return (quality, pairs) if has_pairs else (quality,)

    def _pair_readings(self) -> Iterator[MachineReading]:
        """Every pair on which the votes decided.

        Functional diversity is a mean over scenarios, so that a pair weighs one by the pairs of its
        scenario and models; where one of these is undecided there is no value, and none weighs.
        Which prompt stands first is drawn by a hash of both, as for the judges.
        """
        tables = read_tables(self.path)
        texts = {row["prompt_id"]: row["prompt_text"] for row in tables[CANDIDATES_FILE]}
        cells: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for row in tables[PAIRS_FILE]:
            at = (row["scenario_id"], row["first_generator"], row["second_generator"])
            cells.setdefault(at, []).append(row)
        said = {"yes": "equivalent", "no": "different"}
        for (scenario, one, other), pairs in cells.items():
            is_whole = all(row["equivalent"] in said for row in pairs)
            group = (one,) if one == other else (one, other)
            for pair in pairs:
                if pair["equivalent"] in said:
                    shown = in_drawn_order(texts[pair["first"]], texts[pair["second"]])
                    label = said[pair["equivalent"]]
                    weight = 1 / len(pairs) if is_whole else 0.0
                    yield MachineReading(shown, label, scenario, group, weight)


def document(
    record: Mapping[str, Any], estimates: pd.DataFrame, placed: Sequence[Mapping[str, Any]] = ()
) -> Document:
    """What is shown of a construction.

    Args:
        record: the content of run.json.
        estimates: every figure.
        placed: where each text lies on the map, as `read_map` has it.
    """
    chosen = record["plan"] if "plan" in record else record["config"]
    ((_, sets),) = estimates_by(select(estimates, SET), [])
    sources = list(select(estimates, GENERATORS)["group"].unique())
    whole = None if None in sources else sources[0]
    found = {
        str(keys["respondent"]): measures
        for keys, measures in estimates_by(
            select(estimates, GENERATORS, group=whole), ["respondent"]
        )
    }
    sections = [
        Section(
            "models",
            "By model",
            list(_summary(estimates, whole, chosen["level"])),
            audience="summary",
        ),
        Section("statistics", "Yield, pass rate, coverage", list(_statistics(estimates))),
        Section("diversity", "Functional diversity", list(_diversity(estimates, chosen))),
        Section("quality", "What votes find wrong", list(_quality(estimates, chosen))),
    ]
    if gaps := list(_gaps(record, estimates)):
        sections.append(Section("gaps", "Coverage gaps", gaps))
    if record.get("embedding"):
        sections.append(Section("map", "Map of the prompts", list(_map(record, estimates, placed))))
    if steps := list(funnel_tables(estimates)):
        sections.append(Section("funnel", "Where the scenarios come from", steps))
    sections += [replace(one, audience="appendix") for one in job_sections(record)]
    return Document(
        title=f"Prompt set of {units(int(sets['scenarios'].value), 'scenario')}",
        kind="prompts",
        headline=list(_headline(sets, found, chosen)),
        trust=list(_trust(record, estimates, sets, found, whole)),
        sections=sections,
        state=" ".join(f"{_sentence(text)}." for text in cap_notices(record)),
        notices=[_sentence(text) for text in record["notices"]],
        is_demonstration=record["demonstration"],
        demonstration=_DEMONSTRATION,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


_Found = Mapping[str, Mapping[str, Estimate]]
"""Generator to its figures over all sources."""


def _headline(
    sets: Mapping[str, Estimate], found: _Found, chosen: Mapping[str, Any]
) -> Iterator[str]:
    wanted = units(int(sets["prompts_wanted"].value), "prompt")
    yield (
        f"{count(sets['prompts_in_set'].value)} of {wanted} wanted are in the set: "
        f"{units(len(found), 'model')}, {units(int(sets['scenarios'].value), 'scenario')}, "
        f"{chosen['per_scenario']} each."
    )
    diverse = {
        name: one["diversity"]
        for name, one in found.items()
        if "diversity" in one and one["diversity"].is_defined
    }
    if diverse:
        ordered = sorted(diverse, key=lambda name: (-diverse[name].value, name))
        said = [f"{name} {shown(diverse[name])}" for name in ordered[:_MOST_NAMED]]
        more = len(ordered) - len(said)
        rest = f", {units(more, 'more model')} below" if more else ""
        yield (
            "Share of pairs of a model's prompts that demand different work: "
            f"{', '.join(said)}{rest}."
        )


def _trust(
    record: Mapping[str, Any],
    estimates: pd.DataFrame,
    sets: Mapping[str, Estimate],
    found: _Found,
    whole: str | None,
) -> Iterator[tuple[str, str]]:
    planned = sum(int(one["scenarios"].value) for one in found.values())
    statuses = {
        name: sum(int(one[name].value) for one in found.values()) for name in BUNDLE_STATUSES
    }
    said = [f"{n:,} {words(name)}" for name, n in statuses.items() if n and name != "complete"]
    yield (
        "coverage",
        f"{statuses['complete']:,} of {units(planned, 'bundle')} complete"
        + (f"; {', '.join(said)}" if said else ""),
    )
    agreed = {
        str(keys["detail"]): measures["agreement"]
        for keys, measures in estimates_by(select(estimates, AGREEMENT, group=whole), ["detail"])
    }
    names = {"quality": "prompts", "equivalence": "pairs"}
    told = [f"{share(agreed[key])} of {name}" for key, name in names.items() if key in agreed]
    judges = units(len(record["judges"]), "judge") if record["judges"] else "no judge"
    yield "judges", judges + (f"; they agree on {' and '.join(told)}" if told else "")
    if record.get("embedding") is None:
        yield "map", "left out: no embedding model is named"
    elif "texts" in sets:
        texts = units(int(sets["texts"].value), "text")
        placed = count(sets["texts_placed"].value)
        yield "map", f"{placed} of {texts} embedded by {record['embedding']}"


def _table(
    estimates: pd.DataFrame,
    table: str,
    *,
    measures: Sequence[Measure],
    caption: str,
    label: str,
    keys: Mapping[str, str] = _BY,
    where: Mapping[str, str | None] | None = None,
) -> list[Part]:
    """A table of the estimates, if they have any; "all" for all sources together."""
    made = estimates_table(
        estimates, table, keys=keys, measures=measures, where=where, caption=caption, label=label,
        named={"group": {None: "all"}},
    )  # fmt: skip
    return [] if made is None else [made]


_SHARES = {"yield": "yield", "pass_rate": "pass rate", "diversity": "diversity"}


def _summary(estimates: pd.DataFrame, whole: str | None, level: float) -> Iterator[Part]:
    shares = select(estimates, GENERATORS, group=whole)
    shares = shares[shares["measure"].isin(_SHARES)]
    chart = estimates_chart(
        shares.assign(detail=shares["measure"].map(_SHARES), measure="share"),
        GENERATORS,
        "forest",
        measure="share",
        rows="respondent",
        columns="detail",
        name="shares",
        title="Yield, pass rate and diversity of each model",
        caption=f"Shares with their {100 * level:g}% intervals over scenarios; an open marker has "
        "none.",
        axis="share",
        scale=(0.0, 1.0),
    )
    if chart is not None:
        yield chart
    yield from _table(
        estimates,
        GENERATORS,
        keys={"respondent": "generator"},
        measures=[
            Measure("prompts_usable", "usable", is_count=True),
            *(Measure(name, title) for name, title in _SHARES.items()),
        ],
        where={"group": whole},
        caption="Yield: usable of those wanted. Pass rate: of prompts whose votes decide. "
        "Diversity: share of pairs of prompts that demand different work.",
        label="By model",
    )


def _statistics(estimates: pd.DataFrame) -> Iterator[Part]:
    counts = select(estimates, GENERATORS)
    used = [
        name
        for name in BUNDLE_STATUSES
        if name == "complete" or (counts[counts["measure"] == name]["value"] > 0).any()
    ]
    yield from _table(
        estimates,
        GENERATORS,
        measures=[
            Measure("scenarios", is_count=True),
            *(Measure(name, is_count=True) for name in used),
            Measure("prompts_usable", "usable", is_count=True),
            Measure("prompts_wanted", "wanted", is_count=True),
            Measure("yield", digits=3),
            Measure("coverage", digits=3),
        ],
        caption="Bundles by what became of them. Yield: usable prompts of those wanted, where the "
        "bundle came to an end. Coverage: share of scenarios with every prompt wanted.",
        label="Bundles, yield and coverage",
    )


def _quality(estimates: pd.DataFrame, chosen: Mapping[str, Any]) -> Iterator[Part]:
    yield from _table(
        estimates,
        GENERATORS,
        measures=[
            *(
                Measure(f"prompts_{name}", words(name), is_count=True)
                for name in ("passed", "failed", "undecided", "not_checked", "not_asked")
            ),
            Measure("pass_rate", digits=3),
            Measure("coverage_passed", "all passed", digits=3),
        ],
        caption=f"Votes on quality by {_VOTERS[chosen['filter_judges']]}; a prompt passes with "
        "more than half of them. All passed: share of scenarios in which every prompt wanted has "
        "passed.",
        label="Quality",
    )
    yield from _table(
        estimates,
        GENERATORS,
        measures=[
            Measure("votes_read", is_count=True),
            *(
                Measure(
                    f"missed_{key}", ("" if key in FLAWS else "not ") + words(key), is_count=True
                )
                for key in CRITERIA
            ),
        ],
        caption="Votes that find a criterion missed.",
        label="Votes by criterion",
    )
    yield from _table(
        estimates,
        AGREEMENT,
        keys={"group": "source", "detail": "about"},
        measures=[
            Measure("agreement", digits=3),
            Measure("judged", "cases", is_count=True),
        ],
        caption="Agreement of judges: share of prompts, and of pairs, on which all who were read "
        "say the same, where two or more were.",
        label="Agreement of judges",
    )


def _diversity(estimates: pd.DataFrame, chosen: Mapping[str, Any]) -> Iterator[Part]:
    if chosen["diversity_of"] == "none":
        yield Paragraph("Not measured: left out by choice.")
        return
    rule = chosen["equivalence"]
    other = "either" if rule == "both" else "both"
    measures = [
        Measure("diversity", "FD", digits=3),
        Measure("diversity", "SE", "se", digits=3),
        Measure("diversity_other_rule", f"FD, {other}", digits=3),
        Measure("equivalent_pairs", is_count=True),
        Measure("pairs", is_count=True),
        Measure("diversity", "scenarios", "n_of"),
        Measure("judges_a_pair", is_count=True),
    ]
    yield from _table(
        estimates,
        GENERATORS,
        measures=measures,
        caption=f"Within a model. FD is 1 minus the share of equivalent pairs among the prompts "
        f"{chosen['diversity_of']}, mean over scenarios. A pair is equivalent where {rule} of two "
        "judges that wrote neither prompt say so; beside it the other rule.",
        label="Functional diversity within a model",
    )
    yield from _table(
        estimates,
        ACROSS,
        keys={"group": "source", "respondent": "generator", "baseline": "and", "detail": "of"},
        measures=measures,
        caption="Across two models: the same of pairs of which each wrote one.",
        label="Functional diversity across models",
    )


def _gaps(record: Mapping[str, Any], estimates: pd.DataFrame) -> Iterator[Part]:
    refused = record["stages"].get("construct", {}).get("refused", {})
    for name, scenarios in refused.items():
        yield Paragraph(f"Refused by {name}: {listed(scenarios, most=12)}")
    yield from _table(
        estimates,
        REFUSALS,
        keys={"respondent": "generator", "group": "source", "detail": "stratum"},
        measures=[Measure("scenarios", "scenarios refused", is_count=True)],
        caption="Scenarios for which a model declined to write anything.",
        label="Refusals",
    )


def _map(
    record: Mapping[str, Any], estimates: pd.DataFrame, placed: Sequence[Mapping[str, Any]]
) -> Iterator[Part]:
    if not placed:
        yield Paragraph(f"Not drawn: no text could be embedded by {record['embedding']}.")
        return
    projection = (record["plan"] if "plan" in record else record["config"])["projection"]
    yield _chart(record, placed, f"Embedded by {record['embedding']}, projection {projection}")
    yield from _table(
        estimates,
        MAP_TABLE,
        measures=[
            Measure("prompts", is_count=True),
            Measure("normalised_area", "hull, largest 1", field="value"),
            Measure("mean_scenario_area", "mean hull of a scenario", field="value", digits=4),
            Measure("variance_share", "variance held", field="value", is_percent=True, digits=0),
        ],
        caption="Areas of hulls. They grow with the number of prompts and with a single outlier.",
        label="Hull areas",
    )


def _chart(record: Mapping[str, Any], placed: Sequence[Mapping[str, Any]], how: str) -> Chart:
    """Scenarios are diamonds; the prompt of each model farthest out carries its angle."""
    rows = ["scenario", *record["generators"]]
    sources = list(dict.fromkeys(row["source"] for row in placed))
    points: list[list[list[tuple[float, float]]]] = []
    labels: list[list[list[str]]] = []
    links: list[list[list[tuple[tuple[float, float], ...]]]] = []
    for source in sources:
        mine = [row for row in placed if row["source"] == source]
        homes = {r["scenario_id"]: (r["x"], r["y"]) for r in mine if not r["generator"]}
        points.append([list(homes.values())])
        labels.append([[]])
        links.append([[]])
        for name in record["generators"]:
            theirs = [row for row in mine if row["generator"] == name]
            at = [(row["x"], row["y"]) for row in theirs]
            points[-1].append(at)
            labels[-1].append(_farthest(at, [row["angle"] for row in theirs]))
            links[-1].append(
                [
                    (homes[row["scenario_id"]], here)
                    for row, here in zip(theirs, at, strict=True)
                    if row["scenario_id"] in homes
                ]
            )
    return Chart(
        kind="scatter",
        name="map",
        title="Where the prompts lie",
        caption=f"{how}, each source for itself. Diamonds are scenarios, markers prompts, at the "
        "ends of arms from their scenarios; a line goes round all prompts of a model.",
        rows=rows,
        facets=sources,
        points=points,
        point_labels=labels,
        links=links,
        hollow=["scenario"],
        is_outlined=True,
        axis="second axis",
        axis_x="first axis",
    )


def _farthest(points: Sequence[tuple[float, float]], angles: Sequence[str]) -> list[str]:
    """The angle of the point farthest from the middle of all; "" for the others."""
    if not points:
        return []
    n = len(points)
    middle = (sum(x for x, _ in points) / n, sum(y for _, y in points) / n)
    reach = [(x - middle[0]) ** 2 + (y - middle[1]) ** 2 for x, y in points]
    far = reach.index(max(reach))
    return [angle if place == far else "" for place, angle in enumerate(angles)]
