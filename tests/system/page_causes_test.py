#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page beside processes that lose packets before their lcore fetches them: a queue that is too short, and a
CPU that other programs take. Kernel sockets have both."""

import re
import socket
import subprocess
import sys
import threading

import harness
import page_test
import wire

SOL_UDP, UDP_SEGMENT = 17, 103
SIZE = 1000  # of a datagram
AT_ONCE = 60  # datagrams of a system call
BURSTS = 20
SPINNERS = 4  # each has its turn before the lcore has the next

setUpModule = page_test.setUpModule
tearDownModule = page_test.tearDownModule


class Bursts(threading.Thread):
    """Sends datagrams that the kernel cuts from long ones, so that many come at once."""

    def __init__(self, port):
        super().__init__()
        self._to, self._stop_asked = ("127.0.0.1", port), threading.Event()
        self._pause = 0.02

    def run(self):
        count = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(SOL_UDP, UDP_SEGMENT, SIZE)
            head = len(wire.packet(1, 0, b"", 0))
            while not self._stop_asked.wait(self._pause):
                packets = []
                for _ in range(AT_ONCE * BURSTS):
                    count += 1
                    packets.append(wire.packet(count, 0, bytes(SIZE - head), SIZE - head))
                for i in range(BURSTS):
                    sender.sendto(b"".join(packets[i * AT_ONCE:(i + 1) * AT_ONCE]), self._to)

    def end(self):
        self._stop_asked.set()
        self.join()


class Lost(page_test.Page):
    def begin(self, poll):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
            found.bind(("127.0.0.1", 0))
            udp = found.getsockname()[1]
        running = self.start("recv", f"127.0.0.1:{udp}", "--backend", "kernel", "--port", "net_kernel0,iface=lo",
                             "--buffer-size", "64KiB", "--poll", poll, "--sink", "null", "--metrics", 0)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        self.url = re.search(r"and the page at (http://127\.0\.0\.1:\d+/)", running.text(1))[1]
        self.window.driver.get(self.url)
        bursts = Bursts(udp)
        bursts.start()
        self.addCleanup(bursts.end)
        return running, bursts

    def end(self, running, bursts):
        bursts.end()
        self.assert_quiet(self.url)
        running.interrupt()
        return {finding["cause"]: finding for finding in running.wait().report["findings"]}

    def test_more_at_once_than_the_queue_holds(self):
        # In interrupt mode the lcore sleeps until packets come, so that it has time.
        running, bursts = self.begin("interrupt")
        self.expect_finding("receive_ring_short", "p0", r"restart with `--buffer-size 128KiB` \(now 64KiB\)[^`]*\n(.*\n)*let the sender send in smaller bursts")
        self.expect_stage("port", "bad")
        self.until_verdict("p0: receive queue too short")
        bursts.end()
        self.until_verdict("^Nothing is lost now; ")
        self.assertIn("receive_ring_short", self.end(running, bursts))

    def test_other_programs_on_the_cpu_of_an_lcore(self):
        running, bursts = self.begin("busy")
        running.wait_for(lambda: self.get("")["age_s"] is not None, "snapshot")
        (cpu,) = {lcore["cpu"] for lcore in self.get("lcores")}
        for _ in range(SPINNERS):
            spinner = subprocess.Popen([sys.executable, "-c",
                                        f"import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass"])
            self.addCleanup(spinner.wait)
            self.addCleanup(spinner.kill)
        # If the lcore waits for long, the cure first asks whether the program was stopped.
        self.expect_finding("lcore_interrupted", "p0", rf"`ps -eLo psr,pcpu,pid,comm --sort=-pcpu \| awk '\$1 == {cpu}'`\n")
        self.expect_stage("lcore", "bad")
        self.until_verdict("p0: lcore kept off its CPU")
        self.assertIn("lcore_interrupted", self.end(running, bursts))


if __name__ == "__main__":
    harness.main()
