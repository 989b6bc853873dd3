#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`send --from`: what a sink has written is sent and received again, and is the same."""

import json
import random

import harness
import ring
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"


class SendFrom(harness.ProgramTest):
    def store(self, kind="raw", count=40):
        """Heaps of different sizes and items, one of them incomplete, as a sink writes them. Returns its directory."""
        chance = random.Random(5)
        packets = []
        for number in range(1, count + 1):
            payload = chance.randbytes(5000 if number == 20 else chance.randrange(8, 20000))
            # Bytes before the first item, several items, immediates.
            starts = sorted(chance.sample(range(len(payload)), min(3, len(payload))))
            items = [(wire.ADDRESSED, 0x1000 + i, start) for i, start in enumerate(starts)]
            items += [(wire.IMMEDIATE, 0x1600, chance.randrange(1 << 40))]
            heap = wire.heap(number * 3, payload, items)
            packets += heap[:1] if number == 20 else heap
        capture = self.directory / "in.pcap"
        wire.write_pcap(capture, [wire.frame(data, GROUP) for data in packets])
        out = self.directory / f"stored-{kind}"
        self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={capture}", "--sink", f"{kind}:{out}")
        return out

    def again(self, source, kind="raw", heaps=None, **options):
        path = self.directory / "again.toml"
        out = self.directory / "again"
        path.write_text(ring.plan(ring.stream(0, {"kind": kind, "directory": out}),
                                  ring.sender(0, max_packet_size=1000, heaps=heaps, **{"from": source}),
                                  ring.table("end", exit_on_stop=True)), encoding="utf-8")
        return out, self.run_program("run", "--config", path, **options)

    def lines(self, directory):
        return [json.loads(line) for line in (directory / "heaps.jsonl").read_text(encoding="utf-8").splitlines()]

    def test_a_raw_sink_gets_the_same_bytes_and_index(self):
        stored = self.store()
        out, finished = self.again(stored / "s0.raw")
        self.assert_stream(finished.report, "s0", complete=39, delivered=39)
        self.assertEqual((out / "s0.raw").read_bytes(), (stored / "s0.raw").read_bytes())
        complete = [line for line in self.lines(stored) if line["complete"]]
        self.assertEqual(len(complete), 39)
        self.assertEqual(self.lines(out), complete)
        self.assertIn("1 line of", finished.err)

    def test_a_file_sink_gets_the_same_files(self):
        stored = self.store("file")
        out, _ = self.again(stored, kind="file", heaps=10)
        complete = [line for line in self.lines(stored) if line["complete"]]
        self.assertEqual(self.lines(out), complete[:10])
        for line in complete[:10]:
            name = f"s0-{line['cnt']}.bin"
            self.assertEqual((out / name).read_bytes(), (stored / name).read_bytes())

    def test_the_command_sends_to_a_capture_and_keeps_the_heap_counts(self):
        stored = self.store(count=5)
        sent = self.directory / "sent.pcap"
        finished = self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={sent}", "--from", stored,
                                    "--rate", "100Mbps")
        self.assertEqual(finished.report["sends"][0]["heaps"], 5)
        out = self.directory / "out"
        self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={sent}", "--sink", f"raw:{out}")
        self.assertEqual((out / "s0.raw").read_bytes(), (stored / "s0.raw").read_bytes())

    def test_what_cannot_be_sent_is_refused(self):
        stored = self.store(count=5)
        words = ("send", ENDPOINT, "--port", "net_null0", "--from")
        self.refused(*words, self.directory / "none", status=1, says=("there is no such directory or file",))
        self.refused(*words, self.directory, status=1, says=("cannot read the index", "heaps.jsonl"))
        self.refused(*words, stored, "--verify", says=("`pattern` and `verify`",))
        index, data = stored / "heaps.jsonl", stored / "s0.raw"
        text, whole = index.read_text(encoding="utf-8"), data.read_bytes()
        data.write_bytes(whole[:-1])
        self.refused(*words, stored, status=1, says=("heaps.jsonl:5", "it was cut"))
        data.write_bytes(whole)
        for wrong, says in ((text[:-1], "the last line has no end"), (text + "{broken\n", "no object of json"),
                            (text.replace('"offset":0', '"offset":99999999', 1), "payload"),
                            (text.replace('"file":"s0.raw"', '"file":"../s0.raw"', 1), "no name of a file")):
            index.write_text(wrong, encoding="utf-8")
            self.refused(*words, stored, status=1, says=(says,))


if __name__ == "__main__":
    harness.main()
