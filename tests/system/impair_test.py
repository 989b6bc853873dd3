#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--impair: its effect on packets, bit by bit, and on a receiver. Everything is known beforehand."""

import collections

import harness
import wire
from impairments import Impairments, heap_of

ENDPOINT = "239.1.1.1:7148"
ENDPOINT6 = "[ff15::1]:7148"
HEAPS = ("--heaps", 200, "--heap-size", "16KiB", "--verify")

CASES = [
    Impairments(),
    Impairments(loss=0.01),
    Impairments(duplicate=0.05, seed=2),
    Impairments(reorder=10, seed=3),
    Impairments(corrupt=0.02, seed=4),
    Impairments(loss=0.01, duplicate=0.005, corrupt=0.001, reorder=10, seed=7),
    Impairments(loss=0.3, duplicate=0.5, corrupt=0.4, reorder=1024, seed=2**64 - 1),
    Impairments(loss=1.0),
]


class ImpairTest(harness.ProgramTest):
    def sent(self, *words, name="sent.pcap", endpoint=ENDPOINT):
        """Returns the packets that a sender puts into a file, and its part of the report."""
        path = self.directory / name
        finished = self.run_program("send", endpoint, "--port", f"net_pcap0,tx_pcap={path}", *words, timeout=120)
        # A driver that was given nothing has written nothing.
        return (wire.read_pcap(path) if path.stat().st_size else []), finished.report["sends"][0]

    def device(self, role):
        return f"net_memif0,role={role},socket={self.directory}/a.sock,socket-abstract=no"

    def assert_counts(self, send, given, case, sent, groups=True):
        """`groups`: all of those that are reordered are whole."""
        impaired = send["impaired"]
        self.assertEqual(send["packets"], given)
        expected = {"lost": case.lost, "duplicated": case.duplicated, "corrupted": case.corrupted,
                    "reordered": case.reordered, "sent": sent}
        if not groups:
            del expected["reordered"]
        self.assertEqual({name: impaired[name] for name in expected}, expected)
        self.assertEqual((impaired["dropped"], impaired["delayed"]), (0, 0))
        self.assertEqual(sent, given - case.lost + case.duplicated)


class Sender(ImpairTest):
    def test_every_frame_is_as_the_seed_says(self):
        plain, send = self.sent(*HEAPS)
        self.assertNotIn("impaired", send)
        self.assertGreater(len(plain), 2000)
        for number, case in enumerate(CASES):
            with self.subTest(case=str(case)):
                expected = case.apply(plain)
                frames, send = self.sent(*HEAPS, "--impair", case, name=f"{number}.pcap")
                self.assertEqual(len(frames), len(expected))
                self.assertEqual(frames, expected)
                self.assert_counts(send, len(plain), case, len(expected))

    def test_checksums_are_those_of_what_was_meant(self):
        plain, _ = self.sent(*HEAPS, "--udp-checksum")
        case = Impairments(corrupt=0.05, seed=5)
        expected = case.apply(plain)
        frames, _ = self.sent(*HEAPS, "--udp-checksum", "--impair", case, name="x.pcap")
        self.assertEqual(frames, expected)
        self.assertNotEqual(frames, plain)

    def test_packets_of_ipv6_are_impaired_as_well(self):
        """Their checksums, which they must have, stay those of what was meant."""
        words = (*HEAPS, "--address", "fd00::1")
        plain, _ = self.sent(*words, endpoint=ENDPOINT6)
        case = Impairments(loss=0.01, corrupt=0.05, reorder=10, seed=6)
        expected = case.apply(plain)
        frames, send = self.sent(*words, "--impair", case, name="x.pcap", endpoint=ENDPOINT6)
        self.assertEqual(frames, expected)
        self.assert_counts(send, len(plain), case, len(expected))
        self.assertGreater(case.corrupted, 50)

    def test_a_long_delay_holds_the_sender_back_and_is_no_outage(self):
        """Holds back more packets than can be delayed at once, longer than a port may take nothing."""
        finished = self.run_program("send", ENDPOINT, "--port", "net_null0", "--heaps", 150, "--heap-size", "64KiB",
                                    "--impair", "delay=2s", timeout=120)
        send = finished.report["sends"][0]
        self.assertGreater(send["packets"], 6000)
        self.assertEqual(send["impaired"]["sent"], send["packets"])
        self.assertNotIn("stuck", finished.err)
        self.assertEqual(harness.losses(finished.report["findings"]), set())
        self.assertIn("impaired", [finding["cause"] for finding in finished.report["findings"]])

    def test_what_is_delayed_is_overtaken_and_nothing_is_lost(self):
        plain, _ = self.sent(*HEAPS)
        frames, send = self.sent(*HEAPS, "--impair", "delay=5%:20ms,seed=3", name="x.pcap")
        self.assertEqual(collections.Counter(frames), collections.Counter(plain))
        delayed = Impairments(seed=3)
        expected = sum(delayed.hits(0.05, 3, number) for number in range(len(plain)))
        self.assertEqual(send["impaired"]["delayed"], expected)
        self.assertEqual(send["impaired"]["sent"], len(plain))
        self.assertNotEqual(frames, plain)

    def test_the_report_and_the_log_say_that_it_was_on_purpose(self):
        finished = self.run_program("send", ENDPOINT, "--port", "net_null0", "--heaps", 50, "--impair", "loss=10%")
        self.assertIn("impaired on purpose", finished.out)
        self.assertIn("d0: its packets are impaired on purpose: loss=10%", finished.err)
        self.assertIn("impaired", [finding["cause"] for finding in finished.report["findings"]])

    def test_nonsense_is_refused(self):
        for text, why in (("loss=2", "is not a fraction"), ("lose=1%", "`lose` is not an impairment"),
                          ("loss=1%,loss=1%", "is given twice"), ("loss", "is not KEY=VALUE")):
            for command in (("send", ENDPOINT), ("replay", "x.pcap"), ("loopback",)):
                port = () if command[0] == "loopback" else ("--port", "net_null0")
                self.refused(*command, *port, "--impair", text, says=("--impair", why))


