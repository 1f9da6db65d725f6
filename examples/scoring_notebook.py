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
scores = run.scores
print(scores[["response_id", "status", "composite", "sd", "disagreement"]].to_string())
judgments = run.judgments
scored = judgments[judgments["status"] == "scored"]  # an abstention's integers do not count
print(scored.groupby("axis")["argumentative_soundness"].mean())

# %% Where the panel disagrees most, persona by persona; and who got no number, and why.
personas = [name for name in scores.columns if name.startswith("persona_")]
for _, row in scores.nlargest(3, "sd").iterrows():
    means = row[personas].dropna().astype(float).sort_values()
    severest, mildest = (name.removeprefix("persona_") for name in means.index[[0, -1]])
    print(
        f"{row['response_id']}: SD {row['sd']} ({row['disagreement']}), "
        f"from {means.iloc[0]} by {severest} to {means.iloc[-1]} by {mildest}"
    )
for row in scores[scores["status"] != "scored"].itertuples():
    print(f"{row.response_id}: {row.status}, {row.reason}")

# %% One more persona: only its own judgments are asked, the others come from the ledger.
with Panel(persona_folders=[examples / "personas"]) as wider:
    with_planner = wider.score_many(examples / "responses.csv", out="runs/notebook-planner")
print(with_planner.record["sessions"][-1]["calls"])

# %% The holistic mode: the rubric is shown, and one integer is asked for.
with Panel(mode="holistic") as single:
    holistic = single.score_many(examples / "responses.csv", out="runs/notebook-holistic")
both = scores[["response_id", "composite"]].merge(
    holistic.scores[["response_id", "overall"]], on="response_id"
)
print(both.to_string())

# %% Close what was opened.
panel.close()
