"""The map of a prompt set: embedded texts in two dimensions, with the hulls that they fill.

After the paper's figure 9. Areas of hulls compare generators within one source, the largest being
1; they grow with the number of prompts and with a single outlier, and stand beside that number.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ProviderError
from ..judges.models.budget import BudgetSpentError
from ..judges.models.rate_limit import StoppedError
from ..records.run_folder import replaced
from ..records.spreadsheets import CsvLines, writable
from .embedding import EmbeddingBackend, Vector, embedding_request, unpacked
from .projection import Points, Projection, hull_area, laid_out
from .tables import prompt_id, short_names

if TYPE_CHECKING:
    from ..judges.models.client import Desk
    from ..stressing.estimate import StageEstimate
    from .job import PromptJob

MAP_FILE = "map.csv"
PICTURE = "map"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text to place.

    Attributes:
        name: id of a prompt, or of a scenario.
        scenario_id, source: where it belongs.
        generator: "" for a scenario itself.
        text: what is embedded.
        angle: the generator's label for a prompt's angle.
    """

    name: str
    scenario_id: str
    source: str
    generator: str
    text: str
    angle: str = ""


@dataclass(frozen=True, slots=True)
class Hull:
    """What one generator's prompts fill on the map of one source.

    Attributes:
        prompts: how many are placed.
        area: of the hull of all of them; None below three.
        normalised_area: the same, the largest of the source's generators being 1.
        mean_scenario_area: mean over scenarios of the hull of its prompts for one scenario.
    """

    source: str
    generator: str
    prompts: int
    area: float | None
    normalised_area: float | None
    mean_scenario_area: float | None


@dataclass(frozen=True, slots=True)
class PromptMap:
    """The map's figures.

    Attributes:
        model: the embedding model.
        projection: which one was asked for.
        texts, placed: planned ones, and those that could be embedded.
        hulls: one a source and generator.
        variance_shares: source to the share of variance that two components hold; None for UMAP.
    """

    model: str
    projection: Projection
    texts: int
    placed: int
    hulls: tuple[Hull, ...]
    variance_shares: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def texts_of(job: PromptJob) -> list[Embedded]:
    """The scenarios and all usable prompts."""
    from ..graphs.prompt_construction import PromptRef

    short = short_names(job.generator_names)
    found: list[Embedded] = []
    for row, outcome in zip(job.scenarios.rows, job.outcomes, strict=False):
        found.append(Embedded(row.scenario_id, row.scenario_id, row.source, "", row.text))
        for bundle in outcome.bundles:
            for block in bundle.usable:
                name = prompt_id(row.scenario_id, PromptRef(bundle.generator, block.number), short)
                found.append(
                    Embedded(
                        name, row.scenario_id, row.source, bundle.generator, block.question,
                        block.angle,
                    )
                )  # fmt: skip
    return found


def count_embeddings(job: PromptJob, texts: Sequence[str], stage: StageEstimate) -> None:
    """Adds the calls for these texts to an estimate."""
    assert job.embedding is not None  # noqa: S101 - only asked for with a model
    for text in texts:
        request = embedding_request(job.embedding, text)
        key = request.key()
        stage.planned += 1
        if job.ledger.lookup([key]).get(key) is not None:
            stage.stored += 1
        else:
            stage.add(job.embedding, request, output_tokens=0)


