"""The JSON Schemas that stand beside the built-in YAML files, made from the models.

`python -m areopagus.schemas` writes them anew into a checkout after a model has changed.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from . import personas, rubrics
from .attacking import corpus, examples
from .attacking.family import AttackFamily
from .attacking.load import ExampleTexts
from .graphs import framings
from .judges import templates
from .yaml_files import schema_text


def schema_files() -> dict[Path, str]:
    """Each schema's file and the text it should have."""
    models: list[tuple[str | None, str, type[BaseModel]]] = [
        (personas.__file__, "persona", personas.Persona),
        (rubrics.__file__, "rubric", rubrics.Rubric),
        (templates.__file__, "judge_template", templates.JudgeTemplate),
        (framings.__file__, "framing", framings.Framing),
        (corpus.__file__, "attack", AttackFamily),
        (examples.__file__, "base_texts", ExampleTexts),
    ]
    return {
        Path(module).with_name(f"{kind}.schema.json"): schema_text(model)
        for module, kind, model in models
        if module is not None
    }


def main() -> None:
    """Writes every schema whose text is not current, and names it."""
    for path, text in schema_files().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path)


if __name__ == "__main__":
    main()
