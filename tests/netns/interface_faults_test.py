#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces that are deleted, and processes on interfaces that are killed, at random moments. Afterwards the same start
works again on the same interface.

The seed is printed; DPDK_SPEAD_SEED=N takes that one again.
"""

import os
import random
import signal
import socket
import subprocess
import time

import namespaces  # first: it makes tests/system importable
import harness
import wire

PORT = 7148
HEAP = 4096


class InterfaceFaults(namespaces.NamespaceTest):
    MTU = 1500
    ROUNDS = 3
    PMDS = ("af_packet", "af_xdp")

    def group(self, number=1):
        return self.FAMILY.group(number)

    def endpoint(self, number=1):
        return self.FAMILY.endpoint(self.group(number), PORT)

    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("DPDK_SPEAD_SEED", random.SystemRandom().randrange(10**6)))
        print(f"# {self.id().rsplit('.', 1)[-1]}: DPDK_SPEAD_SEED={seed}", flush=True)
        self.random = random.Random(seed)
        (self.directory / "run").mkdir()

    def kinds(self):
        """The drivers there are here, one after the other, each with an interface nobody has used."""
        probe = subprocess.run([harness.program(), "recv", self.endpoint(), "--port", "net_af_xdp0,iface=nothing"],
                               check=False, capture_output=True, text=True)
        for pmd in self.PMDS:
            if pmd == "af_xdp" and "built without its XDP program" in probe.stderr:
                continue
            self.make()
            yield f"net_{pmd}0,iface=dut"

    def start(self, *words, **options):
        return super().start(*words, prefix=self.inside, environment={"RUNTIME_DIRECTORY": str(self.directory / "run")},
                             **options)

    def there(self):
        return "dut@" in namespaces.ip("link", "show", namespace=self.near)

    def remove(self):
        namespaces.ip("link", "delete", "dut", namespace=self.near)

    def make(self):
        """The veth pair, anew."""
        if self.there():
            self.remove()
        namespaces.ip("link", "add", "dut", "type", "veth", "peer", "name", "peer", "netns", self.far, namespace=self.near)
        for name, device, address in ((self.near, "dut", "10.9.0.1"), (self.far, "peer", "10.9.0.2")):
            namespaces.ip("addr", "add", f"{address}/24", "dev", device, namespace=name)
            namespaces.ip("link", "set", device, "mtu", self.MTU, "up", namespace=name)
            namespaces.ip("route", "add", "224.0.0.0/4", "dev", device, namespace=name)
        if self.FAMILY.is_v6:
            self.add_ipv6()

    def send(self, counts):
        """The kernel sends verified heaps from the far end."""
        made = self.sender()
        for count in counts:
            for packet in wire.heap(count, wire.verify_words(count, HEAP // 4)):
                made.sendto(packet, (self.group(), PORT))

    def at_a_random_moment(self, running):
        """Between the first instruction and some time after the start."""
        end = time.monotonic() + self.random.uniform(0, 1.2)
        while time.monotonic() < end and running.process.poll() is None:
            time.sleep(0.01)

    def receiver(self, device, *words):
        return self.start("recv", self.endpoint(), "--port", device, "--memory", "8MiB", "--max-heap-bytes", "64KiB",
                          *words)

    def receives_again(self, device):
        """Checks that the interface serves its purpose, and that nothing stays when the process has ended in order."""
        sink = self.directory / f"sink{time.monotonic_ns()}"
        running = self.receiver(device, "--sink", f"file:{sink}", "--exit-on-stop")
        running.wait_for(lambda: self.group() in self.groups_joined(), "membership")
        self.send(range(1, 6))
        self.sender().sendto(wire.stop(100), (self.group(), PORT))
        self.assert_stream(running.wait().report, "s0", complete=5)
        for count in range(1, 6):
            self.assertEqual((sink / f"s0-{count}.bin").read_bytes(), wire.verify_words(count, HEAP // 4))
        self.assertNotIn(self.group(), self.groups_joined())
        self.assertNotIn("prog/xdp", namespaces.ip("-d", "link", "show", "dut", namespace=self.near))
        self.assertEqual(list((self.directory / "run" / "dpdk").iterdir()), [])

    def test_a_receiver_is_killed(self):
        for device in self.kinds():
            for _ in range(self.ROUNDS):
                running = self.receiver(device)
                self.at_a_random_moment(running)
                running.process.kill()
                running.wait(status=-signal.SIGKILL)
            self.receives_again(device)

    def test_a_sender_is_killed(self):
        for device in self.kinds():
            for _ in range(self.ROUNDS):
                running = self.start("send", self.endpoint(), "--port", device, "--rate", "10Mbps", "--heap-size", 4000)
                self.at_a_random_moment(running)
                running.process.kill()
                running.wait(status=-signal.SIGKILL)
            self.receives_again(device)

    def test_an_interface_is_deleted(self):
        for device in self.kinds():
            for _ in range(self.ROUNDS):
                self.make()
                running = self.receiver(device)
                self.at_a_random_moment(running)
                self.remove()
                # During the start that is an error; later the program waits for the interface until it is stopped.
                end = time.monotonic() + 30 * harness.PATIENCE
                while running.process.poll() is None and "has disappeared" not in running.text(1):
                    self.assertLess(time.monotonic(), end, f"nothing is said of it:\n{running.text(1)}")
                    time.sleep(0.01)
                # A failed start ends by itself: a signal that comes after its last line would be its status.
                if "its network interface dut has disappeared" in running.text(1):
                    running.interrupt()
                finished = running.wait(status=None)
                self.assertEqual(finished.status, 1, str(finished))
                self.assertTrue(finished.err.strip().splitlines()[-1].startswith("dpdk-spead: "), str(finished))
            self.make()
            self.receives_again(device)

    def test_an_interface_is_deleted_and_made_again_under_a_sender_and_a_receiver(self):
        for device in self.kinds():
            config = self.directory / "run.toml"
            config.write_text(f"""version = 1
