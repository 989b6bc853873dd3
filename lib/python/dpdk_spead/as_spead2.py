# SPDX-License-Identifier: BSD-3-Clause
"""Lets the imports of spead2 that follow find this package: import it first."""

import importlib
import sys

for _name in ["", ".recv", ".recv.asyncio", ".send", ".send.asyncio"]:
    sys.modules["spead2" + _name] = importlib.import_module("dpdk_spead" + _name)
