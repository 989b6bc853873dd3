#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The errors of a user: exit status 2 for a wrong command line, 1 for a refusal of the system, and a reason each."""

import os

import harness

ENDPOINT = "239.1.1.1:7148"


class CommandLine(harness.ProgramTest):
    def test_no_command_prints_help(self):
        finished = self.run_program(status=None, report=False)
        self.assertIn("loopback", finished.out + finished.err)

    def test_help_and_version(self):
        for words in (("--help",), ("recv", "--help"), ("send", "--help"), ("loopback", "--help"), ("--version",)):
            with self.subTest(words=words):
                finished = self.run_program(*words, report=False)
                self.assertEqual(finished.err, "")
                self.assertTrue(finished.out)

    def test_wrong_words(self):
        cases = (
            (("recieve", ENDPOINT), ("recieve", "recv")),
            (("recv", ENDPOINT, "--max-heap", "4"), ("--max-heap",)),
            (("recv",), ("endpoint",)),
            (("send",), ("endpoint",)),
            (("recv", "239.1.1:7148"), ("239.1.1:7148",)),
            (("recv", "239.1.1.1"), ("239.1.1.1", "port")),
            (("recv", "239.1.1.1:99999"), ("99999",)),
            (("recv", "239.255.255.250+15:7148"), ("239.255.255.250+15",)),
            (("recv", "239.1.1.0+70000:7148"), ("70000",)),
            (("recv", "239.1.1.1:7148@300.1.1.1"), ("300.1.1.1",)),
            (("recv", ENDPOINT, "--buffer-size", "16MB2"), ("--buffer-size", "16MB2")),
            (("recv", ENDPOINT, "--max-heap-bytes", "-1"), ("--max-heap-bytes",)),
            (("recv", ENDPOINT, "--poll", "sometimes"), ("sometimes", "adaptive")),
            (("recv", ENDPOINT, "--on-full", "explode"), ("explode", "drop_newest")),
            (("recv", ENDPOINT, "--sink", "tape"), ("tape", "verify")),
            (("recv", ENDPOINT, "--sink", "file:"), ("file",)),
            (("recv", ENDPOINT, "--heaps", "many"), ("--heaps", "many")),
            (("recv", ENDPOINT, "--duration", "-3"), ("--duration",)),
            (("recv", ENDPOINT, "--max-heaps", "0"), ("--max-heaps",)),
            (("recv", ENDPOINT, ENDPOINT), (ENDPOINT,)),
            (("send", ENDPOINT, "--rate", "10Gbs"), ("--rate", "10Gbs")),
            (("send", ENDPOINT, "--addr-bits", "44"), ("--addr-bits", "44")),
            (("send", ENDPOINT, "--ttl", "256"), ("--ttl", "256")),
            (("send", ENDPOINT, "--heap-size", "3", "--items", "2"), ("heap-size",)),
            (("send", ENDPOINT, "--max-packet-size", "40"), ("--max-packet-size", "40")),
            (("send", ENDPOINT, "--max-packet-size", "70000"), ("--max-packet-size", "70000")),
            (("send", ENDPOINT, "--zero-copy", "perhaps"), ("perhaps", "always")),
            (("send", "10.1.1.1:7148", "--port", "net_null0", "--check"), ("10.1.1.1:7148", "net_null0", "--dst-mac")),
            (("send", ENDPOINT, "--dst-mac", "02:00:00:00:00:01"), ("--dst-mac", "unicast")),
            (("loopback", "--heap-size", "lots"), ("--heap-size", "lots")),
            (("run",), ("--config",)),
        )
        for words, says in cases:
            with self.subTest(words=" ".join(words)):
                self.refused(*words, status=2, says=says)

    def test_a_misspelt_option_gets_a_suggestion(self):
        self.refused("recv", ENDPOINT, "--bufer-size", "1MiB", status=2, says=("--buffer-size",))


class Ports(harness.ProgramTest):
    def test_ports_that_cannot_be(self):
        cases = (
            ("net_nonsense0", 2, ("net_nonsense0", "net_af_packet")),
            ("net_af_packet0,iface=nosuchif", 1, ("nosuchif",)),
            ("nosuchif", 1, ("nosuchif",)),
            ("0000:ff:1f.7", 1, ("0000:ff:1f.7",)),
            ("net_pcap0,rx_pcap=/nonexistent/file.pcap", 1, ("/nonexistent/file.pcap",)),
            ("net_memif0,role=sever", 2, ("sever", "server")),
            ("net_memif0,role=server,socket=./m.sock", 2, ("./m.sock is not an absolute path", "write socket=/")),
            ("net_memif0,role=server,socket=m.sock", 2, ("m.sock is not an absolute path", "write socket=/")),
            ("0.0.0.1", 1, ("no network interface", "0.0.0.1")),
            ("mlx5_99", 1, ("mlx5_99", "RDMA")),
            ("net_virtio_user0,path=/nonexistent/socket", 1, ("/nonexistent/socket",)),
            ("net_vhost0,iface=/nonexistent/socket", 1, ("/nonexistent",)),
        )
        for device, status, says in cases:
            with self.subTest(device=device):
                self.refused("recv", ENDPOINT, "--port", device, status=status, says=says)

    def test_a_file_that_cannot_be_written(self):
        self.refused("send", ENDPOINT, "--heaps", 1, "--port", "net_pcap0,tx_pcap=/nonexistent/out.pcap", status=1,
                     says=("/nonexistent/out.pcap",))

    def test_the_environment_names_the_interface(self):
        self.refused("recv", ENDPOINT, status=1, says=("nosuchif",),
                     environment={"DPDK_SPEAD_INTERFACE": "nosuchif"})

    def test_memory_that_does_not_fit_is_refused_with_the_sum(self):
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--memory", "64GiB", status=None,
                     says=("65536 MiB", "available"))

    def test_wrong_eal_options(self):
        finished = self.refused("--no-such-eal-option", "--", "loopback", "--heaps", 1)
        self.assertEqual(finished.out, "", "a page of usage hides the reason")
        self.assertRegex(finished.err.splitlines()[-1], "EAL: it refuses to start: .*--no-such-eal-option")

    def test_a_start_that_fails_leaves_nothing(self):
        rundir = self.directory / "run"
        (rundir / "dpdk").mkdir(parents=True)
        for words in (("--no-such-eal-option", "--", "loopback"),
                      ("recv", ENDPOINT, "--port", "net_pcap0,rx_pcap=/nonexistent/file.pcap")):
            finished = self.refused(*words, status=None, report=True, environment={"RUNTIME_DIRECTORY": str(rundir)})
            self.assertNotEqual(finished.status, 0)
        self.assertEqual(list(self.directory.glob("*.json")), [])
        self.assertEqual(os.listdir(rundir / "dpdk"), [])


