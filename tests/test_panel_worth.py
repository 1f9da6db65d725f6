"""The page "What is a panel worth?" shows what its script computes of the stored scores."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
import yaml
from test_figures import NUMBER_WORDS, numerals_outside

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "start" / "panel-worth.md"
REAL = ROOT / "examples" / "real"
SUMMEVAL = ROOT.parent / "shared/data/summeval/human_ratings_12systems.csv.gz"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.long
def test_every_table_and_the_picture_are_made_of_the_stored_scores(tmp_path: Path) -> None:
    worth = module(ROOT / "examples/protocol/panel_worth.py")
    judges, people = REAL / "judges.parquet", REAL / "people.parquet"
    study = worth.Study(judges, people, tmp_path)
    own = worth.Run.from_judgments(people, tmp_path / "people", columns={"rater_id": "rater_place"})
    drawing = tmp_path / "picture.svg"
    made = worth.blocks(study, own, drawing)
    assert made == {name: block(f"worth: {name}") for name in made}
    text = re.compile(r"<text[^>]*>([^<]*)</text>")
    shown = [text.findall(path.read_text("utf-8")) for path in (
        drawing, ROOT / "docs/pictures/panel-worth.svg")]  # fmt: skip
    assert shown[0] == shown[1] != []


EXPERTS = "three experts and five crowd workers each rated the same 1,200 summaries"


def test_the_table_and_the_counts_of_experts_are_those_of_the_ratings() -> None:
    if not SUMMEVAL.is_file():
        pytest.skip(f"no {SUMMEVAL.name} on this machine")
    ratings = pd.read_csv(SUMMEVAL)
    raters = ratings.groupby(["doc_id", "system_id"])["rater"].agg(lambda ids: tuple(set(ids)))
    assert raters.map(len).eq(len(ratings["rater"].unique())).all()
    n_experts, n_crowd = (
        NUMBER_WORDS[ratings.loc[ratings["rater"].str.startswith(kind), "rater"].nunique()]
        for kind in ("expert", "turker")
    )
    assert f"{n_experts} experts and {n_crowd} crowd workers" in EXPERTS
    assert f"each rated the same {len(raters):,} summaries" in EXPERTS
    assert module(ROOT / "docs/tools/experts.py").experts_and_crowd(SUMMEVAL) == block("experts")


def test_the_figures_of_the_readme_stand_in_the_tables_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    described = re.search(r"!\[(Agreement with a person[^\]]*)\]", readme)
    assert described is not None
    rows = {cells[0]: cells for cells in map(_cells, block("worth: subsets").splitlines())}
    for label, name in (
        ("one judge", "one judge"),
        ("four wordings of one model", "4 wordings of one model"),
        ("five models", "5 models, one wording"),
        ("all twenty", "all 20"),
    ):
        figure = re.search(rf"{label} (\.\d+)".replace(" ", r"\s"), described[1])
        assert figure is not None, label
        assert rows[name][2] == f"0{figure[1]}"
    beside = [_cells(line) for line in block("worth: beside").splitlines()[2:]]
    known = [float(cells[1]) for cells in beside if cells[-1] == "better"]
    assert f"one more crowd worker {sum(known) / len(known):.2f}".replace("0.", ".") in described[1]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


JUDGES, PEOPLE = (pd.read_parquet(REAL / f"{name}.parquet") for name in ("judges", "people"))
CRITERIA = ["relevance", "coherence", "empathy", "surprise", "engagement", "complexity"]


def test_every_number_of_the_text_is_that_of_the_data() -> None:
    judges, people = JUDGES, PEOPLE
    n_models, n_wordings = judges["model"].nunique(), judges["persona"].nunique()
    n_judges, n_stories = n_models * n_wordings, judges["response_id"].nunique()
    n_raters = int(people.groupby("response_id").size().unique().item())
    models, wordings, raters = (NUMBER_WORDS[n] for n in (n_models, n_wordings, n_raters))
    billions = [int(n) for n in re.findall(r"-(\d+)B\b", " ".join(judges["model"].unique()))]
    rows = {cells[0]: cells for cells in map(_cells, block("worth: subsets").splitlines()[2:])}
    single = [cell for line in block("worth: judges").splitlines()[2:] for cell in _cells(line)[1:]]
    beside = [_cells(line) for line in block("worth: beside").splitlines()[2:]]
    settled = [cells[0] for cells in beside if cells[-1] == "better"]
    agreeing = NUMBER_WORDS[len(settled)]
    components = block("worth: components")
    share = re.search(r"stories of one prompt \| (\d+)%", components)
    of_response = re.search(r"^(\d+) judgments of a response", components, re.MULTILINE)
    assert share is not None
    assert of_response is not None
    assert int(share[1]) < 100 / 3
    # "The first five to ten judges bring most of the gain."
    by_one, by_five, by_ten, by_all = (
        float(rows[name][2])
        for name in ("one judge", "5 drawn at random", "10 drawn at random", f"all {n_judges}")
    )
    assert by_all - by_five < by_five - by_one
    assert by_all - by_ten < by_ten - by_five
    experts = [re.findall(r"\d\.\d\d(?= \[)", line) for line in block("experts").splitlines()[2:]]
    better = NUMBER_WORDS[sum(expert > crowd for expert, crowd in experts)]
    script = (ROOT / "examples/protocol/panel_worth.py").read_text("utf-8")
    assert "np.quantile(values, (0.05, 0.95)) if len(sets) > 20" in script
    protocol = yaml.safe_load((ROOT / "examples/protocol/panel.yaml").read_text("utf-8"))
    phrases = (
        f"{raters} crowd workers rated each of {n_stories:,} short stories",
        f"{models.title()} models of 2023 (ChatGPT and {NUMBER_WORDS[n_models - 1]} open ones of",
        f"{min(billions)} to {max(billions)} billion parameters)",
        f"each in {wordings} wordings of the question",
        f"which makes {NUMBER_WORDS[n_judges]}.",
        "the first five to ten judges bring most of the gain",
        f"The best single judge ({max(single)}) comes close to",
        f"{models} models ({rows[f'{n_models} models, one wording'][2]})",
        f"{wordings} wordings of one model, {models} models, judges drawn at random",
        f"all {NUMBER_WORDS[n_judges]}, beside one more person",
        "1 is full agreement and 0 is chance",
        f"{agreeing} criteria on which people are shown to agree with each other",
        f"({', '.join(settled[:-1])} and {settled[-1]})",
        f"the {agreeing} criteria on which people agree",
        "with more than 20 sets, from the 5th to the 95th percentile",
        "the 95% interval of one more person", "are 95% intervals", "with 95% intervals",
        "between two people", "about two models' stories", "0.5 is chance", "*Twice the length*",
        EXPERTS,
        f"better on {better} of {NUMBER_WORDS[len(experts)]} dimensions",
        "less than a third of the variance",
        f"About {of_response[1]} of the {n_judges} planned judgments of a response",
        f"means of all {NUMBER_WORDS[len(CRITERIA)]} criteria",
        f"the mean of the {raters} ratings",
        f"has {NUMBER_WORDS[len(protocol['models'])]} models of your choice",
    )  # fmt: skip
    page = PAGE.read_text("utf-8")
    assert numerals_outside(page, phrases, r"<!-- [\w: ]+ -->\n.*?<!-- end -->") == []


def test_the_counts_beside_the_data_are_those_of_the_data() -> None:
    judges, people, n_criteria = JUDGES, PEOPLE, len(CRITERIA)
    n_stories, n_respondents = (
        judges[f"{name}_id"].nunique() for name in ("response", "respondent")
    )
    models, wordings = (NUMBER_WORDS[judges[name].nunique()] for name in ("model", "persona"))
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for phrase in (
        f"{models.title()} models and some crowd workers judged the same public stories",
        f"{n_stories:,} stories, judged by people and by {models} models in {wordings} wordings",
    ):
        assert phrase in readme
    about = (REAL / "README.md").read_text("utf-8")
    phrases = (
        f"{n_stories:,} stories for {judges['prompt_id'].nunique()} prompts",
        f"written by {NUMBER_WORDS[n_respondents - 1]} story models and by people",
        f"`judges.parquet` | {len(judges):,}, one for each",
        f"`model` ({models}) and `persona` ({wordings} wordings",
        f"{NUMBER_WORDS[n_criteria]} criteria from 1 to 5",
        f"`people.parquet` | {len(people):,}, one for each",
        f"`unreadable` ({(judges['status'] == 'unreadable').sum()} rows)",
        f"The {len(people) * n_criteria:,} ratings in that file equal those",
        f"in the {(judges['respondent_id'] == 'Human').sum() // 20} human stories",
        "or third rating", "TACL 2024",
    )  # fmt: skip
    assert numerals_outside(about, phrases, r"\(commit \w+\)") == []
    assert {*CRITERIA} <= {*judges} & {*people}