[runtime]
control = "off"
[memory]
heaps = "8MiB"
[[port]]
name = "p0"
device = "{device}"
[[receive]]
name = "s0"
port = "p0"
endpoints = ["{self.endpoint()}"]
max_packet_size = 1472
[receive.heaps]
max_bytes = "64KiB"
[receive.sink]
kind = "verify"
[[send]]
name = "d0"
port = "p0"
endpoints = ["{self.endpoint(9)}"]
rate = "10Mbps"
heap_size = 4000
timeout = "50ms"
""", encoding="utf-8")
            running = self.start("run", "--config", config)
            running.wait_for(lambda: self.group() in self.groups_joined(), "membership")
            for times in range(1, self.ROUNDS + 1):
                self.at_a_random_moment(running)
                self.remove()
                running.wait_for(lambda: running.text(1).count("has disappeared") == times, "word of the loss")
                self.make()
                running.wait_for(lambda: running.text(1).count("receives and sends again") == times, "word of the return")
                self.assertIn(self.group(), self.groups_joined())
            self.send(range(1, 6))
            running.wait_for(lambda: self.heard_from_it(), "packets of the sender")
            running.interrupt()
            report = running.wait().report
            self.assertEqual(report["streams"][0]["info"]["wrong"], 0)
            self.assertEqual(report["streams"][0]["info"]["verified"], 5)

    def heard_from_it(self):
        """Whether packets come from the program to the far end."""
        listener = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW)
        listener.bind(("peer", 0x86DD if self.FAMILY.is_v6 else 0x0800))
        listener.settimeout(0.5)
        try:
            heard = listener.recv(65536)
            return heard[38:54] == self.FAMILY.packed(self.group(9)) if self.FAMILY.is_v6 \
                else heard[30:34] == self.FAMILY.packed(self.group(9))
        except TimeoutError:
            return False


class InterfaceFaults6(InterfaceFaults):
    """One round is enough: what differs over IPv6 is the memberships, the rules and the senders' addresses."""
    FAMILY = namespaces.V6
    ROUNDS = 1


if __name__ == "__main__":
    harness.main()
