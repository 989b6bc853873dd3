#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The bounds on the consequences of a fault: the program as the compiler and linker made it, the capabilities that it
keeps, and the unit's sandbox as systemd rates it."""

import json
import os
import platform
import re
import shutil
import subprocess
import unittest
from pathlib import Path

import harness

UNIT = Path(__file__).resolve().parents[2] / "config/dpdk-spead@.service"
ENDPOINT = "239.1.1.1:7148"
ENDBR64 = b"\xf3\x0f\x1e\xfa"
CAPABILITIES = {"CAP_DAC_OVERRIDE": 1, "CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_IPC_LOCK": 14, "CAP_SYS_ADMIN": 21}


def readelf(*words):
    return subprocess.run(["readelf", "--wide", *words, harness.program()], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


@unittest.skipUnless(shutil.which("readelf"), "there is no readelf")
class Elf(unittest.TestCase):
    """The built program. A sanitizer's build has none of the C library's checked functions."""

    def setUp(self):
        self.symbols = {line.split()[7].split("@")[0] for line in readelf("--dyn-syms").splitlines()
                        if len(line.split()) > 7}

    def test_it_lies_anywhere(self):
        self.assertIn("DYN (Position-Independent Executable file)", readelf("--file-header"))

    def test_tables_are_read_only_once_they_are_filled(self):
        segments = readelf("--program-headers")
        self.assertRegex(segments, r"(?m)^\s+GNU_RELRO\s")
        dynamic = readelf("--dynamic")
        self.assertRegex(dynamic, r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)")
        self.assertNotIn("(TEXTREL)", dynamic)

    def test_nothing_is_both_written_and_run(self):
        segments = readelf("--program-headers")
        self.assertRegex(segments, r"(?m)^\s+GNU_STACK\s.*\sRW\s")
        for line in re.findall(r"(?m)^\s+LOAD\s.*$", segments):
            self.assertNotRegex(line, r"RWE")

    def test_stacks_have_canaries(self):
        self.assertIn("__stack_chk_fail", self.symbols)

    def test_the_c_library_checks_what_it_copies(self):
        if any(symbol.startswith(("__asan_", "__ubsan_", "__tsan_")) for symbol in self.symbols):
            self.skipTest("sanitizers look for that themselves")
        self.assertTrue([symbol for symbol in self.symbols if re.fullmatch(r"__\w+_chk", symbol)
                         and symbol != "__stack_chk_fail"], self.symbols)

    @unittest.skipUnless(platform.machine() in ("x86_64", "AMD64"), "only x86 has such branches")
    def test_branches_land_where_they_may(self):
        # Not the property note, which the linker only writes if the C library's start-up code has it too; Debian's has not.
        section = next(line for line in readelf("--section-headers").splitlines() if re.search(r"\s\.text\s", line))
        _, offset, size = re.search(r"\.text\s+PROGBITS\s+(\w+)\s+(\w+)\s+(\w+)", section).groups()
        text = Path(harness.program()).read_bytes()[int(offset, 16):int(offset, 16) + int(size, 16)]
        functions = len(re.findall(r"(?m)\sFUNC\s.*\s(?!UND)\d+\s\S+$", readelf("--symbols")))
        self.assertGreater(text.count(ENDBR64), functions // 4, "functions that may be called through a pointer begin with it")


class Capabilities(harness.ProgramTest):
    """The capabilities of the threads of a running program."""

    def sets(self, running):
        """Of each thread: (permitted, bounding, ambient, whether it can gain any)."""
        found = {}
        for status in Path(f"/proc/{running.process.pid}/task").glob("*/status"):
            lines = dict(line.split(":\t", 1) for line in status.read_text(encoding="ascii").splitlines() if ":\t" in line)
            found[f"{lines['Name']} {status.parent.name}"] = (int(lines["CapPrm"], 16), int(lines["CapBnd"], 16),
                                                           int(lines["CapAmb"], 16), lines["NoNewPrivs"])
        return found

    def started(self, *words, **options):
        running = self.start(*words, **options)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        return running

    def ended(self, running):
        running.interrupt()
        return running.wait()

    def kept(self, *words, **options):
        """The one set that all threads of a run have, as numbers, and the report's names."""
        running = self.started(*words, **options)
        sets = self.sets(running)
        self.assertGreater(len(sets), 3, sets)
        for name, (permitted, bounding, ambient, no_new) in sets.items():
            self.assertEqual((ambient, no_new), (0, "1"), name)
            if os.geteuid() == 0:
                self.assertEqual(permitted, bounding, name)
        self.assertEqual(len({permitted for permitted, *_ in sets.values()}), 1, sets)
        report = self.ended(running).report
        return next(iter(sets.values()))[0], report["capabilities"]

    def test_ports_without_capabilities_keep_none(self):
        socket = self.directory / "peer.sock"
        for port in ("net_ring0", "net_null0", f"net_memif0,role=server,socket={socket}",
                     f"net_vhost0,iface={self.directory}/vhost.sock"):
            with self.subTest(port=port):
                self.assertEqual(self.kept("recv", ENDPOINT, "--port", port), (0, []))

    def test_other_commands_too(self):
        self.assertEqual(self.kept("send", ENDPOINT, "--port", "net_null0", "--rate", "1Mbps"), (0, []))
        self.assertEqual(self.kept("capture", ENDPOINT, self.directory / "a.pcap", "--port", "net_null0"), (0, []))

    def test_an_option_and_the_configuration_keep_all(self):
        if os.geteuid() != 0:
            self.skipTest("not root: there is nothing to keep")
        running = self.started("recv", ENDPOINT, "--port", "net_null0", "--capabilities", "all")
        for permitted, *_ in self.sets(running).values():
            self.assertTrue(permitted >> CAPABILITIES["CAP_SYS_ADMIN"] & 1)
        self.assertIn("CAP_SYS_ADMIN", self.ended(running).report["capabilities"])
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--capabilities", "some", says=("needed", "all"))

    @unittest.skipUnless(os.geteuid() == 0, "only root has another user's directories")
    def test_another_users_directory_is_written_to_all_the_same(self):
        theirs = self.directory / "theirs"
        theirs.mkdir(mode=0o755)
        os.chown(theirs, 65534, 65534)
        kept, names = self.kept("recv", ENDPOINT, "--port", "net_null0", "--sink", f"file:{theirs}")
        self.assertEqual((kept, names), (1 << CAPABILITIES["CAP_DAC_OVERRIDE"], ["CAP_DAC_OVERRIDE"]))
        own = self.directory / "own"
        own.mkdir()
        self.assertEqual(self.kept("recv", ENDPOINT, "--port", "net_null0", "--sink", f"file:{own}"), (0, []))

    @unittest.skipUnless(os.geteuid() == 0, "root gives them up")
    def test_the_program_of_an_event_has_none(self):
        out = self.directory / "event"
        config = self.directory / "c.toml"
        config.write_text(f'version = 1\n[runtime]\ncapabilities = "all"\n'
                          f'on_event = ["/bin/sh", "-c", "cat /proc/self/status > {out}.tmp; mv {out}.tmp {out}"]\n'
                          f'[[port]]\nname = "p0"\ndevice = "net_null0"\n[[receive]]\nname = "s0"\nport = "p0"\n'
                          f'endpoints = ["{ENDPOINT}"]\nexpected_rate = "1Gbps"\nsilent_after = "100ms"\n', encoding="utf-8")
        running = self.started("run", "--config", config)
        running.wait_for(out.exists, "event")
        status = out.read_text(encoding="ascii")
        for which in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertIn(f"{which}:\t0000000000000000", status)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertIn("CAP_SYS_ADMIN", self.ended(running).report["capabilities"])

    def test_info_and_check_tell(self):
        told = self.run_program("info", "net_null0", report=False).out
        self.assertRegex(told, r"kept after the start\s+no capability")
        document = json.loads(self.run_program("info", "net_null0", "--json", report=False).out)
        self.assertEqual(document["ports"][0]["kept_capabilities"], [])
        self.assertIn("all other capabilities are given up", self.run_program("check", "net_null0", status=None, report=False).out)


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not here (scripts/deps --systemd)")
class Sandbox(unittest.TestCase):
    MOST = 3.0

    def analyse(self, *words):
        return subprocess.run(["systemd-analyze", *words, UNIT], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={**os.environ, "SYSTEMD_COLORS": "0"})

    def test_systemd_thinks_well_of_it(self):
        done = self.analyse("security", "--offline=yes", "--no-pager")
        if "offline" in done.stderr:
            self.skipTest("systemd older than 250 looks at units that run only")
        overall = re.search(r"Overall exposure level for .*: ([0-9.]+)", done.stdout)
        self.assertTrue(overall, done.stdout + done.stderr)
        self.assertLess(float(overall[1]), self.MOST, done.stdout)


if __name__ == "__main__":
    harness.main()
