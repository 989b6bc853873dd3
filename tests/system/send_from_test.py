#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`send --from`: what a sink has written is sent and received again, and is the same."""

import json
import random
import shutil

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
        self.refused(*words, stored, "--verify", says=("`pattern` (--pattern) and `verify` (--verify)",))
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


class SendChunks(harness.ProgramTest):
    """Chunks of two endpoints with two channels each. Heap 20 did not come, and of heap 21 a packet is missing."""

    GROUPS = ("239.1.1.1", "239.1.1.2")
    ENDPOINTS = ("239.1.1.1+1:7148",)
    PLACEMENT = ("heap 4096; axis from: endpoint [2]; axis chan: item 0x3101 - 100 / 10 [2]; "
                 "time: item 0x1600 / 256 [8]; extra u16: item 0x3102 >> 32; tracked")

    def frames(self):
        chance = random.Random(8)
        frames = []
        for number in range(4 * 32):
            source, chan, time = number % 2, number // 2 % 2, 80 + number // 4
            items = [(wire.ADDRESSED, 0x3300, 0), (wire.IMMEDIATE, 0x1600, time * 256),
                     (wire.IMMEDIATE, 0x3101, 100 + 10 * chan), (wire.IMMEDIATE, 0x3102, chance.randrange(1 << 16) << 32)]
            heap = wire.heap(number + 7, chance.randbytes(4096), items, bits=48)
            heap = {20: [], 21: heap[1:]}.get(number, heap)
            frames += [wire.frame(data, self.GROUPS[source]) for data in heap]
        return frames

    def receive(self, capture, sink, *options, placement=PLACEMENT, **how):
        return self.run_program("recv", *self.ENDPOINTS, "--port", f"net_pcap0,rx_pcap={capture}", "--placement", placement,
                                "--sink", sink, *options, **how)

    def again(self, source, *options, placement=PLACEMENT, sink=None):
        """Sends what lies in `source`, and receives it into another directory. Returns that, and the sender."""
        sent, out = self.directory / f"sent{self._runs}.pcap", self.directory / f"again{self._runs}"
        sender = self.run_program("send", *self.ENDPOINTS, "--port", f"net_pcap0,tx_pcap={sent}", "--from", source,
                                  "--rate", "200Mbps", "--addr-bits", "48", *options)
        self.receive(sent, f"{sink or source.split(':')[0]}:{out}", placement=placement)
        return out, sender

    def store(self, kind):
        capture, out = self.directory / "in.pcap", self.directory / f"stored-{kind}"
        wire.write_pcap(capture, self.frames())
        self.receive(capture, f"{kind}:{out}")
        return out

    def assert_same_arrays(self, group, other, names=("data", "presence", "extra")):
        for name in names:
            files = [sorted(path.name for path in (place / name).iterdir() if path.name[0] != ".") for place in (group, other)]
            self.assertEqual(*files)
            self.assertGreater(len(files[0]), 3)
            for file in files[0]:
                self.assertEqual((group / name / file).read_bytes(), (other / name / file).read_bytes(), f"{name}/{file}")

    def chunk_lines(self, directory):
        lines = [json.loads(line) for line in (directory / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]
        for line in lines:
            del line["arrival"], line["packets"]
        return lines

    def test_an_array_becomes_the_same_array(self):
        stored = self.store("zarr")
        out, sender = self.again(f"zarr:{stored}")
        self.assertEqual(sender.report["sends"][0]["heaps"], 4 * 32 - 2)
        self.assertIn("2 heaps of the chunks", sender.err)
        self.assert_same_arrays(stored / "s0", out / "s0")
        out, _ = self.again(str(stored / "s0"), sink="zarr")
        self.assert_same_arrays(stored / "s0", out / "s0")

    def test_chunks_of_raw_and_file_sinks_become_the_same_chunks(self):
        for kind in ("raw", "file"):
            stored = self.store(kind)
            out, _ = self.again(f"{kind}:{stored}")
            lines = self.chunk_lines(stored)
            self.assertEqual(self.chunk_lines(out), lines)
            self.assertEqual(len(lines), 4)
            for line in lines:
                self.assertEqual((out / line["file"]).read_bytes(), (stored / line["file"]).read_bytes())

    def test_rows_and_heap_counts_come_back(self):
        placement = ("heap 4096; axis chan: item 0x3101 & 127 {100, 110}; time: item 0x1600 / 256 [8] by 512; "
                     "rows 512 by 4096; extra u64: heap; tracked")
        capture, stored = self.directory / "in.pcap", self.directory / "rows"
        wire.write_pcap(capture, self.frames())
        one = ("recv", ENDPOINT, "--placement", placement)
        self.run_program(*one, "--port", f"net_pcap0,rx_pcap={capture}", "--sink", f"raw:{stored}")
        sent, out = self.directory / "sent.pcap", self.directory / "out"
        self.run_program("send", ENDPOINT, "--port", f"net_pcap0,tx_pcap={sent}", "--from", f"raw:{stored / 's0.raw'}",
                         "--rate", "200Mbps", "--addr-bits", "48")
        self.run_program(*one, "--port", f"net_pcap0,rx_pcap={sent}", "--sink", f"raw:{out}")
        self.assertEqual((out / "s0.raw").read_bytes(), (stored / "s0.raw").read_bytes(), "heap counts are in it")
        self.assertEqual(len(self.chunk_lines(out)), 4)

    def test_all_columns_of_an_array_are_sent(self):
        plan, capture, stored = self.directory / "plan.toml", self.directory / "in.pcap", self.directory / "shards"
        wire.write_pcap(capture, self.frames())
        placement = self.PLACEMENT.replace("axis from: endpoint [2]", "axis from: endpoint [1]")
        text = ring.plan(f'[[receive]]\nname = "s0"\nport = "p0"\nendpoints = {json.dumps(self.ENDPOINTS)}\n' +
                         ring.table("receive.chunk", placement=placement) +
                         ring.table("receive.sink", kind="zarr", directory=stored, columns="from"))
        plan.write_text(text.replace("net_ring0", f"net_pcap0,rx_pcap={capture}"), encoding="utf-8")
        for shard in (1, 0):
            self.run_program("run", "--config", plan, "--shard", f"{shard}/2")
        whole = self.store("zarr")
        out, sender = self.again(f"zarr:{stored}", sink="zarr")
        self.assertEqual(sender.report["sends"][0]["heaps"], 4 * 32 - 2)
        self.assert_same_arrays(whole / "s0", out / "s0")

    def test_what_cannot_be_sent_is_refused(self):
        stored = self.store("zarr")
        words = ("send", ENDPOINT, "--port", "net_null0", "--rate", "1Gbps", "--addr-bits", "48", "--from")
        self.refused(*words, stored, status=1, says=("came to endpoint 1", "there are 1"))
        words = ("send", *self.ENDPOINTS, *words[2:])
        group = stored / "s0"
        for file, change, says in (("data/.zattrs", lambda text: text.replace("first_chunk", "first"), "no `first_chunk`"),
                                   ("data/.zattrs", lambda text: text.replace("heap 4096", "heap"), "placement"),
                                   ("data/.zarray", lambda text: text.replace("|u1", "|V1"), "|V1"),
                                   ("data/.zarray", lambda text: text.replace('"C"', '"F"'), "its `order`"),
                                   ("presence/.zarray", lambda text: "{", "not JSON"),
                                   ("data/0.0.0.0", lambda text: text[1:], "and the placement 131072")):
            before = (group / file).read_bytes()
            (group / file).write_bytes(change(before.decode("latin1")).encode("latin1"))
            self.refused(*words, stored, status=1, says=(file, says))
            (group / file).write_bytes(before)
        (group / "presence/0.0.1").rename(group / "presence/gone")
        self.refused(*words, stored, status=1, says=("data/0.0.1.0", "cannot read 0.0.1"))
        # A link may lead out of the directory: nobody follows it.
        (stored / "s1").symlink_to("s0")
        self.refused(*words, stored, status=1, says=("s0/data/0.0.1.0", "cannot read 0.0.1"))
        (stored / "s1").unlink()
        shutil.copytree(group, stored / "s1")
        self.refused(*words, stored, status=1, says=("several streams", "s0", "s1"))


if __name__ == "__main__":
    harness.main()
