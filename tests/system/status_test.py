#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Exit statuses by kind, for every command: 2 only for what can never work, 1 for what is absent today.

A service manager is told not to start again after 2: an interface, a file or a process that comes later must not
end that way, in whatever words it is named.
"""

import socket
import subprocess

import harness

ENDPOINT = "239.1.1.1:7148"
SUCCESS, FAILURE, USAGE = 0, 1, 2
# An interface, or what stands for one, that may come later.
ABSENT = ("nosuchif", "nosuchif,framesz=2048", "192.0.2.77", "0000:ff:1f.7", "ff:1f.7", "mlx5_99",
          "net_af_packet0,iface=nosuchif", "net_af_xdp0,iface=nosuchif", "net_virtio_user0,path=/nonexistent/socket",
          "net_vhost0,iface=/nonexistent/socket", "net_pcap0,rx_pcap=/nonexistent/in.pcap,tx_pcap=/nonexistent/out.pcap",
          "net_memif0,socket=/nonexistent/socket,socket-abstract=no")
# No machine has a port of such a name.
NEVER = ("net_nonsense0", "no/interface", "an_interface_of_this_length", "net_memif0,role=sever",
         "net_af_packet0,iface", "net_af_packet0,ifname=lo", "net_null0,copy=2", "net_pcap0", "net_vhost0",
         "net_virtio_user0")


def on_port(port):
    """Every command that takes a port, with its name."""
    return (("recv", ENDPOINT, "--port", port), ("send", ENDPOINT, "--heaps", 1, "--port", port),
            ("recv", ENDPOINT, "--port", port, "--check"), ("send", ENDPOINT, "--port", port, "--check"),
            ("capture", ENDPOINT, "/nonexistent/out.pcap", "--port", port), ("selftest", "--port", port),
            ("info", port), ("check", port), ("bench", "link", "--tx-port", port, "--rx-port", "net_null0"))


class Statuses(harness.ProgramTest):
    def status(self, expected, *words, **options):
        with self.subTest(words=" ".join(map(str, words))):
            finished = self.run_program(*words, status=expected, report=False, timeout=30, **options)
            self.assertTrue((finished.out + finished.err).strip(), f"no word about why:\n{finished}")

    def config(self, device="net_null0", more=""):
        path = self.directory / "c.toml"
        path.write_text(f'version = 1\n[[port]]\nname = "p0"\ndevice = "{device}"\n[[receive]]\nname = "r"\n'
                        f'port = "p0"\nendpoints = ["{ENDPOINT}"]\n{more}', encoding="utf-8")
        return path


class Absent(Statuses):
    """Ports that may be there later."""

    def test_a_port_in_every_spelling(self):
        for port in ABSENT:
            for words in on_port(port):
                self.status(FAILURE, *words)
            self.status(FAILURE, "run", "--config", self.config(port))
            self.status(FAILURE, "check", "--config", self.config(port))

    def test_an_interface_that_the_environment_names(self):
        for command in ("recv", "send"):
            self.status(FAILURE, command, ENDPOINT, environment={"DPDK_SPEAD_INTERFACE": "nosuchif"})

    def test_files(self):
        absent = self.directory / "absent"
        null = ("--port", "net_null0")
        for words in (("run", "--config", absent), ("run", "--config", absent, "--check"), ("check", "--config", absent),
                      ("replay", absent, *null), ("replay", absent, "--port", "nosuchif"),
                      ("recv", ENDPOINT, *null, "--cmdline-file", absent),
                      ("recv", ENDPOINT, *null, "--json", absent / "report.json"),
                      ("recv", ENDPOINT, *null, "--control", absent / "control.sock"),
                      ("recv", ENDPOINT, *null, "--sink", "file:/dev/null/out"),
                      ("recv", ENDPOINT, *null, "--sink", f"file:{absent}/out", "--check"),
                      ("capture", ENDPOINT, absent / "out.pcap", *null),
                      ("run", "--config", self.config(more='[runtime]\non_event = ["/nonexistent/program"]\n'))):
            self.status(FAILURE, *words)

    def test_a_processor(self):
        for words in (("recv", ENDPOINT, "--port", "net_null0", "--lcores", 900),
                      ("send", ENDPOINT, "--port", "net_null0", "--lcore", 900, "--heaps", 1),
                      ("run", "--config", self.config(more="lcores = [900]\n")),
                      ("bench", "assemble", "--lcore", 900)):
            self.status(FAILURE, *words)

    def test_processes(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            for words in (("top", "--once", "nobody"), ("top", "--once", "999999999"), ("top", "--once", "/nonexistent/socket"),
                          ("attach", "nobody", "--", "show", "stream"), ("attach", "/nonexistent/socket"),
                          ("bench", "link", "--client", f"127.0.0.1:{closed.getsockname()[1]}", "--tx-port", "net_null0"),
                          ("bench", "link", "--client", "nobody.invalid:7149", "--tx-port", "net_null0"),
                          ("bench", "latency", "--client", "nobody.invalid:7149", "--tx-port", "net_null0"),
                          ("recv", ENDPOINT, "--port", "net_null0", "--metrics", "192.0.2.77:9100")):
                self.status(FAILURE, *words, environment={"XDG_RUNTIME_DIR": str(self.directory)})

    def test_memory(self):
        self.status(FAILURE, "recv", ENDPOINT, "--port", "net_null0", "--memory", "64TiB")


class Never(Statuses):
    """Arguments that are wrong on every machine."""

    def test_a_port(self):
        for port in NEVER:
            for words in on_port(port):
                self.status(USAGE, *words)
            self.status(USAGE, "run", "--config", self.config(port))

    def test_words(self):
        for words in (("recieve", ENDPOINT), ("recv", "239.1.1:7148"), ("recv", ENDPOINT, "--polll", "busy"),
                      ("send", ENDPOINT, "--rate", "fast"), ("capture", ENDPOINT), ("replay",), ("run",),
                      ("replay", "/nonexistent/in.pcap", "--pps", 5, "--speed", 2), ("loopback", "--heap-size", "lots"),
                      ("top", "--interval", "never"), ("attach", "--interactive"), ("selftest",), ("info", "--port", "lo"),
                      ("bench",), ("bench", "link", "--rx-port", "net_null0"), ("bench", "latency", "--load", "none"),
                      ("bench", "link", "--client", "7149", "--tx-port", "net_null0"),
                      ("bench", "link", "--client", "127.0.0.1:many", "--tx-port", "net_null0"),
                      ("bench", "link", "--client", "1.2.3.4.5:7149", "--tx-port", "net_null0"),
                      ("recv", ENDPOINT, "--port", "net_null0", "--metrics", "everywhere"),
                      ("recv", ENDPOINT, "--port", "net_null0", "--sink", "file:")):
            self.status(USAGE, *words)

    def test_configurations(self):
        for more in ("pol = 1\n", "[recieve]\n", 'buffer_size = "16 parsecs"\n', "not TOML\n"):
            self.status(USAGE, "run", "--config", self.config(more=more))
            self.status(USAGE, "run", "--config", self.config(more=more), "--check")
            self.status(USAGE, "check", "--config", self.config(more=more))


class Good(Statuses):
    def test_commands_that_did_what_was_asked(self):
        for words in (("loopback", "--heaps", 2), ("send", ENDPOINT, "--port", "net_null0", "--heaps", 1),
                      ("recv", ENDPOINT, "--port", "net_null0", "--duration", "10ms"), ("info", "net_null0"),
                      ("run", "--config", self.config(), "--check"), ("top", "--help"), ("--version",)):
            with self.subTest(words=" ".join(map(str, words))):
                self.run_program(*words, status=SUCCESS, report=False)


class Prompt(Statuses):
    """The status of `attach` for a command: 2 for one that is none, 1 for one that the process cannot carry out now."""

    def test_kinds(self):
        control = self.directory / "control.sock"
        running = self.start("recv", ENDPOINT, "--port", "net_null0", "--control", control)
        running.wait_for(control.exists, "a control socket")
        for status, line in ((SUCCESS, "show stream"), (USAGE, "shwo stream"), (USAGE, "stream"), (USAGE, "show stream s0 now"),
                             (USAGE, "stream set s0 polll busy"), (USAGE, "stream set s0 poll perhaps"),
                             (FAILURE, "show stream nosuch"), (FAILURE, "stream stop nosuch"), (FAILURE, "port start port0"),
                             (FAILURE, f"save config {self.directory}/none/c.toml"), (FAILURE, "capture stop s0")):
            with self.subTest(line=line):
                done = subprocess.run([harness.program(), "attach", control, "--", *line.split()], check=False,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
                self.assertEqual(done.returncode, status, done.stderr)
        running.interrupt()
        running.wait()


if __name__ == "__main__":
    harness.main()
