#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What runs in the guest of scripts/vm: the tests of every *_test.py beside it, as one list of TAP lines. With words,
only the tests whose names contain one."""

import importlib
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "system"), str(HERE.parent / "netns")]

import harness  # noqa: E402


def main():
    loader = unittest.defaultTestLoader
    modules = [importlib.import_module(path.stem) for path in sorted(HERE.glob("*_test.py"))]
    harness.main([loader.loadTestsFromModule(module) for module in modules])


if __name__ == "__main__":
    main()
