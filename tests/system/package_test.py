#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The files of packages besides the program: the man page, bash completion, and Debian's package files. Building and
installing the packages takes minutes: `scripts/package --check`."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

TOP = Path(__file__).resolve().parents[2]
DEBIAN = TOP / "scripts/debian"
VERSION = re.search(r"(?m)^  version: '(.*)',$", (TOP / "meson.build").read_text())[1]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120 * harness.PATIENCE, check=False, **options)


def help_of(*words):
    return run(harness.program(), *words, "--help").stdout


def listed(heading, text):
    """The names below a heading of a help, as a person reads it: "recv", "--port", "-h"."""
    part = re.search(rf"(?ms)^{heading}:\n(.*?)(?:\n\n|\Z)", text)
    names = re.findall(r"(?m)^  (\S+)", part[1]) if part else []
    return [name for entry in names for name in (entry.split(",") if entry.startswith("-") else [entry])]


def commands():
    """Every command that can be run, as words."""
    for name in listed("Subcommands", help_of()):
        inner = listed("Subcommands", help_of(name))
        yield from [[name, word] for word in inner] if inner else [[name]]


class ManPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run(TOP / "scripts/man-page", harness.program(), env=dict(os.environ, SOURCE_DATE_EPOCH="86400"))
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        cls.page = done.stdout

    def test_it_has_every_command_and_option(self):
        parts = {part.splitlines()[0]: part for part in self.page.split("\n.SS ")[1:]}
        found = list(commands())
        self.assertGreater(len(found), 10)
        self.assertEqual(list(parts), [" ".join(words) for words in found])
        for words in found:
            part = parts[" ".join(words)]
            for option in listed("Options", help_of(*words)):
                if option not in ("-h", "--help"):
                    self.assertIn(option.replace("-", r"\-"), part, words)

    def test_its_head_names_version_and_day(self):
        self.assertTrue(self.page.startswith(f'.TH DPDK\\-SPEAD 1 "1970-01-02" "dpdk\\-spead {VERSION}" '), self.page[:80])

    def test_groff_takes_it(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        done = run("groff", "-man", "-Tutf8", "-ww", "-rLL=100n", input=self.page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        plain = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
        for text in ("dpdk-spead - send and receive SPEAD streams over DPDK", "null|verify|file:DIR|raw:DIR|zarr:DIR|hdf5:DIR", "EXIT STATUS", "--port DEVICE"):
            self.assertIn(text, plain)

    def test_a_program_that_fails_is_named(self):
        done = run(TOP / "scripts/man-page", "/bin/false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/bin/false --help failed with status 1", done.stderr)


class Completion(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="completion-")
        self.addCleanup(scratch.cleanup)
        self.directory = Path(scratch.name)
        for name in ("one.toml", "two.pcap"):
            (self.directory / name).touch()
        (self.directory / "place").mkdir()

    def complete(self, *words):
        """Returns the words that Tab offers behind these, the last of which is begun."""
        script = ". \"$1\"; program=$2; shift 2; COMP_WORDS=(dpdk-spead \"$@\"); COMP_CWORD=$#\n" \
                 "_dpdk_spead \"$program\"; printf '%s\\n' \"${COMPREPLY[@]}\""
        done = run("bash", "-u", "-c", script, "bash", TOP / "config/dpdk-spead.bash", harness.program(), *words,
                   cwd=self.directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return sorted(done.stdout.split())

    def test_every_command(self):
        self.assertEqual(self.complete(""), sorted(listed("Subcommands", help_of())))
        self.assertEqual(self.complete("bench", "l"), ["latency", "link"])
        self.assertEqual(self.complete("ca"), ["capture"])
        self.assertEqual(self.complete("-l", "0,1", "--", "ca"), ["capture"])
        self.assertEqual(self.complete("-l", "0,1", "--", "recv", "--poll", "a"), ["adaptive"])

    def test_every_option_of_every_command(self):
        for words in [[], *commands()]:
            with self.subTest(command=words):
                self.assertEqual(self.complete(*words, "-"), sorted(listed("Options", help_of(*words))))
        self.assertEqual(self.complete("recv", "--on"), ["--on-full", "--on-sink-error"])

    def test_values(self):
        self.assertEqual(self.complete("recv", "--poll", ""), ["adaptive", "busy", "interrupt"])
        self.assertEqual(self.complete("recv", "--quiet", "--poll", "a"), ["adaptive"])
        self.assertEqual(self.complete("recv", "--sink", "f"), ["file:"])
        # Bash makes three words of file:p.
        self.assertEqual(self.complete("recv", "--sink", "file", ":", "p"), ["place"])
        self.assertEqual(self.complete("run", "--config", "o"), ["one.toml"])
        self.assertIn("lo", self.complete("recv", "--port", "l"))
        self.assertEqual(self.complete("recv", "--heaps", ""), [])
        self.assertEqual(self.complete("recv", "--metrics", ""), [])

    def test_arguments(self):
        self.assertEqual(self.complete("replay", "tw"), ["two.pcap"])
        self.assertIn("lo", self.complete("info", "l"))
        self.assertEqual(self.complete("recv", ""), [])
        self.assertEqual(self.complete("attach", "capture1", "--", "sh"), [])


class PackageFiles(unittest.TestCase):
    def test_their_version_is_in_the_changelog(self):
        self.assertIn(f"\n## [{VERSION}] - ", (TOP / "CHANGELOG.md").read_text())
        self.assertEqual(run(harness.program(), "--version").stdout.split()[1], VERSION)

    def test_what_they_take_from_the_tree_is_there(self):
        for path in [*DEBIAN.glob("*.docs"), *DEBIAN.glob("*.examples")]:
            for pattern in path.read_text().split():
                self.assertTrue(list(TOP.glob(pattern)), f"{path.name}: {pattern}")

    def test_each_package_has_files(self):
        names = re.findall(r"(?m)^Package: (\S+)$", (DEBIAN / "control").read_text())
        self.assertEqual(names, ["dpdk-spead", "libdpdk-spead0", "libdpdk-spead-dev", "python3-dpdk-spead"])
        for name in names:
            self.assertTrue((DEBIAN / f"{name}.install").exists(), name)
        for path in DEBIAN.glob("*.*"):
            self.assertIn(path.stem, names)

    def test_they_need_what_the_build_needs(self):
        """Packages that scripts/deps installs for building, but those of tests alone and those that every build has."""
        needs = re.search(r"(?ms)^needs=\(\n(.*?)^\)", (TOP / "scripts/deps").read_text())[1]
        wanted = {line.split()[-1].strip('"') for line in needs.splitlines() if line.strip().startswith('"')}
        wanted -= {"g++", "cmake", "iproute2", "ethtool", "libgtest-dev", "libgmock-dev", "python3-numpy", "python3-pytest",
                   "python3-pytest-asyncio"}
        control = re.search(r"(?ms)^Build-Depends:\n(.*?)^\n", (DEBIAN / "control").read_text())[1]
        self.assertEqual(wanted - {re.split(r"[ ,:]", line.strip())[0] for line in control.splitlines()}, set())

    def test_the_unit_is_made_for_the_package(self):
        """The rule rewrites these two lines of the unit."""
        unit = (TOP / "config/dpdk-spead@.service").read_text()
        self.assertEqual(unit.count("/usr/local/bin/"), 1)
        self.assertEqual(len(re.findall(r"(?m)^# Copy to ", unit)), 1)


class Refusals(unittest.TestCase):
    def test_words_that_package_does_not_know(self):
        for words, says in ((["--what"], "there is no option --what"), (["--jobs"], "--jobs wants a value"),
                            (["--jobs", "0"], "give 1 or more"), (["--suite", "x", "--check"], "exclude each other")):
            done = run(TOP / "scripts/package", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    harness.main()
