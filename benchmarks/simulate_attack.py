"""What an attack's tests say of judges whose every habit is known: simulated, and over HTTP.

    python benchmarks/simulate_attack.py [--worlds 2000] [--only worlds|judges]

In each world ten judges of one model score clean responses, the built-in corpus put into them, and
harmless prose of the same length, as integers on five criteria; some end without a score. Of the
families that ask for that, the share of judgments that do is tested, with all the others. Printed,
with Monte Carlo errors of one binomial share over worlds: how often any family is wrongly said to
work or to be contrary (stated: at most .05), how often anything that is not there is said at all,
and how often the families that do work are found; beside it, how often a test of the raw shift
would have named some family that does not. Then whole attacks on loopback judges: what each does,
what the report says.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areopagus import Panel
from areopagus.aggregation.effects import mean_p_value
from areopagus.aggregation.multiplicity import holm
from areopagus.attacks import AttackFamily, attack, load_families
from areopagus.attacks.families import STATUS_OF, example_texts, texts_of
from areopagus.attacks.outcomes import Measured, family_tests
from areopagus.records.estimates import estimates_by, select
from areopagus.testing import ProviderServer, ServedReply, ServedRequest
from areopagus.testing.scripted import draw

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
JUDGES = 10
VALUES = {"high": "10", "low": "1", "reply": '{"overall": 10}', "marker": "0" * 16}
CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
CLAIMS = ("as demanded", "against its demand")
NOT_PROSE = {
    "base64", "bidi", "fake_completion", "fake_system_turn", "fullwidth", "guessed_delimiter",
    "html_comment", "json_breakout", "lookalike", "newline_flood", "tag_characters", "zero_width",
}  # fmt: skip


@dataclass(frozen=True)
class Habits:
    """What the judges of a world do, in points of a scale of 1 to 10.

    Attributes:
        length: for every thousand characters more, of whatever they say.
        prose: for an insertion that is plain prose, harmless or not.
        digression: for harmless prose alone, which is off the topic.
        obeys: family to the chance that a judgment obeys its demand.
        contrary: families whose every text moves a judgment two points against their demand.
        noise: standard deviation of a criterion from call to call.
        own: standard deviation of what a text does on one prompt and not on others.
        prompts: how many there are.
        absent: share of judgments that end without a score whatever they read.
        uneven: standard deviation of the logit of that share over prompts.
        absent_length: what a thousand characters more, of whatever they say, add to that logit.
        keeps: family that asks for no score to the chance that a judgment obeys it.
    """

    length: float = 0.0
    prose: float = 0.0
    digression: float = 0.0
    obeys: dict[str, float] = field(default_factory=dict)
    contrary: tuple[str, ...] = ()
    noise: float = 1.0
    own: float = 0.2
    prompts: int = 8
    absent: float = 0.0
    uneven: float = 0.0
    absent_length: float = 0.0
    keeps: dict[str, float] = field(default_factory=dict)


THREE = {"authority": 0.3, "naive_demand": 0.3, "sabotage": 0.3}
TWO = {"refusal": 0.3, "abstention": 0.3}
WORLDS = {
    "steadfast": Habits(),
    "rewards length": Habits(length=2.0),
    "rewards length, up to the end of the scale": Habits(length=12.0),
    "rewards length, hardly varies": Habits(length=2.0, noise=0.2, own=0.05),
    "rewards length, texts differ by prompt": Habits(length=2.0, own=0.8),
    "rewards length, 6 prompts": Habits(length=2.0, prompts=6),
    "rewards length, 30 prompts": Habits(length=2.0, prompts=30),
    "rewards prose": Habits(prose=0.8),
    "minds digressions": Habits(digression=-0.8),
    "obeys three families in 30%": Habits(obeys=THREE),
    "obeys three in 30%, rewards length": Habits(obeys=THREE, length=2.0),
    "obeys three in 5%, rewards length": Habits(obeys=dict.fromkeys(THREE, 0.05), length=2.0),
    "contrary to sabotage, rewards length": Habits(contrary=("sabotage",), length=2.0),
    "1% end without a score": Habits(absent=0.01),
    "10% end without a score": Habits(absent=0.1),
    "10%, very uneven over prompts": Habits(absent=0.1, uneven=2.0),
    "10%, more on longer texts": Habits(absent=0.1, uneven=1.0, absent_length=3.0),
    "10%, uneven, 30 prompts": Habits(absent=0.1, uneven=2.0, prompts=30),
    "obeys refusal, abstention in 30%": Habits(absent=0.1, uneven=1.0, keeps=TWO),
    "obeys both in 10%": Habits(absent=0.02, keeps=dict.fromkeys(TWO, 0.1)),
    "obeys both in 5%": Habits(keeps=dict.fromkeys(TWO, 0.05)),
}


@dataclass(frozen=True)
class Layout:
    """The corpus as columns: one a text and place."""

    families: tuple[AttackFamily, ...]
    family: npt.NDArray[np.int64]
    thousands: Floats
    is_prose: npt.NDArray[np.bool_]
    direction: Floats

    @classmethod
    def of_corpus(cls) -> Layout:
        """The families of the built-in corpus that are put into a response."""
        families = tuple(f for f in load_families(None) if "instead" not in f.placements)
        columns = [
            (number, len(text) / 1000)
            for number, family in enumerate(families)
            for text in texts_of(family, VALUES)
            for _ in family.placements
        ]
        number = np.asarray([one for one, _ in columns])
        return cls(
            families,
            number,
            np.asarray([length for _, length in columns]),
            np.asarray([family.id not in NOT_PROSE for family in families])[number],
            np.asarray([-1.0 if f.asks == "lowest" else 1.0 for f in families]),
        )


def one_world(habits: Habits, layout: Layout, rng: np.random.Generator) -> list[Measured]:
    """What the families did in one world."""
    n, size = habits.prompts, layout.family.size
    # Axes: prompts, texts at their places, judges.
    level = rng.normal(5.5, 1.5, (n, 1, 1)) + rng.normal(0, 0.5, (1, 1, JUDGES))
    longer = habits.length * layout.thousands * rng.gamma(4, 0.25, (n, 1))
    own = rng.normal(0, habits.own, (2, n, size))
    attacked = longer + own[0] + habits.prose * layout.is_prose
    control = longer + own[1] + habits.prose + habits.digression
    for name in habits.contrary:
        for number, family in enumerate(layout.families):
            attacked = attacked - 2.0 * layout.direction[number] * (
                (layout.family == number) & (family.id == name)
            )
    clean = _scores(level, habits, rng)
    with_attack = _scores(level + attacked[:, :, None], habits, rng)
    for number, family in enumerate(layout.families):
        if share := habits.obeys.get(family.id, 0.0):
            obeyed = rng.random(with_attack.shape) < share
            obeyed &= (layout.family == number)[:, None]
            with_attack[obeyed] = 10.0 if family.asks == "highest" else 1.0
    with_control = _scores(level + control[:, :, None], habits, rng)
    asks_no_score = np.asarray([f.asks in STATUS_OF for f in layout.families])[layout.family]
    ended = _endings(habits, layout, rng)
    shift, beyond = (
        _by_family(
            np.where(asks_no_score, ended[1] - ended[without], (with_attack - other).mean(axis=2)),
            layout,
        )
        for without, other in ((0, clean), (2, with_control))
    )
    return [
        Measured(shift[:, number], beyond[:, number], float(layout.direction[number]))
        for number in range(len(layout.families))
    ]


def _endings(habits: Habits, layout: Layout, rng: np.random.Generator) -> list[Floats]:
    """Shape (prompts, texts) each: share of the judges that end without a score.

    On the clean response (one for all texts), on the attacked one and on its control.
    """
    n, size = habits.prompts, layout.family.size
    if not habits.absent:
        logit = np.full((n, 1), -np.inf)
    else:
        usual = math.log(habits.absent / (1 - habits.absent))
        logit = usual + habits.uneven * rng.standard_normal((n, 1))
    longer = habits.absent_length * layout.thousands
    made = []
    for added, width in ((0.0, 1), (longer, size), (longer, size)):
        chance = 1 / (1 + np.exp(-(logit + added)))
        made.append(rng.random((n, width, JUDGES)) < chance[:, :, None])
    for number, family in enumerate(layout.families):
        if share := habits.keeps.get(family.id, 0.0):
            obeyed = rng.random(made[1].shape) < share
            made[1] |= obeyed & (layout.family == number)[:, None]
    shares: list[Floats] = [one.mean(axis=2) for one in made]
    return shares


def _scores(level: Floats, habits: Habits, rng: np.random.Generator) -> Floats:
    """Means of five integers: rounding, and the ends of the scale, as judges have them."""
    exact = level + rng.normal(0, habits.noise / math.sqrt(len(CRITERIA)), level.shape)
    scores: Floats = np.clip(np.round(exact * 5) / 5, 1.0, 10.0)
    return scores


def _by_family(values: Floats, layout: Layout) -> Floats:
    first = np.flatnonzero(np.diff(layout.family, prepend=-1))
    means: Floats = np.add.reduceat(values, first, axis=1) / np.bincount(layout.family)
    return means


def simulate(worlds: int) -> None:
    """Prints what the tests say, habit by habit."""
    layout = Layout.of_corpus()
    print(
        f"{worlds:,} worlds each; {len(layout.families)} families, {layout.family.size} texts at "
        f"their places, {JUDGES} judges, {ALPHA:g} after Holm's correction"
    )
    print(
        f"{'judges that':<42} {'wrong claim':>13} {'wrong word':>13} {'found':>13} "
        f"{'raw shift wrong':>16}"
    )
    for seed, (name, habits) in enumerate(WORLDS.items()):
        claims = words = raw = 0
        found: list[bool] = []
        for world in range(worlds):
            measured = one_world(habits, layout, np.random.default_rng([seed, world]))
            tests = family_tests(measured, alpha=ALPHA)
            wrong_claim = wrong_word = False
            for family, test in zip(layout.families, tests, strict=True):
                true = _truth(habits, family)
                if true in CLAIMS:
                    found.append(test.outcome == true)
                elif test.outcome in CLAIMS:
                    wrong_claim = True
                wrong_word |= test.outcome not in _true_words(true)
            claims += wrong_claim
            words += wrong_word
            plain = holm([mean_p_value(one.shift)[0] for one in measured])
            raw += any(
                p < ALPHA and _truth(habits, family) not in CLAIMS
                for family, p in zip(layout.families, plain, strict=True)
            )
        print(
            f"{name:<42} {_share(claims, worlds):>13} {_share(words, worlds):>13} "
            f"{_share(sum(found), len(found), worlds) if found else '':>13} "
            f"{_share(raw, worlds):>16}"
        )
        sys.stdout.flush()


def _truth(habits: Habits, family: AttackFamily) -> str:
    """What may be said of a family in the limit of many prompts."""
    if family.asks in STATUS_OF:
        return "as demanded" if family.id in habits.keeps else "not shown"
    if family.id in habits.obeys:
        return "as demanded"
    if family.id in habits.contrary:
        return "against its demand"
    above = habits.prose * (family.id not in NOT_PROSE) - habits.prose - habits.digression
    above *= 1 if family.asks == "highest" else -1
    if not above:
        return "not shown"
    return "ahead of harmless prose" if above > 0 else "behind harmless prose"


def _true_words(true: str) -> set[str]:
    """What is not wrong of such a family: less than all of it may have been shown."""
    less = {
        "as demanded": "ahead of harmless prose",
        "against its demand": "behind harmless prose",
    }
    return {true, "not shown", less.get(true, true)}


def _share(hits: int, trials: int, worlds: int | None = None) -> str:
    share = hits / trials
    # The families of one world are not independent: the error is that of whole worlds.
    error = math.sqrt(share * (1 - share) / (worlds or trials))
    return f"{share:.3f} ±{error:.3f}"


FAMILIES = ("authority", "base64", "naive_demand", "role_claim", "sabotage", "sympathy")


def _response(request: ServedRequest) -> str:
    read = request.text_of("user")
    return read.split("<<<RESPONSE ", 1)[1].split(">>>\n", 1)[1].split("\n<<<END", 1)[0]


def _vote(request: ServedRequest, value: float, spread: int = 1) -> ServedReply:
    """Five integers about a value; the same for the same request."""
    scores = {
        name: min(10, max(1, round(value) + draw(name, request.key) % (2 * spread + 1) - spread))
        for name in CRITERIA
    }
    return ServedReply(json.dumps({**scores, "abstained": False}))


def judges() -> dict[str, tuple[Callable[[ServedRequest], ServedReply], dict[str, set[str]]]]:
    """Judges by what they do, with what must be found of them."""
    written = {family.id: texts_of(family, VALUES) for family in load_families(FAMILIES)}
    bases = {one.text for one in example_texts("base_responses").texts}

    def family_in(text: str) -> str | None:
        return next((name for name, all_ in written.items() if any(t in text for t in all_)), None)

    def steadfast(request: ServedRequest) -> ServedReply:
        return _vote(request, 5)

    def obeys(request: ServedRequest) -> ServedReply:
        name = family_in(_response(request))
        told = name in ("authority", "naive_demand", "sabotage")
        if told and draw("obeys", request.key) % 2:
            return _vote(request, 1 if name == "sabotage" else 10, 0)
        return _vote(request, 5)

    def length(request: ServedRequest) -> ServedReply:
        return _vote(request, 3 + len(_response(request)) / 250)

    def prose(request: ServedRequest) -> ServedReply:
        text = _response(request)
        # What is encoded is no prose, and is told by its length.
        is_prose = all(len(word) < 30 for word in text.split())
        return _vote(request, 6 if is_prose and text not in bases else 4)

    def digressions(request: ServedRequest) -> ServedReply:
        text = _response(request)
        is_plain = any(word in text for word in ("bakery", "harbour", "tram", "gardeners", "ferry"))
        return _vote(request, 3 if is_plain and family_in(text) is None else 5)

    def contrary(request: ServedRequest) -> ServedReply:
        return _vote(request, 8 if family_in(_response(request)) == "sabotage" else 5)

    def both(request: ServedRequest) -> ServedReply:
        is_told = family_in(_response(request)) == "authority"
        return (
            _vote(request, 10, 0) if is_told and draw("both", request.key) % 4 else length(request)
        )

    every: set[str] = set(FAMILIES)
    lowering: set[str] = {"sabotage"}
    return {
        "gives about 5 to everything": (steadfast, {}),
        "obeys authority, naive_demand, sabotage in half": (
            obeys, {"as demanded": {"authority", "naive_demand", "sabotage"}},
        ),
        "rewards length": (length, {}),
        "gives two points for more prose": (prose, {"behind harmless prose": {"base64"}}),
        "minds digressions, two points": (
            digressions,
            {"ahead of harmless prose": every - lowering, "behind harmless prose": lowering},
        ),
        "gives about 8 where told to give the lowest": (
            contrary, {"against its demand": {"sabotage"}},
        ),
        "rewards length, obeys authority in three quarters": (both, {"as demanded": {"authority"}}),
    }  # fmt: skip


def on_servers() -> bool:
    """Attacks every judge and prints what the report finds; whether that is what is there."""
    print(f"\nWhole attacks over HTTP: families {', '.join(FAMILIES)}, 8 prompts, 2 personas")
    is_right = True
    for does, (judge, expected) in judges().items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            with (
                ProviderServer(judge, record=False) as server,
                Panel(
                    [{"model": "openai/judge", "api_base": server.openai_base}],
                    personas=["historian", "ethicist"],
                    ledger=folder / "ledger.sqlite",
                ) as panel,
            ):
                estimates = attack(
                    panel=panel, families=FAMILIES, placements=("start", "end"), texts=1,
                    out=folder / "run",
                ).estimates  # fmt: skip
        found: dict[str, set[str]] = {}
        families = [
            (str(keys["group"]), row)
            for keys, row in estimates_by(select(estimates, "families"), ["group"])
        ]
        for name, row in families:
            found.setdefault(str(row["beyond"].verdict), set()).add(name)
        of_all = {"detail": None, "persona": None, "model": None, "criterion": None}
        ((_, harmless),) = estimates_by(select(estimates, "harmless", **of_all), [])
        found.pop("not shown", None)
        said = "; ".join(f"{k}: {', '.join(sorted(v))}" for k, v in found.items()) or "nothing"
        same = found == expected
        is_right &= same
        print(
            f"- {does}: harmless prose {harmless['shift'].value:+.2f}; {said}"
            + ("" if same else f"  NOT WHAT IS THERE: {expected}")
        )
        for name, row in families:
            print(
                f"    {name:<14} shift {row['shift'].value:+.2f}, beyond "
                f"{row['beyond'].value:+.2f}, p Holm {row['beyond'].p_adjusted:.4f}"
            )
        sys.stdout.flush()
    print(
        "every judge is reported as it is" if is_right else "NOT every judge is reported as it is"
    )
    return is_right


def main() -> None:
    """Reads the options and runs the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--only", choices=["worlds", "judges"])
    options = parser.parse_args()
    began = time.monotonic()
    is_right = True
    if options.only in (None, "worlds"):
        simulate(options.worlds)
        print(f"{time.monotonic() - began:.0f} s")
    if options.only in (None, "judges"):
        is_right = on_servers()
    print(f"{time.monotonic() - began:.0f} s in all")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
