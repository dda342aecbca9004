"""Writes what is generated: `types.py` from docs/openapi.json, and `_sync/` from `_async/`.

With --check it writes nothing and fails if a file differs.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "headwater"
OPENAPI = ROOT.parent.parent / "docs" / "openapi.json"

Schema = dict[str, Any]

TYPES_HEAD = '''"""The types of the API, generated from docs/openapi.json by scripts/generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''


class Types:
    """Converts the schemas of an OpenAPI document to typed dictionaries."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = schemas
        self.classes: list[str] = []
        self.aliases: list[str] = []

    def text(self) -> str:
        for name, schema in sorted(self.schemas.items()):
            self.define(name, schema)
        return "\n\n".join([TYPES_HEAD, *self.classes]) + "\n\n" + "\n".join(self.aliases)

    def define(self, name: str, schema: Schema) -> None:
        if "properties" in schema:
            self.classes.append(self.typed_dict(name, schema))
            return
        variants = schema.get("oneOf", [])
        if variants and all("properties" in variant for variant in variants):
            names = [self.variant_name(name, variant) for variant in variants]
            for variant_name, variant in zip(names, variants, strict=True):
                self.define(variant_name, variant)
            expression = " | ".join(names)
        else:
            expression = self.expression(schema)
        doc = comment(schema)
        self.aliases.append(f'{doc}{name}: TypeAlias = "{expression}"\n')

    def variant_name(self, name: str, schema: Schema) -> str:
        """`StdoutEvent`: by the constant that tells it from the others, or its first field."""
        properties: dict[str, Schema] = schema["properties"]
        tags = [v["enum"][0] for v in properties.values() if len(v.get("enum", [])) == 1]
        tag = tags[0] if tags else next(iter(properties))
        return "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", tag)) + name

    def typed_dict(self, name: str, schema: Schema) -> str:
        required = set(schema.get("required", []))
        fields = {
            key: (self.expression(value), key in required, value)
            for key, value in schema["properties"].items()
        }
        if any(not key.isidentifier() or keyword.iskeyword(key) for key in fields):
            lines = [
                f'        "{key}": "{kind}",'
                if needed
                else f'        "{key}": NotRequired["{kind}"],'
                for key, (kind, needed, _) in fields.items()
            ]
            body = "\n".join(lines)
            doc = comment(schema)
            return f'{doc}{name} = TypedDict(\n    "{name}",\n    {{\n{body}\n    }},\n)\n'
        lines = [f"class {name}(TypedDict):"]
        if doc := described(schema):
            lines.append(f'    """{doc}"""\n')
        for key, (kind, needed, value) in fields.items():
            if doc := described(value):
                lines.append(f"    # {doc}")
            lines.append(f"    {key}: {kind if needed else f'NotRequired[{kind}]'}")
        if not fields:
            lines.append("    pass")
        return "\n".join(lines) + "\n"

    def expression(self, schema: Schema | bool) -> str:
        if isinstance(schema, bool):
            return "Any"
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[-1]
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(v) for v in schema['enum'])}]".replace('"', "'")
        if variants := schema.get("oneOf") or schema.get("anyOf"):
            return " | ".join(dict.fromkeys(self.expression(variant) for variant in variants))
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return " | ".join(self.simple(kind, schema) for kind in kinds) or "Any"

    def simple(self, kind: str, schema: Schema) -> str:
        if kind == "array":
            return f"list[{self.expression(schema.get('items', True))}]"
        if kind == "object":
            if "properties" in schema:
                return "dict[str, Any]"
            return f"dict[str, {self.expression(schema.get('additionalProperties', True))}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(
            kind, "None"
        )


def described(schema: Schema) -> str:
    text: str = schema.get("description", "") if isinstance(schema, dict) else ""
    return " ".join(text.split()).replace('"""', "'''").replace("\\", "\\\\")


def comment(schema: Schema) -> str:
    doc = described(schema)
    return f"# {doc}\n" if doc else ""


SYNC_HEAD = "# Generated from _async/{name} by scripts/generate.py. Do not edit.\n"
SYNC = [
    (r"\b(Abstract)?Async(?=[A-Z])", r"\1"),
    (r"\basync (?=def|for|with)", ""),
    (r"\bawait ", ""),
    (r"\b_async\b", "_sync"),
    (r"\b__a(?=enter__|exit__|iter__|next__)", "__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\ba(?=iter_bytes|close\b|read\b|closing\b)", ""),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\basyncio\.Lock\b", "threading.Lock"),
    (r"^import asyncio  # for sleep$", "import time"),
    (r"^import asyncio  # for locks and sleep$", "import threading\nimport time"),
    (r"\bwebsockets\.asyncio\b", "websockets.sync"),
]


def synchronous(name: str, text: str) -> str:
    for pattern, replacement in SYNC:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return SYNC_HEAD.format(name=name) + text


def generated() -> dict[Path, str]:
    document = json.loads(OPENAPI.read_text())
    files = {PACKAGE / "types.py": Types(document["components"]["schemas"]).text()}
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        files[PACKAGE / "_sync" / source.name] = synchronous(source.name, source.read_text())
    return files


def main() -> int:
    stale = [
        path for path, text in generated().items() if not path.exists() or path.read_text() != text
    ]
    if "--check" in sys.argv:
        for path in stale:
            print(
                f"{path.relative_to(ROOT)} is not current: run scripts/generate.py", file=sys.stderr
            )
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(generated()[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
