"""What a panel is worth, for models of your own: scores two sets and writes one page.

    python examples/protocol/run.py --stories hanna_stories_annotations.csv --out runs/protocol

README.md beside this file says what it answers, what it costs and what is sent to whom.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pandas as pd
from panel_worth import Study, blocks, mean_of, put_into, table

from areopagus import AreopagusError, InputError, InputFault, Panel, Run, RunInterrupted

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "responses.csv"
PARTS = ("examples", "stories")
CRITERIA = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
COLUMNS = ("Story ID", "Prompt", "Story", "Model", *CRITERIA)


def read_stories(path: Path, n_prompts: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the stories of the first prompts, and people's ratings of them.

    Args:
        path: HANNA's annotations: a row a rating, three for each story.
        n_prompts: prompts to take, in the order of the file.

    Raises:
        InputError: no such file, or one without HANNA's columns.
    """
    if n_prompts < 1:
        raise InputError(f"--prompts: must be 1 or more, got {n_prompts}")
    hint = "README.md beside run.py names the command that downloads HANNA's annotations."
    if not path.is_file():
        raise InputError([InputFault(str(path), "is not there")], hint=hint)
    frame = pd.read_csv(path, keep_default_na=False)
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        fault = f"has no column {', '.join(missing)}; it has {', '.join(frame.columns)}"
        raise InputError([InputFault(str(path), fault)], hint=hint)
    prompts = {prompt: f"P{n:02d}" for n, prompt in enumerate(frame["Prompt"].drop_duplicates())}
    frame["prompt_id"] = frame["Prompt"].map(prompts)
    frame["response_id"] = frame["prompt_id"] + "_" + frame["Model"]
    frame["rater_place"] = frame.groupby("Story ID").cumcount() + 1
    names = {"Prompt": "prompt_text", "Story": "response_text", "Model": "respondent_id"}
    frame = frame.rename(columns={**names, **{name: name.lower() for name in CRITERIA}})
    chosen = frame[frame["prompt_id"].isin(list(prompts.values())[:n_prompts])]
    chosen = chosen.sort_values(["prompt_id", "Story ID", "rater_place"])
    ids = ["prompt_id", "response_id", "respondent_id"]
    stories = chosen.drop_duplicates("Story ID")[[*ids, "prompt_text", "response_text"]]
    return stories, chosen[[*ids, "rater_place", *(name.lower() for name in CRITERIA)]]


def show_price(panels: dict[str, Panel], sources: dict[str, Any], options: Any) -> None:
    """Prints the calls and the price of both parts, and of both together.

    Raises:
        InputError: the responses of a part cannot be read; nothing is spent yet.
    """
    runs = [panels[name].estimate(sources[name], limit=options.limit) for name in PARTS]
    rows = [
        (run.n_responses, sum(stage.planned for stage in run.stages), run.calls,
         run.likely_usd, run.most_usd)
        for run in runs
    ]  # fmt: skip
    total = tuple(None if None in column else sum(column) for column in zip(*rows, strict=True))
    if options.dry_run:
        print("Dry run: nothing is sent.\n")
    print(f"{'':10}  responses  judgments   calls    likely   at most")
    for name, (n, judgments, calls, *prices) in zip((*PARTS, "both"), (*rows, total), strict=True):
        likely, most = ("unknown" if usd is None else f"${usd:,.2f}" for usd in prices)
        print(f"{name:10}{n:>11,}{judgments:>11,}{calls:>8,}{likely:>10}{most:>10}")
    print()
    for name in sorted({name for run in runs for name in run.unpriced}):
        print(f"Price unknown: {name}. Give it under `prices` in {options.panel}.")
    for sentence in runs[0].assumptions:
        print(textwrap.fill(sentence, 80))
    print(f"The cap (--max-cost) is ${options.max_cost:,.2f} for both parts and is never passed.")
    if (total[3] or 0) > options.max_cost:
        print("It will stop the run early: raise it, or take fewer prompts (--prompts).")
    print(flush=True)


