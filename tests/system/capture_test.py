#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""capture and replay between processes over net_memif: what was sent is in the files, and comes out of them again."""

import shutil
import signal
import struct
import subprocess

import harness
import wire

def records(path):
    """(time in ns, bytes, length on the wire) of every record of a nanosecond pcap file, which must be whole."""
    data = path.read_bytes()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, link) == (0xA1B23C4D, 1), (hex(magic), link)
    at, found = 24, []
    while at < len(data):
        seconds, nanoseconds, captured, on_wire = struct.unpack_from("<IIII", data, at)
        at += 16 + captured
        assert at <= len(data), "the last record is not whole"
        found.append((seconds * 10**9 + nanoseconds, data[at - captured:at], on_wire))
    return found


class Capture(harness.ProgramTest):
    endpoint = "239.1.1.1:7148"

    def device(self, role, name="a"):
        return f"net_memif0,role={role},socket={self.directory / name}.sock,socket-abstract=no"

    def capture(self, *words, name="a", **options):
        return self.start("capture", self.endpoint, "--port", self.device("server", name), *words, **options)

    def send(self, *words, name="a", heaps=300):
        return self.run_program("send", self.endpoint, "--port", self.device("client", name), "--heaps", heaps,
                                "--heap-size", "64KiB", "--verify", *words, timeout=120)

    def captured(self, *words, heaps=300):
        """Captures a send's packets into files with these options. Checks that all are there; returns the report."""
        running = self.capture("--idle-exit", 1, *words)
        sent = self.send(heaps=heaps)
        report = running.wait(timeout=120).report
        packets = report["captures"][0]["packets"]
        self.assertEqual(packets["taken"], sent.report["sends"][0]["packets"], report)
        self.assertEqual((packets["written"], packets["buffered"]), (packets["taken"], 0), report)
        self.assertEqual(report["streams"][0]["packets"]["captured"], packets["taken"])
        return report

    def replay(self, receiver, *words, name="b", status=0):
        """Replays into a receiver that is started here; both ends."""
        running = self.start(*receiver, "--port", self.device("server", name))
        sent = self.run_program("replay", *words, "--port", self.device("client", name), timeout=120, status=status)
        return running.wait(timeout=120), sent

    def test_what_is_sent_is_captured_and_replayed_and_verified(self):
        for self.endpoint in ("239.1.1.1:7148", "[ff15::1]:7148"):
            with self.subTest(endpoint=self.endpoint):
                path = self.directory / "a.pcap"
                self.captured(path)
                received, sent = self.replay(("recv", self.endpoint, "--sink", "verify", "--exit-on-stop"), path, "--rate", 0)
                self.assert_stream(received.report, "s0", complete=300, duplicate=0, malformed=0)
                self.assertEqual(received.report["streams"][0]["info"]["verified"], 300)
                replayed = sent.report["replays"][0]
                self.assertEqual(replayed["packets"], len(records(path)))
                self.assertEqual(replayed["passes"], 1)

    def test_a_replay_larger_than_its_memory_is_the_same_byte_for_byte(self):
        first, second = self.directory / "a.pcap", self.directory / "b.pcap"
        self.captured(first)
        self.assertGreater(first.stat().st_size, 10 << 20)
        _, sent = self.replay(("capture", self.endpoint, second, "--idle-exit", 1), first, "--rate", 0, "--memory", "1MiB")
        self.assertFalse(sent.report["replays"][0]["resident"])
        self.assertEqual([r[1] for r in records(second)], [r[1] for r in records(first)])

    def test_several_files_with_rotation_are_one_capture(self):
        words = ["--file", self.directory / "x.pcap", "--file", self.directory / "y.pcap", "--rotate-size", "1MiB",
                 "--buffer", "4MiB"]
        report = self.captured(*words)
        files = sorted(self.directory.glob("[xy]-*.pcap"))
        self.assertEqual(len(files), sum(f["files"] for f in report["captures"][0]["files"]))
        self.assertGreater(len(files), 10)
        for path in files:
            self.assertLessEqual(path.stat().st_size, 1 << 20)
        whole = sorted((record for path in files for record in records(path)), key=lambda record: record[0])
        self.assertEqual(len(whole), report["captures"][0]["packets"]["written"])
        copy = self.directory / "copy.pcap"
        self.replay(("capture", self.endpoint, copy, "--idle-exit", 1), *files, "--rate", 0)
        self.assertEqual([r[1] for r in records(copy)], [r[1] for r in whole])

    def test_a_capture_of_a_number_of_packets_with_a_snap_length_ends_itself(self):
        path = self.directory / "a.pcap"
        running = self.capture(path, "--count", 100, "--snaplen", 64)
        sender = self.start("send", self.endpoint, "--port", self.device("client"), "--heaps", 100, "--heap-size", "64KiB",
                            "--rate", "100Mbps")
        report = running.wait().report
        sender.interrupt()
        sender.wait(status=None)
        kept = records(path)
        self.assertEqual(len(kept), 100)
        self.assertEqual({len(data) for _, data, _ in kept}, {64})
        self.assertGreater(min(on_wire for _, _, on_wire in kept), 64)
        self.assertEqual(report["streams"][0]["packets"]["captured"], 100)

    def test_other_destinations(self):
        path, second = self.directory / "a.pcap", self.directory / "b.pcap"
        self.captured(path, heaps=3)
        other = "239.9.9.9:9999"
        self.replay(("capture", other, second, "--idle-exit", 1), path, "--to", other, "--ttl", 9, "--pps", 10000)
        before, after = records(path), records(second)
        self.assertEqual(len(after), len(before))
        for (_, old, _), (_, new, _) in zip(before, after):
            self.assertEqual(new[:6], bytes([1, 0, 0x5E, 9, 9, 9]))
            self.assertEqual((new[22], new[30:34], new[36:38]), (9, bytes([239, 9, 9, 9]), (9999).to_bytes(2, "big")))
            self.assertEqual((new[42:], new[6:22]), (old[42:], old[6:22]))
        running, _ = self.replay(("recv", other, "--sink", "verify", "--exit-on-stop"), path, "--map",
                                 f"{self.endpoint}={other}", "--speed", 0.5)
        self.assert_stream(running.report, "s0", complete=3)

    def test_other_destinations_of_ipv6(self):
        path, second = self.directory / "a.pcap", self.directory / "b.pcap"
        self.endpoint, other = "[ff15::1]:7148", "[ff15::9:9]:9999"
        self.captured(path, heaps=3)
        self.replay(("capture", other, second, "--idle-exit", 1), path, "--to", other, "--ttl", 9, "--own-source",
                    "--pps", 10000)
        before, after = records(path), records(second)
        self.assertEqual(len(after), len(before))
        for (_, old, _), (_, new, _) in zip(before, after):
            self.assertEqual(new[:6], bytes([0x33, 0x33, 0, 9, 0, 9]))
            self.assertEqual((new[21], new[38:54]), (9, bytes([0xFF, 0x15, *bytes(11), 9, 0, 9])))
            self.assertEqual((new[22:24], new[56:58]), (b"\xfe\x80", (9999).to_bytes(2, "big")))
            self.assertEqual(wire.udp_payload(new), wire.udp_payload(old))
        running, _ = self.replay(("recv", other, "--sink", "verify", "--exit-on-stop"), path, "--map",
                                 f"{self.endpoint}={other}", "--rate", 0)
        self.assert_stream(running.report, "s0", complete=3)

    def test_packets_do_not_change_their_ip_version(self):
        path, both = self.directory / "a.pcap", self.directory / "both.pcap"
        four = [wire.frame(packet) for packet in wire.heap(1, bytes(3000))]
        six = [wire.frame(packet, "ff15::1") for packet in wire.heap(1, bytes(3000))]
        wire.write_pcap(path, four)
        says = ["--to", "[ff15::9]:9 is IPv6", "the files are IPv4", "to 239.1.1.1:7148"]
        self.refused("replay", path, "--port", "net_null0", "--to", "[ff15::9]:9", says=says)
        wire.write_pcap(path, six)
        says = ["--to", "239.9.9.9:9 is IPv4", "the files are IPv6", "to [ff15::1]:7148"]
        self.refused("replay", path, "--port", "net_null0", "--to", "239.9.9.9:9", says=says)
        wire.write_pcap(both, four + six)
        finished = self.run_program("replay", both, "--port", "net_null0", "--to", "[ff15::9]:9", "--rate", 0)
        replayed = finished.report["replays"][0]
        self.assertEqual((replayed["packets"], replayed["pass"]["not_udp"]), (len(six), len(four)), replayed)
        self.assertIn("of the new destination's IP version", finished.err)

    def frames(self, path, *groups, start=1):
        """Writes a capture of groups (number, bytes of payload) of equal packets, all at one time in seconds."""
        path.write_bytes(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        with path.open("ab") as file:
            for number, payload in groups:
                frame = wire.frame(bytes(payload))
                record = struct.pack("<IIII", start, 0, len(frame), len(frame)) + frame
                file.write(record * number)

    def test_packets_that_get_longer_late_in_a_file_are_sent(self):
        path = self.directory / "late.pcap"
        self.frames(path, (70_000, 1000), (100, 8000))
        self.assertGreater(path.stat().st_size, 64 * 2**20)
        sent = self.run_program("replay", path, "--port", "net_null0", "--rate", 0, timeout=120)
        self.assertEqual((sent.report["replays"][0]["packets"], sent.report["replays"][0]["pass"]["too_long"]), (70_100, 0))
        self.assertNotIn("left out", sent.err)
        sent = self.run_program("replay", path, "--port", "net_null0", "--rate", 0, "--mtu", 1500, timeout=120)
        self.assertEqual(sent.report["replays"][0]["pass"]["too_long"], 100)
        self.assertIn("100 of the 70100 records of a pass are longer than 1522 bytes", sent.err)
        self.assertIn("--mtu", sent.err)

    def test_a_long_look_at_a_capture_is_told_and_can_be_interrupted(self):
        path = self.directory / "huge.pcap"
        self.frames(path, (1, 1000))
        with open(path, "ab") as file:  # records of no bytes, which take no place on the disk
            file.truncate(2**38)
        replay = self.start("replay", path, "--port", "net_null0")
        replay.wait_for(lambda: "looking for the longest packet of" in replay.text(1), "a word about the file")
        self.assertIn("huge.pcap, 64.0 MiB of 256 GiB so far; give --mtu to begin at once", replay.text(1))
        replay.interrupt()
        replay.wait(status=-signal.SIGINT)

    def test_passes_without_a_length_are_refused(self):
        """At its own times, a file of one packet would be sent again and again without a pause."""
        one = self.directory / "one.pcap"
        self.frames(one, (3, 1000))
        for passes in (-1, 2):
            self.refused("replay", one, "--port", "net_null0", "--loop", passes, says=["--loop", "one time", "--pps or --rate"])
        sent = self.run_program("replay", one, "--port", "net_null0", "--loop", 2, "--pps", 1000)
        self.assertEqual(sent.report["replays"][0]["packets"], 6)
        # Merged files have a length when their times differ; one after the other, they have none.
        other = self.directory / "other.pcap"
        self.frames(other, (1, 1000), start=2)
        sent = self.run_program("replay", one, other, "--port", "net_null0", "--loop", 2, "--speed", 100)
        self.assertEqual(sent.report["replays"][0]["packets"], 8)
        self.refused("replay", one, other, "--port", "net_null0", "--loop", 2, "--order", "sequence", says=["one time"])

    def test_interrupted_captures_and_replays_end_orderly(self):
        path = self.directory / "a.pcap"
        running = self.capture(path)
        sender = self.start("send", self.endpoint, "--port", self.device("client"), "--heap-size", "64KiB", "--rate", "1Gbps")
        running.wait_for(lambda: path.exists() and path.stat().st_size > 1 << 20, "a capture of 1 MiB")
        running.interrupt()
        report = running.wait().report
        sender.interrupt()
        sender.wait(status=None)
        self.assertEqual(len(records(path)), report["captures"][0]["packets"]["taken"])
        for rate in ("--rate=0", "--pps=100"):
            with self.subTest(rate=rate):
                replay = self.start("replay", path, "--port", "net_null0", "--loop", -1, rate)
                replay.wait_for(lambda: "Ctrl-C" in replay.text(1), "start")
                replay.interrupt()
                replay.wait()

    def full(self, path, **options):
        """A capture whose disk is full after 2 MB."""
        running = self.capture(path, report=True, **options)
        sender = self.start("send", self.endpoint, "--port", self.device("client"), "--heap-size", "64KiB", "--rate", "2Gbps",
                            "--duration", 20)
        ended = running.wait(status=1)
        sender.interrupt()
        sender.wait(status=None)
        return ended

    def check_full(self, ended, path, reason):
        self.assertIn(reason, ended.err, str(ended))
        self.assertIn("which can be read", ended.err, str(ended))
        capture = ended.report["captures"][0]
        self.assertEqual(len(records(path)), capture["packets"]["written"])
        self.assertGreater(capture["packets"]["written"], 500)
        self.assertGreater(capture["packets"]["unwritten"], 0)
        self.assertEqual(capture["files"][0]["bytes"], path.stat().st_size)

    def test_a_file_that_may_not_grow_ends_the_capture_cleanly(self):
        if not shutil.which("prlimit"):
            self.skipTest("no prlimit")
        path = self.directory / "a.pcap"
        self.check_full(self.full(path, prefix=("prlimit", "--fsize=2000000")), path, "File too large")

    def test_a_full_disk_ends_the_capture_cleanly(self):
        disk = self.directory / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True)
        if mount.returncode != 0:
            self.skipTest("no tmpfs can be mounted: " + mount.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        path = disk / "a.pcap"
        self.check_full(self.full(path), path, "No space left on device")

    def test_broken_captures(self):
        whole = self.directory / "a.pcap"
        self.captured(whole, heaps=3)
        cut = self.directory / "cut.pcap"
        cut.write_bytes(whole.read_bytes()[:-5])
        number = len(records(whole))
        ended = self.run_program("replay", cut, "--port", "net_null0", "--rate", 0, status=1)
        self.assertIn(f"is truncated in record {number} at byte", ended.err)
        self.assertEqual(ended.report["replays"][0]["packets"], number - 1)
        lie = self.directory / "lie.pcap"
        lie.write_bytes(whole.read_bytes() + struct.pack("<IIII", 1, 1, 0xFFFFFFFF, 0xFFFFFFFF))
        ended = self.run_program("replay", lie, "--port", "net_null0", "--rate", 0, status=1)
        self.assertIn(f"is damaged in record {number + 1} at byte {whole.stat().st_size}", ended.err)
        self.assertEqual(ended.report["replays"][0]["packets"], number)
        pcapng = self.directory / "a.pcapng"
        pcapng.write_bytes(bytes.fromhex("0A0D0D0A1C0000004D3C2B1A01000000FFFFFFFFFFFFFFFF1C000000"))
        self.refused("replay", pcapng, "--port", "net_null0", status=1, says=["is a pcapng file", "editcap"])
        (self.directory / "none.pcap").write_bytes(b"x" * 100)
        self.refused("replay", self.directory / "none.pcap", "--port", "net_null0", status=1,
                     says=["is not a pcap file"])

    def test_refusals(self):
        self.refused("capture", self.endpoint, "--port", "net_null0", says=["needs a file"])
        self.refused("capture", "a.pcap", "--port", "net_null0", says=["needs an endpoint"])
        self.refused("capture", "239.1.1.1", "a.pcap", "--port", "net_null0", says=["239.1.1.1", "port"])
        self.refused("capture", self.endpoint, self.directory / "no" / "a.pcap", "--port", "net_null0", status=1,
                     says=["there is no directory"])
        self.refused("capture", self.endpoint, "a.pcap", "--file", "a.pcap", "--port", "net_null0", says=["two captures"])
        self.refused("replay", "--port", "net_null0", says=["needs a file"])
        self.refused("replay", self.directory / "none.pcap", "--port", "net_null0", status=1,
                     says=["No such file or directory"])
        self.refused("replay", "a.pcap", "--port", "net_null0", "--speed", 2, "--pps", 5, says=["exclude each other"])
        self.refused("replay", "a.pcap", "--port", "net_null0", "--loop", 0, says=["--loop"])
        self.refused("replay", "a.pcap", "--port", "net_null0", "--map", "239.1.1.1:1", says=["OLD=NEW"])
        self.refused("replay", "a.pcap", "--port", "net_null0", "--map", "[ff15::1]:5=[ff11::1]:5", says=["ff11::1", "scope 1"])
        # Packets that were captured on an interface may have had any group.
        self.refused("replay", self.directory / "none.pcap", "--port", "net_null0", "--map", "[ff11::1]:5=[ff15::1]:5",
                     status=1, says=["No such file or directory"])
        path = self.directory / "a.pcap"
        self.captured(path, heaps=1)
        self.refused("replay", path, "--port", "net_null0", "--to", "10.0.0.1:1", says=["--dst-mac"])


if __name__ == "__main__":
    harness.main()
