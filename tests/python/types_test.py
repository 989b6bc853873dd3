# SPDX-License-Identifier: BSD-3-Clause
"""Types of the package: mypy's, and the stub of the compiled part."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

PACKAGE = Path(__file__).resolve().parents[2] / "lib/python/dpdk_spead"


def run(tmp_path, *words):
    done = subprocess.run([sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-5000:]


def test_mypy_finds_nothing(tmp_path):
    run(tmp_path, "mypy", "--ignore-missing-imports", "--hide-error-context", str(PACKAGE))


def test_the_stub_has_what_the_compiled_part_has(tmp_path):
    # pybind11's classes have a metaclass of its own, and constructors that take anything to refuse it.
    allowed = tmp_path / "allowed"
    allowed.write_text("dpdk_spead\\._native\\.[A-Z]\\w*\n.*\\.__init__\n")
    run(tmp_path, "mypy.stubtest", "--allowlist", str(allowed), "--ignore-unused-allowlist", "dpdk_spead._native")
