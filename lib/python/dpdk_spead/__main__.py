# SPDX-License-Identifier: BSD-3-Clause
"""Shows what is there: versions, CPUs, huge pages, interfaces, and the variables that have an effect.

usage: python3 -m dpdk_spead
"""

import os
import platform
import socket
import sys
from pathlib import Path
from typing import List

import numpy

from . import __version__, _native

VARIABLES = ["DPDK_SPEAD_INTERFACE", "SPEAD2_IBV_INTERFACE", "DPDK_SPEAD_LCORES", "DPDK_SPEAD_MAIN_CPU",
             "DPDK_SPEAD_EAL_MEMORY", "DPDK_SPEAD_EAL", "DPDK_SPEAD_NAME", "DPDK_SPEAD_LOG_LEVEL"]


def _huge_pages() -> str:
    found = []
    for size in sorted(Path("/sys/kernel/mm/hugepages").glob("hugepages-*")):
        free = int((size / "free_hugepages").read_text())
        found.append(f"{free} free of {size.name.split('-')[1]}")
    return ", ".join(found) or "the kernel has none"


def _interfaces() -> List[str]:
    lines = []
    for _, name in socket.if_nameindex():
        device = Path("/sys/class/net", name, "device", "driver")
        driver = device.resolve().name if device.exists() else "virtual"
        lines.append(f"  {name:<16}{driver}")
    return lines


def main(arguments: List[str]) -> int:
    """Prints the facts. Returns the exit status."""
    if arguments:
        print(__doc__.strip() if arguments[0] in ("-h", "--help")
              else f"dpdk_spead: the argument {arguments[0]!r} is unknown; it takes none",
              file=sys.stdout if arguments[0] in ("-h", "--help") else sys.stderr)
        return 0 if arguments[0] in ("-h", "--help") else 2
    print(f"dpdk_spead      {__version__} on DPDK {_native.dpdk_version()}")
    print(f"Python          {platform.python_version()}, numpy {numpy.__version__}")
    print(f"CPUs            {', '.join(map(str, sorted(os.sched_getaffinity(0))))}")
    print(f"huge pages      {_huge_pages()}")
    for name in VARIABLES:
        if name in os.environ:
            print(f"{name}={os.environ[name]}")
    print("interfaces")
    print("\n".join(_interfaces()))
    print("`dpdk-spead check INTERFACE` says whether a port can be opened, and with which driver.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
