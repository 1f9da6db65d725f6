"""Scoring from Python, cell by cell; runs as a script, too, and needs neither key nor network.

With the embedded judge the numbers show how things work, not how good the responses are.
"""

# %% A panel: ten personas on one backend. Name models to have responses judged:
#    Panel(models=["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "ollama_chat/llama3.1"])
from pathlib import Path

from areopagus import Panel

examples = Path(__file__).parent
panel = Panel()
print(panel)

# %% One response. The verdict says how much of the panel stands behind it.
verdict = panel.score(
    "Should museums return objects taken under colonial rule?",
    "It depends on what a return would repair. Where an object was looted, as the descendants of "
    "its makers argue, keeping it continues the wrong, because the claim to it was never given up. "
    "Curators reply that a museum in a capital lets more people see it. That is true, but access "
    "is a reason for loans and not for ownership.",
)
print(verdict.summary())
for criterion, mean in verdict.dimensions.items():
    print(f"  {criterion:26}{mean:5.2f}")
print("interval:", verdict.interval, "by", verdict.interval_method)

# %% A file of responses, into a run folder. The same cell again makes no call.
run = panel.score_many(examples / "responses.csv", out="runs/notebook")
print(run)
for respondent in run.respondents:
    print(f"  {respondent.respondent_id:10}{respondent.composite:6.2f}  {respondent.reason or ''}")

# %% As data frames.
scores = run.to_pandas()
print(scores[["response_id", "status", "composite", "sd", "disagreement"]].to_string())
judgments = run.to_pandas("judgments")
scored = judgments[judgments["status"] == "scored"]  # an abstention's integers do not count
print(scored.groupby("axis")["argumentative_soundness"].mean())

# %% Where the panel disagrees most, persona by persona; and who got no number, and why.
rows = [row for row in run.scores() if row["sd"]]
for row in sorted(rows, key=lambda row: -float(row["sd"]))[:3]:
    by_persona = sorted(
        (float(value), name.removeprefix("persona_"))
        for name, value in row.items()
        if name.startswith("persona_") and value
    )
    (low, severest), (high, mildest) = by_persona[0], by_persona[-1]
    print(
        f"{row['response_id']}: SD {row['sd']} ({row['disagreement']}), "
        f"from {low} by {severest} to {high} by {mildest}"
    )
for row in run.scores():
    if row["status"] != "scored":
        print(f"{row['response_id']}: {row['status']}, {row['reason']}")

# %% One more persona: only its own judgments are asked, the others come from the ledger.
with Panel(persona_folders=[examples / "personas"]) as wider:
    with_planner = wider.score_many(examples / "responses.csv", out="runs/notebook-planner")
print(with_planner.record["sessions"][-1]["calls"])

# %% The holistic mode: the rubric is shown, and one integer is asked for.
with Panel(mode="holistic") as single:
    holistic = single.score_many(examples / "responses.csv", out="runs/notebook-holistic")
for whole, parts in zip(holistic.scores(), run.scores(), strict=True):
    five, one = parts["composite"] or "–", whole["overall"] or "–"
    print(f"{parts['response_id']:12} mean of five {five:8} one {one}")

# %% Close what was opened.
panel.close()
