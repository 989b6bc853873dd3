# SPDX-License-Identifier: BSD-3-Clause
"""Lets the imports of spead2 that follow find this package: import it first."""

import importlib
import sys

from .items import ItemGroup

_ABSENT = {
    "_spead2": "use the classes of spead2, spead2.recv and spead2.send: they are the same ones",
    "tools": "run the program dpdk-spead in place of the tools: `dpdk-spead send` and `dpdk-spead recv`",
}


class _Refusals:
    """A finder that says what to use in place of what this package does not have.

    ModuleNotFoundError would lose its words in `from spead2 import tools`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, absent = name.partition(".")
        if package in ("spead2", "dpdk_spead") and absent in _ABSENT:
            raise ImportError(f"dpdk_spead has no {absent} of spead2; {_ABSENT[absent]}", name=name)


for _name in ["", ".recv", ".recv.asyncio", ".send", ".send.asyncio"]:
    sys.modules["spead2" + _name] = importlib.import_module("dpdk_spead" + _name)
sys.meta_path.insert(0, _Refusals)
# Programs of spead2 catch the errors of update().
ItemGroup._raises = True