def write_page(out: Path, runs: dict[str, Run], people: Path) -> Path:
    """Writes the page of both runs, and returns its path."""
    with tempfile.TemporaryDirectory() as work:
        study = Study(runs["stories"].path, people, Path(work))
        columns = {"rater_id": "rater_place"}
        of_people = Run.from_judgments(people, Path(work) / "people", columns=columns)
        made = blocks(study, of_people, out / "panel-worth.svg" if study.settled else None)
    identity = runs["stories"].record["identity"]
    counts = table(
        ["part", "responses", "judgments", "cost of the replies"],
        [[name, f"{len(run.scores):,}", f"{run.n_scored:,} scored of {run.n_planned:,} planned",
          f"${run.record['cost']['replies_usd']:,.2f}"] for name, run in runs.items()],
    )  # fmt: skip
    judges = f"{len(identity['personas'])} personas on {', '.join(identity['models'])}"
    made["asked"] = f"{judges}. Times each judge was asked: {identity['repeats']}.\n\n{counts}"
    respondents = sorted(runs["examples"].respondents, key=lambda one: -(one.composite or 0))
    made["examples"] = table(
        ["respondent", "responses scored", "mean composite (1 to 10)"],
        [[one.respondent_id, f"{one.n_scored} of {one.n_responses}", mean_of(one)]
         for one in respondents],
    )  # fmt: skip
    if study.settled:
        made["subsets"] += "\n\n![Agreement with a person by the judges asked](panel-worth.svg)"
    page = out / "panel-worth.md"
    page.write_text(put_into((HERE / "page.md").read_text("utf-8"), made), "utf-8")
    return page


def main() -> int:
    """Scores both parts and writes the page, or says what that would cost."""
    parser = argparse.ArgumentParser(description="What a panel is worth, for models of your own.")
    parser.add_argument("--stories", type=Path, required=True, help="HANNA's annotations (CSV)")
    parser.add_argument("--out", type=Path, required=True, help="folder for all results")
    parser.add_argument("--panel", type=Path, default=HERE / "panel.yaml", help="models, repeats")
    parser.add_argument("--prompts", type=int, default=20, help="prompts of the stories (20)")
    parser.add_argument("--limit", type=int, help="only the first so many responses of each part")
    parser.add_argument("--max-cost", type=float, default=10.0, help="US dollars, both parts (10)")
    parser.add_argument(
        "--dry-run", action="store_true", help="print calls and price, send nothing"
    )
    options = parser.parse_args()
    stories, ratings = read_stories(options.stories, options.prompts)
    people = options.out / "people.csv"
    sources: dict[str, Any] = {"examples": EXAMPLES, "stories": stories}
    runs: dict[str, Run] = {}
    with (
        Panel.from_file(options.panel) as of_examples,
        Panel.from_file(options.panel, rubric=HERE / "stories.yaml") as of_stories,
    ):
        panels = {"examples": of_examples, "stories": of_stories}
        show_price(panels, sources, options)
        if options.dry_run:
            return 0
        options.out.mkdir(parents=True, exist_ok=True)
        sources["stories"] = options.out / "responses.csv"
        stories.to_csv(sources["stories"], index=False)
        judged = stories["response_id"].head(options.limit or len(stories))
        ratings[ratings["response_id"].isin(judged)].to_csv(people, index=False)
        left = options.max_cost
        for name in PARTS:
            print(f"{name}: {panels[name]}", flush=True)
            run = panels[name].score_many(
                sources[name], options.out / name, limit=options.limit, max_cost=left
            )
            runs[name], session = run, run.record["sessions"][-1]
            left = max(0.0, left - session["spent_usd"] - session["possibly_spent_usd"])
            print(f"  {run.n_scored:,} scored of {run.n_planned:,} planned judgments")
            print(f"  {session['calls']['sent']:,} calls sent for ${session['spent_usd']:,.2f}")
            if run.state == "budget":
                print("  The cap stopped it. The same command with a higher --max-cost goes on.")
    print(f"The page: {write_page(options.out, runs, people)}")
    return max(run.exit_code for run in runs.values())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RunInterrupted:
        print("Stopped. What was paid is kept; the same command goes on.", file=sys.stderr)
        sys.exit(130)
    except AreopagusError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
