# SPDX-License-Identifier: BSD-3-Clause
"""Holds answers of the API against config/api/openapi.json: types, required members, and no members besides."""

import json
import os
from pathlib import Path

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = Path(os.environ["DPDK_SPEAD_SOURCE_ROOT"]) / "config/api/openapi.json"


def why_not():
    """Why there is no check here; empty: there is one."""
    return "" if jsonschema is not None else "jsonschema is not installed (scripts/deps)"


def as_json_schema(part):
    """OpenAPI 3.0 says `nullable` where JSON Schema has one more type."""
    if isinstance(part, list):
        return [as_json_schema(one) for one in part]
    if not isinstance(part, dict):
        return part
    plain = {key: as_json_schema(value) for key, value in part.items() if key != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if part.get("nullable") is True else plain


class Document:
    def __init__(self):
        self.document = json.loads(PATH.read_text(encoding="utf-8"))
        self.components = as_json_schema(self.document["components"])

    def reading_paths(self):
        return [path for path, methods in self.document["paths"].items() if "get" in methods]

    def faults(self, path, method, status, answer):
        """What the answer to a path of the document has wrong, a line each."""
        response = self.document["paths"][path][method]["responses"].get(str(status))
        if response is None:
            return [f"{method} {path} has no status {status}"]
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        schema = as_json_schema(response["content"]["application/json"]["schema"])
        validator = jsonschema.Draft7Validator({**schema, "components": self.components})
        return [f"{method} {path}: {'/'.join(map(str, fault.path))}: {fault.message[:200]}" for fault in validator.iter_errors(answer)]
