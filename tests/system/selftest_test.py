#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`dpdk-spead selftest` on virtual devices."""

import json

import harness
import wire


class Selftest(harness.ProgramTest):
    def selftest(self, *words, status=0):
        return json.loads(self.run_program("selftest", *words, "--json", status=status, report=False).out)

    def findings(self, document):
        return {finding["subject"]: finding for finding in document["findings"]}

    def test_every_step_on_a_ring_is_well_and_every_packet_comes_back(self):
        document = self.selftest("--port", "net_ring0")
        self.assertEqual(document["failed"], 0, document)
        self.assertEqual(document["port"]["driver"], "net_ring")
        found = self.findings(document)
        self.assertEqual({f["verdict"] for f in found.values()}, {"ok"})
        self.assertEqual(found["loop"]["text"], "all 48 packets came back")
        self.assertEqual(found["sending: memory given back"]["text"], "at once")
        for length, pages in ((4194304, 2097152), (12288, 4096), (8192, 4096)):
            self.assertIn(f"{length} bytes in pages of {pages}", str(found))

    def test_a_port_that_only_receives_is_not_asked_to_send(self):
        document = self.selftest("--port", "net_kernel0")
        self.assertEqual(document["failed"], 0, document)
        found = self.findings(document)
        self.assertEqual(found["sending"]["text"], "not tried: this port only receives")
        self.assertIn("sockets", found["rules"]["text"])
        self.assertIn("its event can be waited for", found["receive queue 0"]["text"])

    def test_packets_into_a_file(self):
        capture = self.directory / "out.pcap"
        for to, at in (("239.1.2.3:4567", 36), ("[ff15::3]:4567", 56)):
            with self.subTest(to=to):
                document = self.selftest("--port", f"net_pcap0,tx_pcap={capture}", "--to", to)
                self.assertEqual(document["failed"], 0, document)
                for frame in wire.read_pcap(capture):
                    self.assertEqual(frame[at:at + 2], (4567).to_bytes(2, "big"))
                    self.assertEqual(set(wire.udp_payload(frame)), {0x5A})

    def test_a_port_without_a_peer_is_no_failure(self):
        socket = self.directory / "memif.sock"
        document = self.selftest("--port", f"net_memif0,role=server,socket={socket},socket-abstract=no")
        self.assertEqual(document["failed"], 0, document)
        self.assertEqual(self.findings(document)["sending"]["verdict"], "warn")

    def test_what_it_is_told_wrong(self):
        self.refused("selftest", says=("--port", "dpdk-spead info"))
        self.refused("selftest", "--port", "net_ring0", "--to", "10.0.0.1:9", says=("--to", "multicast group"))
        self.refused("selftest", "--port", "nosuch0", status=1, says=("nosuch0",))


if __name__ == "__main__":
    harness.main()
