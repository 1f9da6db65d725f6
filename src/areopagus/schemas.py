"""The JSON Schemas of the built-in YAML files and of what `--json` writes, made from the models.

`python -m areopagus.schemas` writes them anew into a checkout after a model has changed.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from .attacks.families import AttackFamily, ExampleTexts
from .audits.definition import Definition
from .audits.hidden_bias.dataset import ConceptFile, Descriptors, OpenForms
from .audits.languages import Language
from .audits.samaritan import dataset as samaritan
from .audits.silverspoon_judgement import dataset as silverspoon
from .audits.silverspoon_professions.occupations import Occupations
from .audits.silverspoon_professions.people import People
from .audits.socioeval.dataset import Classes, MarkerKind, Theme
from .graphs.framings import Framing
from .judges.templates import JudgeTemplate
from .personas import Persona
from .reports.document_json import Result
from .rubrics import Rubric
from .yaml_files import schema_text

_MODELS: dict[str, type[BaseModel]] = {
    "personas/persona": Persona,
    "rubrics/rubric": Rubric,
    "judges/templates/judge_template": JudgeTemplate,
    "graphs/framings/framing": Framing,
    "attacks/corpus/attack": AttackFamily,
    "attacks/examples/base_texts": ExampleTexts,
    "audits/audit": Definition,
    "audits/hidden_bias/descriptors": Descriptors,
    "audits/hidden_bias/overt": OpenForms,
    "audits/hidden_bias/concepts/concepts": ConceptFile,
    "audits/languages/language": Language,
    "audits/samaritan/groups/category": samaritan.Category,
    "audits/samaritan/scenarios/topic": samaritan.Topic,
    "audits/silverspoon_judgement/scenarios/topic": silverspoon.Topic,
    "audits/silverspoon_professions/occupations": Occupations,
    "audits/silverspoon_professions/people": People,
    "audits/socioeval/classes": Classes,
    "audits/socioeval/markers/marker": MarkerKind,
    "audits/socioeval/themes/theme": Theme,
    "reports/result": Result,
}


def schema_files() -> dict[Path, str]:
    """Each schema's file and the text it should have."""
    package = Path(__file__).parent
    return {package / f"{name}.schema.json": schema_text(model) for name, model in _MODELS.items()}


def main() -> None:
    """Writes every schema whose text is not current, and names it."""
    for path, text in schema_files().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path)


if __name__ == "__main__":
    main()
