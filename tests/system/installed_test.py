#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The library as a user has it: installed under a prefix of its own, with docs/examples built against that copy and run."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness

TOP = Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs/examples"
BUILD = Path(harness.program()).resolve().parents[1]
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.cpp"))
LONGEST = 60  # lines of an example
ENDPOINT = "239.10.10.1:7148"


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, **options)


class Copy:
    """An installed copy, with the examples built against it as pkg-config says."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="installed-")
        self.root = Path(self.scratch.name)
        done = run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.root / "root")
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        self.pc = next((self.root / "root").rglob("dpdk-spead.pc"))
        self.lib = self.pc.parents[1]
        self.prefix = next((self.root / "root").rglob("include/spead")).parents[1]
        for path in self.pc.parent.glob("*.pc"):  # the copy was not installed where it says
            path.write_text(re.sub(r"(?m)^prefix=.*$", f"prefix={self.prefix}", path.read_text()))
        self.environment = dict(os.environ, LD_LIBRARY_PATH=str(self.lib), PKG_CONFIG_PATH=str(self.pc.parent),
                                DPDK_SPEAD_LCORES="")

    def flags(self, package):
        words = run("pkg-config", "--cflags", "--libs", package, env=self.environment)
        if words.returncode != 0:
            raise RuntimeError(words.stderr)
        return shlex.split(words.stdout)

    def build(self, name):
        program = self.root / name
        if not program.exists():
            done = run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", EXAMPLES / f"{name}.cpp", "-o", program,
                       *self.flags("dpdk-spead"), "-pthread")
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
        return program

    def build_text(self, name, text, *flags):
        """Builds what a user might write, and no example shows."""
        source, program = self.root / f"{name}.cpp", self.root / name
        source.write_text(text)
        done = run("g++", "-std=c++20", source, "-o", program, *(flags or [*self.flags("dpdk-spead"), "-pthread"]))
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return program

    def run(self, name, *words):
        return run(self.build(name), *words, env=self.environment, cwd=self.root)


def setUpModule():
    global copy
    if not next((BUILD / "lib").glob("libdpdk-spead.so.*"), None):
        raise unittest.SkipTest("this build has no shared library: unity builds leave it out")
    copy = Copy()


def tearDownModule():
    copy.scratch.cleanup()


class Uninstalled(unittest.TestCase):
    def test_a_program_finds_the_headers_and_the_library_of_the_build(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(BUILD / "meson-uninstalled"), LD_LIBRARY_PATH=str(BUILD / "lib"),
                           DPDK_SPEAD_LCORES="")
        words = run("pkg-config", "--cflags", "--libs", "dpdk-spead", env=environment)
        self.assertEqual(words.returncode, 0, words.stderr)
        with tempfile.TemporaryDirectory(prefix="uninstalled-") as scratch:
            program = Path(scratch) / "loopback"
            built = run("g++", "-std=c++20", EXAMPLES / "loopback.cpp", "-o", program, *shlex.split(words.stdout), "-pthread")
            self.assertEqual(built.returncode, 0, built.stderr)
            done = run(program, env=environment, cwd=scratch)
        self.assertEqual(done.stdout, "1000 of 1000 heaps came back as they were\n", done.stderr)


class Installed(unittest.TestCase):
    def test_nothing_but_the_front_door_is_installed(self):
        headers = {str(path.relative_to(copy.prefix)) for path in (copy.prefix / "include").rglob("*") if path.is_file()}
        self.assertEqual({Path(name).parent for name in headers}, {Path("include/spead")})
        for name in headers:
            for line in (copy.prefix / name).read_text().splitlines():
                if line.startswith("#include"):
                    self.assertRegex(line, r"^#include <(spead/)?[a-z_]+(\.hpp)?>$", name)

    def test_each_header_stands_alone(self):
        for path in (copy.prefix / "include/spead").iterdir():
            done = run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-",
                       "-I", copy.prefix / "include", input=f"#include <spead/{path.name}>\n")
            self.assertEqual(done.stderr, "", path.name)

    def test_a_user_needs_no_other_library(self):
        flags = copy.flags("dpdk-spead")
        self.assertEqual({word for word in flags if word.startswith("-l")}, {"-ldpdk-spead"})
        self.assertFalse([word for word in flags if "rte" in word or "dpdk/" in word], flags)

    def test_it_can_be_part_of_a_program(self):
        program = copy.root / "static"
        built = run("g++", "-std=c++20", EXAMPLES / "loopback.cpp", "-o", program, *copy.flags("dpdk-spead-static"))
        self.assertEqual(built.returncode, 0, built.stderr)
        done = run(program)  # without the copy's libraries
        self.assertEqual(done.stdout, "1000 of 1000 heaps came back as they were\n", done.stderr)

    def test_symbols_of_the_inside_are_hidden(self):
        symbols = run("nm", "-DC", "--defined-only", next(copy.lib.glob("libdpdk-spead.so"))).stdout
        functions = re.findall(r"(?m)^[0-9a-f]+ T (.*)$", symbols)
        self.assertGreater(len(functions), 50)
        for name in functions:
            self.assertRegex(name, r"^spead::[A-Z]\w*::")
        others = re.findall(r"(?m)^[0-9a-f]+ [^T] (.*)$", symbols)
        for name in others:
            self.assertRegex(name, r"^(bool |typeinfo for |typeinfo name for |vtable for )?"
                                   r"spead::(Error|UsageError|[A-Z]\w*)(::|$)", name)

    def test_cmake_finds_it(self):
        if not shutil.which("cmake"):
            self.skipTest("there is no cmake")
        config = next(copy.lib.rglob("dpdk-spead-config.cmake"))
        made = run("cmake", "-S", EXAMPLES, "-B", copy.root / "cmake", f"-Ddpdk-spead_DIR={config.parent}")
        self.assertEqual(made.returncode, 0, made.stderr)
        built = run("cmake", "--build", copy.root / "cmake", "--target", "loopback")
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        done = run(copy.root / "cmake/loopback", env=copy.environment)
        self.assertEqual(done.stdout, "1000 of 1000 heaps came back as they were\n", done.stderr)


SESSIONS = """
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <spead/recv.hpp>

