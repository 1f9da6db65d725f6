"""What the commands of `areopagus study` print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..text_lines import units
from .display import console, number, show_notices, table, visible

if TYPE_CHECKING:
    from ..study import BuiltStudy, Collected, StudyPlan


def show_built(built: BuiltStudy) -> None:
    """What was built, and what to do next."""
    out = console()
    fewest, most = built.per_rater
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    who = "rater" if built.kind == "rating" else "writer"
    out.print(f"[bold]Built {visible(str(built.folder))}[/bold], a {built.kind} study")
    out.print(
        f"{units(built.n_raters, who)}, {units(built.n_prompts, 'prompt')} "
        f"({units(built.n_calibration, 'calibration item')}), {units(built.n_packets, 'page')}, "
        f"{each} a person"
    )
    if built.kind == "rating":
        told = ", ".join(f"{kind} in {n}" for kind, n in built.changes.items()) or "nothing"
        out.print(f"Shown: {units(built.n_responses, 'response')}; form brought into line: {told}")
    out.print(visible(f"What unblinds stays in {built.folder / 'organiser'}, personal links too."))
    out.print(visible(f"Next: areopagus study serve {built.folder}"))
    show_notices(built.notices)


def show_collected(found: Collected) -> None:
    """What came back, rater by rater, and what to look at."""
    out = console()
    word = "scored whole" if found.kind == "rating" else "handed in"
    out.print(
        f"{found.n_pages_done} of {units(found.n_pages, 'page')} {word}; "
        f"{units(len(found.rows), 'row')}"
    )
    if found.raters:
        names = ["rater", "pages", "scores", "min/page", "weak last", "gap", "alike"]
        rows = table("", names)
        for one in found.raters:
            rows.add_row(
                visible(one.rater_id, width=20),
                f"{one.n_done}/{one.n_pages}",
                f"{one.n_scores}/{one.n_scores_asked}",
                number(one.minutes, 1),
                f"{one.n_floor_seen}/{one.n_floor}" if one.n_floor else "–",
                number(one.all_models_gap, 2),
                "–" if one.alike is None else f"{one.alike:.0%}",
            )
        out.print(rows)
        out.print(
            "weak last: quality-floor pages with the weak response last; gap: models' scores where "
            "only models stand, less elsewhere; alike: pages with all responses equal"
        )
        for one in found.raters:
            if one.flags:
                out.print(visible(f"Look at {one.rater_id}: {'; '.join(one.flags)}"))
    out.print(visible(f"Wrote {found.table}"))
    show_notices(found.notices)


def show_plan(made: StudyPlan) -> None:
    """Assumptions, a table of designs, and the cheapest that does."""
    out = console()
    is_power = made.goal == "alt-test"
    what = {
        "difference": "half-width of the mean difference of two sides",
        "agreement": "half-width of the panel's mean tau with people",
        "alt-test": "power of the alt-test",
    }[made.goal]
    sign = "at least" if is_power else "at most"
    level = "" if is_power else f", {made.level:.0%} interval"
    out.print(f"[bold]Wanted: {what} {sign} {made.wanted:g}{level}[/bold]")
    for one in made.assumptions:
        out.print(f"  {one.name} = {one.value:.3g}: {one.meaning} ({visible(one.origin)})")
    raters = sorted({cell.per_prompt for cell in made.cells})
    rows = table("", ["prompts", *(f"{count} raters" for count in raters)], left=0)
    values = {(cell.prompts, cell.per_prompt): cell for cell in made.cells}
    for prompts in sorted({cell.prompts for cell in made.cells}):
        shown = [str(prompts)]
        for count in raters:
            cell = values[prompts, count]
            text = "–" if math.isnan(cell.value) else f"{cell.value:.3f}"
            shown.append(f"{text}{' *' if cell.meets else '  '}")
        rows.add_row(*shown)
    out.print(rows)
    error = max((cell.mc_error for cell in made.cells if cell.mc_error == cell.mc_error), default=0)
    chance = f"; Monte Carlo error at most {error:.3f}; seed {made.seed}" if error else ""
    out.print(f"* does. Values: {made.method}{chance}")
    best = made.cheapest
    if best is None:
        out.print("[bold]None of these designs does.[/bold]")
    else:
        out.print(
            f"[bold]Fewest rated pages: {best.prompts} prompts x {best.per_prompt} raters = "
            f"{best.ratings} pages[/bold] ({best.value:.3f})"
        )
    for note in made.notes:
        out.print(f"Note: {note}")