class Configuration(harness.ProgramTest):
    GOOD = f"""version = 1
[[port]]
name = "p0"
device = "net_null0"
[[receive]]
name = "r"
port = "p0"
endpoints = ["{ENDPOINT}"]
"""

    def configured(self, text):
        path = self.directory / "conf.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_the_good_one_is_good(self):
        self.run_program("run", "--config", self.configured(self.GOOD), "--check", report=False)

    def test_errors_name_the_line(self):
        cases = (
            ("unknown key", self.GOOD + 'polll = "busy"\n', 9, ("polll",)),
            ("unknown section", self.GOOD + "[recieve]\n", 9, ("recieve",)),
            ("wrong type", self.GOOD + "max_packet_size = true\n", 9, ("max_packet_size",)),
            ("wrong unit", self.GOOD + 'buffer_size = "16 parsecs"\n', 9, ("parsecs",)),
            ("out of range", self.GOOD + "max_packet_size = 70000\n", 9, ("max_packet_size",)),
            ("unknown port", self.GOOD.replace('port = "p0"', 'port = "p1"'), 7, ("p1",)),
            ("wrong endpoint", self.GOOD.replace(ENDPOINT, "239.1.1.1:0"), 8, ("239.1.1.1:0",)),
            ("packets above the MTU", self.GOOD.replace('device = "net_null0"', 'device = "net_null0"\nmtu = 1500')
             + f'[[send]]\nname = "s"\nport = "p0"\nendpoints = ["{ENDPOINT}"]\nmax_packet_size = 9000\n', None,
             ("MTU", "1500", "9000")),
            ("no TOML", self.GOOD + "this is not TOML\n", 9, ()),
            ("wrong version", self.GOOD.replace("version = 1", "version = 2"), 1, ("version",)),
        )
        for what, text, line, says in cases:
            with self.subTest(what=what):
                path = self.configured(text)
                place = f"{path}:{line}" if line else f"{path}:"
                self.refused("run", "--config", path, status=2, says=(place, *says))

    def test_a_file_that_is_not_there(self):
        self.refused("run", "--config", self.directory / "absent.toml", status=1, says=("absent.toml",))


class Captures(harness.ProgramTest):
    def test_a_pipe_is_no_capture_file(self):
        pipe = self.directory / "pipe"
        os.mkfifo(pipe)
        for command, way in (("send", "tx_pcap"), ("recv", "rx_pcap")):
            with self.subTest(way=way):
                self.refused(command, ENDPOINT, "--port", f"net_pcap0,{way}={pipe}", status=1,
                             says=(str(pipe), "not a regular file"))


class Sinks(harness.ProgramTest):
    def test_a_directory_that_cannot_be(self):
        blocker = self.directory / "file"
        blocker.write_text("in the way", encoding="utf-8")
        for place in (blocker / "out", blocker):
            with self.subTest(place=place):
                self.refused("recv", ENDPOINT, "--port", "net_null0", "--sink", f"file:{place}", status=1,
                             says=(str(place),))

    def test_a_directory_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("root may write anywhere")
        closed = self.directory / "closed"
        closed.mkdir(mode=0o500)
        self.refused("recv", ENDPOINT, "--port", "net_null0", "--sink", f"file:{closed}/out", status=1,
                     says=(str(closed), "permission"))

    def test_a_report_that_cannot_be_written(self):
        finished = self.run_program("loopback", "--heaps", 2, "--heap-size", "64KiB", "--json", "/dev/full", status=1,
                                    report=False)
        self.assertIn("/dev/full", finished.err)

    def test_a_report_that_cannot_be_written_hides_no_problem(self):
        packets = self.directory / "heaps.pcap"
        self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={packets}", "--heaps", 3)
        finished = self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={packets}", "--sink", "verify",
                                    "--json", "/dev/full", status=1, report=False)
        self.assertIn("/dev/full", finished.err)
        self.assertIn("heaps differ from the verification sequence", finished.err)


if __name__ == "__main__":
    harness.main()