int main(int, char** words) {
    for (char** word = words + 1; *word != nullptr; word++)
        try {
            spead::ProcessConfig config;
            config.main_cpu = std::atoi(*word) % 10;
            config.lcores = {static_cast<unsigned>(std::atoi(*word) / 10)};
            if ((*word)[0] == 'd')
                config = {};
            if ((*word)[0] == 'l')
                config = {.eal = {"-l", "0,1"}};
            if ((*word)[0] == 'x')
                config.eal = {"-d", *word + 1};
            const spead::Process process(config);
            const spead::RecvStream stream(process, {.endpoints = {"239.1.2.3:7148"}, .interface = "net_ring0"});
            std::printf("%s starts\\n", *word);
        } catch (const std::exception& error) {
            std::printf("%s: %s\\n", *word, error.what());
        }
}
"""


class Sessions(unittest.TestCase):
    """Sessions one after the other, in processes of their own. A word of two digits is an lcore's CPU and the main one."""

    def sessions(self, *words):
        if not {0, 1} <= os.sched_getaffinity(0):
            self.skipTest("this takes the CPUs 0 and 1")
        program = copy.build_text("sessions", SESSIONS)
        return run(program, *words, env={**copy.environment, "DPDK_SPEAD_EAL_MEMORY": "64MiB"})

    def test_the_next_one_has_the_lcores_that_eal_has(self):
        done = self.sessions("00", "d", "10", "00")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:2], ["00 starts", "d starts"])
        self.assertEqual(lines[2], "10: process: EAL was started, once for this process, with the main CPU 0 and lcores on "
                                   "the CPUs 0; ask for some of these (`main_cpu`, `lcores`), or for none")
        self.assertEqual(lines[3:], ["00 starts"])

    def test_words_of_eal_may_choose_the_lcores(self):
        done = self.sessions("l", "d", "10")
        self.assertEqual(done.stdout.splitlines(), ["l starts", "d starts", "10 starts"], done.stderr)

    def test_the_process_may_exit_within_a_start(self):
        """EAL ends it so, when it is asked for its help, on the session's own thread."""
        exits = copy.build_text("exits.so", "#include <cstdlib>\n[[gnu::constructor]] void f() { std::exit(7); }\n",
                                "-shared", "-fPIC")
        # EAL loads nothing from below a directory that everybody may write to.
        with tempfile.TemporaryDirectory(prefix="exits-", dir=BUILD) as directory:
            done = self.sessions(f"x{shutil.copy(exits, directory)}")
        if "world-writable" in done.stdout:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)