class Receiver(ImpairTest):
    def receive(self, case, status=0):
        """A receiver's stream and the sender's part, between two processes that lose nothing by themselves."""
        running = self.start("recv", ENDPOINT, "--port", self.device("server"), "--sink", "verify", "--max-heaps", 1000,
                             "--memory", "64MiB", "--max-heap-bytes", "64KiB")
        sent = self.run_program("send", ENDPOINT, "--port", self.device("client"), *HEAPS, "--impair", case, timeout=120)
        running.interrupt()
        return running.wait(status=status, timeout=120).report["streams"][0], sent.report["sends"][0]

    def plain(self):
        frames, _ = self.sent(*HEAPS, name="plain.pcap")
        return frames

    def test_what_was_sent_less_what_was_lost_and_twice_what_was_duplicated_is_received(self):
        plain = self.plain()
        # The last packet is the stop, a heap without data; each packet before it is of a heap.
        stop = len(plain) - 1
        for case in (Impairments(loss=0.01, seed=21), Impairments(duplicate=0.1, seed=22),
                     Impairments(reorder=50, seed=23),
                     Impairments(loss=0.02, duplicate=0.02, reorder=20, seed=24)):
            with self.subTest(case=str(case)):
                arrived = case.apply(plain)
                stream, send = self.receive(case)
                # A group waits for a second at most, and a receiver without a CPU takes longer.
                self.assert_counts(send, len(plain), case, len(arrived), groups=False)
                lost = [number for number in range(len(plain)) if case.is_lost(number)]
                heaps = collections.Counter(heap_of(frame)[0] for frame in plain[:stop])
                holes = {heap_of(plain[number])[0] for number in lost if number != stop}
                came = {heap_of(frame)[0] for frame in arrived if frame != plain[stop]}
                again = len(arrived) - len(set(arrived))
                packets = stream["packets"]
                self.assertEqual(packets["received"], len(plain) - case.lost + case.duplicated)
                self.assertEqual(packets["duplicate"] + packets["placed"] + packets["control"], packets["received"])
                # A copy of the stop, too.
                self.assertEqual(packets["duplicate"], again)
                ended = stream["heaps"]
                self.assertEqual(ended["complete"], len(heaps) - len(holes))
                self.assertEqual(ended["started"], len(came))
                self.assertEqual(stream["info"]["verified"], len(heaps) - len(holes))
                self.assertEqual(stream["info"]["wrong"], 0)

    def test_what_was_corrupted_is_wrong_or_refused(self):
        plain = self.plain()

        def harmless(case):
            """Only payload is hit, and no descriptor's."""
            bits = [(frame, case.inverted_bit(frame, number)) for number, frame in enumerate(plain)]
            bits = [(frame, bit) for frame, bit in bits if bit is not None]
            return bits if all(bit // 8 >= heap_of(frame)[3] and heap_of(frame)[0] > 1 for frame, bit in bits) else []

        case, bits = next((case, bits) for case in (Impairments(corrupt=0.005, seed=seed) for seed in range(1, 10000))
                          if len(bits := harmless(case)) >= 5)
        arrived = case.apply(plain)
        stream, send = self.receive(case, status=1)
        self.assert_counts(send, len(plain), case, len(arrived), groups=False)
        wrong = {heap_of(frame)[0] for frame, _ in bits}
        self.assertEqual(stream["packets"]["received"], len(plain))
        self.assertEqual(stream["info"]["wrong"], len(wrong))
        self.assertEqual(stream["info"]["verified"], 200 - len(wrong))
        # And of any other bits, every packet is in some counter.
        case = Impairments(corrupt=0.5, duplicate=0.2, reorder=7, loss=0.1, seed=99)
        arrived = case.apply(plain)
        stream, send = self.receive(case, status=1)
        self.assert_counts(send, len(plain), case, len(arrived), groups=False)
        self.assertEqual(stream["packets"]["received"], len(arrived))

    def test_what_comes_too_late_is_counted_so(self):
        """Heaps of one packet overtake the delayed ones until those are given up."""
        running = self.start("recv", ENDPOINT, "--port", self.device("server"), "--max-heaps", 2, "--memory", "64MiB",
                             "--max-heap-bytes", "64KiB", "--history-time", "1h")
        sent = self.run_program("send", ENDPOINT, "--port", self.device("client"), *HEAPS, "--impair",
                                "delay=1%:300ms,seed=5", timeout=120).report["sends"][0]
        running.interrupt()
        stream = running.wait(timeout=120).report["streams"][0]
        packets, heaps = stream["packets"], stream["heaps"]
        self.assertEqual(packets["received"], sent["packets"])
        self.assertEqual(sent["impaired"]["lost"], 0)
        self.assertEqual(packets["late"] + packets["placed"] + packets["control"], packets["received"])
        self.assertGreater(packets["late"], 0)
        self.assertGreater(heaps["evicted"], 0)

    def test_a_loopback_ends_by_itself_and_says_that_it_is_not_whole(self):
        finished = self.run_program("loopback", "--heaps", 300, "--heap-size", "16KiB", "--max-heaps", 8, "--impair",
                                    "loss=1%,duplicate=1%,reorder=4", status=1, timeout=60)
        send, stream = finished.report["sends"][0], finished.report["streams"][0]
        impaired = send["impaired"]
        self.assertEqual(stream["packets"]["received"], send["packets"] - impaired["lost"] + impaired["duplicated"])
        self.assertGreater(impaired["lost"], 0)


class Replay(ImpairTest):
    def test_a_replay_is_impaired_like_a_sender(self):
        plain, _ = self.sent(*HEAPS)
        case = Impairments(loss=0.05, duplicate=0.05, corrupt=0.05, reorder=16, seed=12)
        expected = case.apply(plain)
        out = self.directory / "out.pcap"
        finished = self.run_program("replay", self.directory / "sent.pcap", "--rate", 0, "--port",
                                    f"net_pcap0,tx_pcap={out}", "--impair", case)
        self.assertEqual(wire.read_pcap(out), expected)
        replay = finished.report["replays"][0]
        self.assertEqual(replay["packets"], len(plain))
        self.assertEqual((replay["impaired"]["lost"], replay["impaired"]["sent"]), (case.lost, len(expected)))
        self.assertIn("impaired on purpose", finished.out)

    def test_a_long_delay_holds_the_replay_back_and_nothing_is_lost(self):
        """Holds back more packets than can be delayed at once, longer than a replay waits for a port."""
        plain, _ = self.sent("--heaps", 150, "--heap-size", "64KiB")
        self.assertGreater(len(plain), 6000)
        out = self.directory / "out.pcap"
        finished = self.run_program("replay", self.directory / "sent.pcap", "--rate", 0, "--port",
                                    f"net_pcap0,tx_pcap={out}", "--impair", "delay=4s", timeout=120)
        self.assertEqual(wire.read_pcap(out), plain)
        self.assertEqual(finished.report["replays"][0]["impaired"]["sent"], len(plain))


if __name__ == "__main__":
    harness.main()
