#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes a C++ source that holds a file's bytes.

usage: embed.py OBJECT SOURCE
"""

import sys
from pathlib import Path

data = Path(sys.argv[1]).read_bytes()
lines = [", ".join(f"0x{byte:02x}" for byte in data[at:at + 16]) for at in range(0, len(data), 16)]
Path(sys.argv[2]).write_text(f"""// Made from {Path(sys.argv[1]).name}.
#include "drivers/xdp_program.hpp"

namespace spead::drivers {{

namespace {{

alignas(8) constexpr unsigned char kObject[] = {{
    {(","+chr(10)+"    ").join(lines)}}};

}}  // namespace

std::span<const unsigned char> steer_object() noexcept {{
    return kObject;
}}

}}  // namespace spead::drivers
""")