class Examples(unittest.TestCase):
    """One example sends into a capture file; the others receive from it."""

    def send(self):
        path = copy.root / "sent.pcap"
        if not path.exists():
            done = copy.run("send_memory", f"net_pcap0,tx_pcap={path}", ENDPOINT)
            self.assertEqual(done.stdout, "1001 heaps in 3002 packets\n", done.stderr)
        return f"net_pcap0,rx_pcap={path}"

    def test_they_are_short(self):
        for name in NAMES:
            self.assertLessEqual(len((EXAMPLES / f"{name}.cpp").read_text().splitlines()), LONGEST, name)

    def test_loopback(self):
        self.assertEqual(copy.run("loopback").stdout, "1000 of 1000 heaps came back as they were\n")

    def test_chunks(self):
        done = copy.run("chunks")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.endswith("\n10 of 10 chunks are complete\n"), done.stdout)

    def test_place_callback(self):
        done = copy.run("place_callback")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^10 of 10 chunks are complete; the callback took \d+ ns for a heap\n$")

    def test_a_placement_is_tested_without_a_network(self):
        done = copy.run("test_chunks")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_items_are_printed_as_they_were_sent(self):
        done = copy.run("recv_items", self.send(), ENDPOINT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("heap 1001, 4096 bytes\n  0x4300 spectrum: 1024 elements, 999 to 2022\n"
                      "  0x1600 timestamp: 1 elements, 999\n", done.stdout)
        self.assertEqual(done.stdout.count("spectrum: 1024 elements"), 1000)
        self.assertTrue(done.stdout.endswith("the stream has ended\n"))

    def test_a_filter_leaves_packets_out(self):
        done = copy.run("filter", self.send(), ENDPOINT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"heap (\d+)", done.stdout), [str(n) for n in range(10, 1001, 10)])
        self.assertRegex(done.stdout, r"\n2\d\d\d packets were left out\n$")

    def test_two_lcores_feed_four_threads(self):
        done = copy.run("consumers", self.send(), "0,1", ENDPOINT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^1001 heaps, sum \d+\n$")

    def test_streams_change_while_others_run(self):
        done = copy.run("change", "net_ring0", ENDPOINT, "239.10.10.2:7148")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"(\w+): 0 packets", done.stdout), ["first", "second", "first", "first"])

    def test_what_cannot_be_is_said_in_words(self):
        for name in NAMES:
            if name in ("loopback", "chunks", "place_callback", "test_chunks"):
                continue
            done = copy.run(name)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith(f"usage: {name} INTERFACE"), done.stderr)
        done = copy.run("recv_items", "no-such-thing", ENDPOINT)
        self.assertEqual(done.returncode, 1)
        self.assertIn('recv_items: port p0: no driver for the device "no-such-thing"', done.stderr)
        done = copy.run("recv_items", "net_ring0", "239.10.10.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("recv_items: ", done.stderr)


if __name__ == "__main__":
    harness.main()
