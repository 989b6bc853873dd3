#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The sink `dada`, from outside: it writes to rings that the tests make, and readers of the tests' own read them."""

import signal
import threading

import dada
import harness
import ring
import wire

GROUP = "239.1.1.1"
ENDPOINT = f"{GROUP}:7148"
HEAP, HEAPS = 1024, 4
CHUNK = HEAP * HEAPS
PLACEMENT = f"heap {HEAP}; time: heap - 1 [{HEAPS}]"


def payload_of(count):
    return wire.verify_words(count, HEAP // 4)


class Dada(harness.ProgramTest):
    def capture(self, counts):
        """A capture file with these heaps."""
        path = self.directory / "in.pcap"
        packets = [data for count in counts for data in wire.heap(count, payload_of(count))]
        wire.write_pcap(path, [wire.frame(data, GROUP) for data in packets])
        return path

    def config(self, buffer, heaps=-1, rate="0", placement=PLACEMENT):
        path = self.directory / "run.toml"
        path.write_text(ring.plan(ring.stream(0, {"kind": "dada", "ring": f"{buffer.key:x}"}, placement=placement),
                                  ring.sender(0, heap_size="1KiB", heaps=heaps, verify=True, rate=rate)),
                        encoding="utf-8")
        return path

    def receive(self, counts, *words, placement=PLACEMENT, **options):
        chunks = ("--placement", placement) if placement else ()
        return self.run_program("recv", ENDPOINT, "--port", f"net_pcap0,rx_pcap={self.capture(counts)}", *chunks,
                                *words, **options)

    def check_row(self, transfers):
        """Each transfer holds the chunks from its offset on: heaps of the sequence, or zeros."""
        for transfer in transfers:
            offset = int(transfer["header"]["OBS_OFFSET"])
            self.assertEqual((offset % CHUNK, len(transfer["data"]) % CHUNK), (0, 0))
            first = int(transfer["header"]["SPEAD_CHUNK"])
            for at in range(0, len(transfer["data"]), HEAP):
                count = first * HEAPS + at // HEAP + 1
                self.assertIn(transfer["data"][at:at + HEAP], (payload_of(count), bytes(HEAP)), f"heap {count}")

    def test_two_readers_at_once_get_every_byte(self):
        buffer = dada.Buffer(self, 64, CHUNK, readers=2)
        template = self.directory / "header.txt"
        template.write_text("# made by the test\nTELESCOPE  X\nUTC_START 2026-01-01-00:00:00\n", encoding="utf-8")
        readers = [dada.Reader(buffer, index) for index in range(2)]
        over = threading.Event()

        def read(reader):
            while not over.wait(0.001):
                reader.read()
        threads = [threading.Thread(target=read, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        try:
            # Heap 6 is missing, and chunk 4 altogether.
            counts = [count for count in range(1, 41) if count != 6 and not 17 <= count <= 20]
            finished = self.receive(counts, "--sink", buffer.sink, "--sink-header", template)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        stream = finished.report["streams"][0]
        self.assertEqual((stream["chunks"]["delivered"], stream["chunks"]["unwritten"]), (9, 0), str(finished))
        expected = b"".join(bytes(HEAP) if count == 6 else payload_of(count) for count in range(1, 41))
        for reader in readers:
            first, second = reader.read()
            self.assertEqual(first["data"], expected[:4 * CHUNK])
            self.assertEqual(second["data"], expected[5 * CHUNK:])
            self.assertTrue(first["ended"] and second["ended"])
            for name, value in {"TELESCOPE": "X", "UTC_START": "2026-01-01-00:00:00", "HDR_SIZE": "4096",
                                "RESOLUTION": str(CHUNK), "OBS_OFFSET": str(5 * CHUNK), "SPEAD_CHUNK": "5",
                                "SPEAD_STREAM": "s0"}.items():
                self.assertEqual(second["header"].get(name), value, name)

    def test_heaps_are_a_row_of_bytes_over_blocks_of_another_size(self):
        buffer = dada.Buffer(self, 16, 3000)
        finished = self.receive(range(1, 21), "--sink", buffer.sink, placement=None)
        self.assert_stream(finished.report, "s0", complete=20, delivered=20, unwritten=0)
        (transfer,) = dada.Reader(buffer).read()
        self.assertEqual(transfer["data"], b"".join(map(payload_of, range(1, 21))))
        self.assertTrue(transfer["ended"])

    def test_a_reader_that_stands_still_costs_chunks_and_not_the_sink(self):
        buffer = dada.Buffer(self, 4, CHUNK, readers=2)
        quick, slow = dada.Reader(buffer, 0), dada.Reader(buffer, 1)
        running = self.start("run", "--config", self.config(buffer, rate="20Mbps"))
        running.wait_for(lambda: quick.read() and "the sink loses chunks" in running.text(1), "a loss")
        running.wait_for(lambda: (quick.read(), slow.read()) and "the sink writes again" in running.text(1), "room")
        running.wait_for(lambda: quick.read() and slow.read() and len(slow.transfers) > 1, "the next transfer")
        running.process.send_signal(signal.SIGTERM)
        while running.process.poll() is None:
            quick.read()
            slow.read()
        report = running.wait().report
        chunks, sink = report["streams"][0]["chunks"], report["streams"][0]["sink"]
        self.assertEqual(sink, {"failure": None, "loss": "its readers have left no room"})
        self.assertGreater(chunks["unwritten"], 0)
        self.assertEqual([finding["cause"] for finding in report["findings"] if finding["cause"].startswith("sink")],
                         ["sink_full"])
        self.assertEqual(quick.read(), slow.read())
        self.check_row(quick.transfers)
        self.assertTrue(all(transfer["ended"] for transfer in quick.transfers))
        self.assertEqual(sum(len(transfer["data"]) for transfer in quick.transfers), chunks["delivered"] * CHUNK)

    def test_a_killed_run_leaves_the_ring_to_the_next(self):
        buffer = dada.Buffer(self, 256, CHUNK)
        reader = dada.Reader(buffer)
        running = self.start("run", "--config", self.config(buffer, rate="20Mbps"), report=False)
        running.wait_for(lambda: reader.read() and reader.transfers[0]["data"], "chunks")
        self.refused("run", "--config", self.config(buffer), status=1, says=("another process writes to it",))
        running.process.send_signal(signal.SIGKILL)
        running.wait(status=-signal.SIGKILL)
        reader.read()  # a slow machine has filled the ring meanwhile
        finished = self.run_program("run", "--config", self.config(buffer, heaps=40))
        self.assertEqual(finished.report["streams"][0]["chunks"]["unwritten"], 0)
        *before, last = reader.read()
        self.assertTrue(before, "the killed run's transfers are there")
        self.check_row([*before, last])
        self.assertTrue(all(transfer["ended"] for transfer in [*before, last]))
        self.assertEqual(last["data"][HEAP:], b"".join(map(payload_of, range(2, 41))))

    def test_rings_of_the_wrong_shape_are_refused(self):
        capture = f"net_pcap0,rx_pcap={self.capture([1])}"

        def refuse(sink, *says, status=1, placement=PLACEMENT):
            self.refused("recv", ENDPOINT, "--port", capture, "--sink", sink, "--placement", placement, status=status,
                         says=says)
        refuse("dada:xyz", "`xyz` is no key of a ring", status=2)
        refuse("dada:3fffff00", "there is none with this key", "dada_db")
        small = dada.Buffer(self, 2, CHUNK - 8)
        refuse(small.sink, f"a chunk has {CHUNK} bytes", "dada_db -b, -n")
        narrow = dada.Buffer(self, 2, CHUNK, header_bytes=64)
        refuse(narrow.sink, "a header has up to", "dada_db -a")
        wrong = dada.Buffer(self, 2, CHUNK)
        for name, value, says in (("blocks", 3, "a ring of 3 blocks has"), ("blocks", 1 << 63, "2 to 16384 blocks"),
                                  ("block_bytes", CHUNK + 1, f"and not {CHUNK + 1}"), ("readers", 9, "1 to 8"),
                                  ("device", 0, "gpu 0"), ("connect_key", 0, "writer's lock")):
            before = getattr(wrong.data.sync, name)
            setattr(wrong.data.sync, name, value)
            refuse(wrong.sink, says)
            setattr(wrong.data.sync, name, before)
        self.assertEqual(dada.Reader(wrong).read(), [])

    def test_a_ring_that_is_removed_stops_this_sink(self):
        buffer = dada.Buffer(self, 64, CHUNK)
        reader = dada.Reader(buffer)
        running = self.start("run", "--config", self.config(buffer, rate="20Mbps"))
        running.wait_for(lambda: reader.read() and reader.transfers[0]["data"], "chunks")
        buffer.data.close()
        running.wait_for(lambda: "semaphores were removed" in running.text(1), "the failure")
        running.interrupt()
        report = running.wait(status=1).report
        self.assertIn("semaphores were removed", report["streams"][0]["sink"]["failure"])


if __name__ == "__main__":
    harness.main()
