#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C++ source that holds the files of the live page.

usage: embed_page.py SOURCE FILE...
"""

import hashlib
import sys
from pathlib import Path

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def literal(line):
    """A line as a C++ string literal: everything but plain ASCII in octal, which has no fourth digit."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in line) + '"'


output, names = Path(sys.argv[1]), sys.argv[2:]
entries = []
for name in names:
    file = Path(name)
    data = file.read_bytes()
    lines = "\n     ".join(literal(line) for line in data.splitlines(keepends=True))
    tag = hashlib.sha256(data).hexdigest()[:16]
    entries.append(f"""    {{"/page/{file.name}", "{TYPES[file.suffix]}", "\\"{tag}\\"",
     std::string_view({lines}, {len(data)})}},""")
text = "\n".join(entries)
output.write_text(f"""// Made from config/page.
#include "observe/page.hpp"

namespace spead::observe {{

namespace {{

constexpr PageFile kPageFiles[] = {{
{text}
}};

}}  // namespace

std::span<const PageFile> page_files() noexcept {{
    return kPageFiles;
}}

}}  // namespace spead::observe
""", encoding="ascii")
