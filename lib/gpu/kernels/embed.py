#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C++ source that holds the kernels' text.

usage: embed.py PTX SOURCE
"""

import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="ascii")
if ')ptx"' in text:
    sys.exit(f"{sys.argv[1]}: cannot be embedded: it has the end of a raw string")
Path(sys.argv[2]).write_text(f"""// Made from {Path(sys.argv[1]).name}.
#include "gpu/gatherer.hpp"

namespace spead::gpu {{

const char* kernels_ptx() noexcept {{
    return R"ptx({text})ptx";
}}

}}  // namespace spead::gpu
""", encoding="ascii")
