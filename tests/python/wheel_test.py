# SPDX-License-Identifier: BSD-3-Clause
"""What the wheel would hold, by its configuration. Building it takes minutes."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PACKAGE = TOP / "lib/python/dpdk_spead"
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
NATIVE = "_native"
# How many times longer than usual to wait: emulated machines are slow.
PATIENCE = float(os.environ.get("DPDK_SPEAD_PATIENCE", "1"))


def run(*words):
    # A sanitizer that is loaded before this interpreter does not belong into compilers.
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "PYTHONPATH")}
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment, timeout=300 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def modules():
    """Returns the files of the package in this tree, below its directory."""
    return {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyi", ".typed")}


def without_extension(paths):
    """Returns the paths but for the compiled module's, of which there is one."""
    compiled = [path for path in paths if Path(path).suffix == ".so"]
    assert len(compiled) == 1 and Path(compiled[0]).name.startswith(NATIVE), compiled
    return set(paths) - set(compiled)


def test_its_description_is_a_right_one():
    metadata = pytest.importorskip("pyproject_metadata").StandardMetadata.from_pyproject(PROJECT, TOP)
    assert metadata.name == "dpdk-spead" and metadata.dynamic == ["version"]
    assert [requirement.name for requirement in metadata.dependencies] == ["numpy"]
    assert "Python" in metadata.readme.text and "BSD" in metadata.license.text
    assert metadata.requires_python.contains("{}.{}.{}".format(*sys.version_info))


def what_is_absent():
    """Returns what meson's setup needs and this machine lacks, in words; empty: nothing."""
    for program in ("meson", "pkg-config"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    found = subprocess.run(["pkg-config", "--exists", "libdpdk"], timeout=60 * PATIENCE, check=False)
    return "" if found.returncode == 0 else "pkg-config finds no libdpdk"


def test_it_holds_the_whole_package_and_nothing_else(tmp_path):
    if absent := what_is_absent():
        pytest.skip(absent)
    arguments = PROJECT["tool"]["meson-python"]["args"]
    (tags,) = [word.removeprefix("--tags=") for word in arguments["install"]]
    run("meson", "setup", tmp_path, TOP, *arguments["setup"])
    plan = json.loads(run("meson", "introspect", "--install-plan", tmp_path))
    held = [entry["destination"].partition("/dpdk_spead/")
            for kind in plan.values() for entry in kind.values() if entry["tag"] in tags.split(",")]
    assert len({root for root, _, _ in held}) == 1, held
    assert without_extension([path for _, _, path in held]) == modules()
