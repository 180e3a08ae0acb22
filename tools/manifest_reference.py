"""Write what is generated from the manifest's model: the reference page and the JSON schema."""

from __future__ import annotations

import json
from pathlib import Path

from atoll.manifest.describe import json_schema, reference_page

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """Return the text of each generated file by its path."""
    return {
        "docs/reference/manifest.md": reference_page(),
        "docs/reference/manifest.schema.json": json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    for name, text in generated().items():
        (ROOT / name).write_text(text, encoding="utf-8")
        print(f"wrote {name}")