async def embed_all(job: PromptJob, desk: Desk) -> tuple[dict[str, Any], PromptMap]:
    """Embeds everything and writes map.csv and the picture.

    Returns:
        The stage's outcome for run.json (texts embedded, failed, not asked for), and the figures.

    Raises:
        StoreError: the ledger or the folder cannot be written.
    """
    assert job.embedding is not None  # noqa: S101 - only asked for with a model
    items = texts_of(job)
    job.begin("embed", total=len(items), unit="texts")
    slots = asyncio.Semaphore(job.embedding.spec.concurrency + 4)
    backend = job.embedding

    async def one(item: Embedded) -> Vector | str:
        async with slots:
            found = await _embed(desk, backend, item.text)
            job.step(is_troubled=isinstance(found, str))
            return found

    tasks = [asyncio.create_task(one(item)) for item in items]
    try:
        vectors = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    reasons = Counter(found for found in vectors if isinstance(found, str))
    sizes = Counter(len(found) for found in vectors if not isinstance(found, str))
    if len(sizes) > 1:
        reasons["vectors of different lengths"] = sum(sizes.values())
    placed = [
        (item, vector)
        for item, vector in zip(items, vectors, strict=True)
        if not isinstance(vector, str) and len(sizes) == 1
    ]
    coordinates, hulls, shares = map_figures(placed, job.plan.projection, seed=job.plan.seed)
    figures = PromptMap(
        backend.spec.model, job.plan.projection, len(items), len(placed), hulls, shares
    )
    _write(job, [item for item, _ in placed], coordinates, figures)
    unasked = reasons["budget"] + reasons["interrupted"]
    outcome = {
        "model": backend.spec.model,
        "texts": len(items),
        "embedded": len(placed),
        "failed": len(items) - len(placed) - unasked,
        "not_asked": unasked,
        "not_asked_for_budget": reasons["budget"],
        "reasons": dict(reasons),
    }
    return outcome, figures


async def _embed(desk: Desk, backend: EmbeddingBackend, text: str) -> Vector | str:
    """The vector, or why there is none."""
    purse = desk.purse()
    try:
        answer = await desk.ask(backend, embedding_request(backend, text), purse)
        return unpacked(answer.reply.text or "")
    except ProviderError as error:
        return error.fault
    except BudgetSpentError:
        return "budget"
    except StoppedError:
        return "interrupted"
    finally:
        purse.close()


def map_figures(
    placed: Sequence[tuple[Embedded, Vector]], projection: Projection = "pca", *, seed: int = 0
) -> tuple[dict[str, Points], tuple[Hull, ...], dict[str, float | None]]:
    """Coordinates by source in the order of the texts, hulls, and shares of variance by source."""
    coordinates: dict[str, Points] = {}
    shares: dict[str, float | None] = {}
    hulls: list[Hull] = []
    for source in dict.fromkeys(item.source for item, _ in placed):
        mine = [(item, vector) for item, vector in placed if item.source == source]
        vectors = np.asarray([vector for _, vector in mine], dtype=np.float64)
        points, share = laid_out(vectors, projection, seed=seed)
        coordinates[source], shares[source] = points, _plain(share)
        items = [item for item, _ in mine]
        names = list(dict.fromkeys(item.generator for item in items if item.generator))
        places = {
            name: [at for at, item in enumerate(items) if item.generator == name] for name in names
        }
        areas = {name: hull_area(points[at]) for name, at in places.items()}
        largest = max((area for area in areas.values() if area > 0), default=math.nan)
        hulls += [
            Hull(
                source, name, len(places[name]), _plain(areas[name]),
                _plain(areas[name] / largest), _plain(_inner_area(points, items, places[name])),
            )
            for name in names
        ]  # fmt: skip
    return coordinates, tuple(hulls), shares


def _inner_area(points: Points, items: Sequence[Embedded], at: Sequence[int]) -> float:
    """The mean over scenarios of the hull of one generator's prompts for one scenario."""
    groups: dict[str, list[int]] = {}
    for place in at:
        groups.setdefault(items[place].scenario_id, []).append(place)
    areas = [hull_area(points[group]) for group in groups.values()]
    known = [area for area in areas if not math.isnan(area)]
    return float(np.mean(known)) if known else math.nan


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write(
    job: PromptJob,
    items: Sequence[Embedded],
    coordinates: Mapping[str, Points],
    figures: PromptMap,
) -> None:
    from .map_picture import draw_map

    places: Counter[str] = Counter()
    with (
        replaced(job.path / MAP_FILE) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = CsvLines(file)
        writer.write(("name", "source", "scenario_id", "generator", "angle", "x", "y"))
        for item in items:
            x, y = coordinates[item.source][places[item.source]]
            places[item.source] += 1
            cells = (item.name, item.source, item.scenario_id, item.generator, item.angle)
            writer.write((*(writable(cell) for cell in cells), f"{x:.6g}", f"{y:.6g}"))
    draw_map(job.path / PICTURE, items, coordinates, figures, job.generator_names)
