"""`areopagus rubrics`: list, show, check."""

from __future__ import annotations

import click

from .display import printable


@click.group()
def rubrics() -> None:
    """List, show and check rubric files."""


@rubrics.command("list")
def list_them() -> None:
    """List the rubrics that can be named."""
    from ..rubrics import list_rubrics, load_rubric
    from .display import console, table, visible

    rows = table("", ["rubric", "dimensions", "scale", "label"], left=4)
    for item in list_rubrics():
        rubric = load_rubric(item.name)
        rows.add_row(
            visible(rubric.id),
            str(len(rubric.dimensions)),
            f"{rubric.scale.low}–{rubric.scale.high}",
            visible(rubric.label),
        )
    console().print(rows)


@rubrics.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show rubric NAME (or FILE) as a judge reads it."""
    from ..judges.prompt import rubric_text
    from ..judges.templates import load_template
    from ..rubrics import load_rubric

    click.echo(printable(rubric_text(load_rubric(name), load_template())))


@rubrics.command("check")
@click.argument("files", nargs=-1, required=True)
def check(files: tuple[str, ...]) -> None:
    """Check rubric FILES; every fault is reported."""
    from ..errors import InputError, InputFault
    from ..rubrics import load_rubric

    faults: list[InputFault] = []
    for path in files:
        try:
            rubric = load_rubric(path if "/" in path else f"./{path}")
        except InputError as error:
            faults.extend(error.faults)
        else:
            click.echo(
                f"{printable(path)}: {rubric.id}, {len(rubric.dimensions)} dimensions, "
                f"scale {rubric.scale.low} to {rubric.scale.high}, sha256 {rubric.sha256[:12]}"
            )
    if faults:
        raise InputError(faults)
