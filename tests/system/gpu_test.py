#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program and GPUs: it needs nothing of NVIDIA's, says what is missing without it, and measures with a driver that
plays one (tests/fake_cuda)."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

import harness
import ring
import wire

FAKE = os.environ.get("FAKE_CUDA", "")
QUICK = ("--set", "1MiB", "--chunk", "64KiB,1MiB", "--payload", "700,8190", "--batch", "7,256", "--time", "1ms",
         "--rounds", 1)


class Gpu(harness.ProgramTest):
    def bench(self, *words, status=0, **variables):
        file = self.directory / "gpu.json"
        environment = {"LD_LIBRARY_PATH": str(Path(FAKE).parent), **variables}
        finished = self.run_program("bench", "gpu", *QUICK, "--json", file, *words, report=False, status=status,
                                    environment=environment)
        return finished, json.loads(file.read_text(encoding="utf-8")) if status == 0 else None

    def test_the_program_links_nothing_of_nvidia(self):
        loaded = subprocess.run(["ldd", harness.program()], check=True, stdout=subprocess.PIPE, text=True).stdout
        for word in ("cuda", "nvidia", "nvrtc"):
            self.assertNotIn(word, loaded.lower())

    def test_without_a_driver_it_says_what_is_missing(self):
        # A machine that has the driver finds an empty file in its place.
        (self.directory / "libcuda.so.1").touch()
        self.refused("bench", "gpu", status=1, report=False, environment={"LD_LIBRARY_PATH": str(self.directory)},
                     says=("libcuda.so.1", "install NVIDIA's driver"))

    def test_every_way_brings_every_byte(self):
        finished, found = self.bench("--copy-engine")
        self.assertIn("Fake GPU at 0000:fa:ce.0", finished.out)
        self.assertEqual(found["gpu"]["cuda"], 12000)
        ways = {(row["way"], row["engine"]) for row in found["rows"]}
        self.assertLessEqual({("chunks", "copy engine"), ("pinned packets", "copy engine"),
                              ("device packets", "copy engine")}, ways)
        for row in found["rows"]:
            self.assertEqual(row["wrong_bytes"], 0, row)
            self.assertGreater(row["gigabytes_per_second"], 0, row)

    def test_late_answers_change_nothing(self):
        _, found = self.bench(FAKE_CUDA_LATE_US="30")
        self.assertEqual([row["wrong_bytes"] for row in found["rows"]], [0] * len(found["rows"]))

    def test_a_call_that_fails_is_named(self):
        for call in ("cuInit", "cuDevicePrimaryCtxRetain", "cuMemHostRegister_v2", "cuMemAlloc_v2:2",
                     "cuMemcpyHtoDAsync_v2:3", "cuStreamWriteValue32_v2", "cuStreamQuery:2"):
            with self.subTest(call=call):
                finished, _ = self.bench(status=1, FAKE_CUDA_FAIL=call)
                self.assertIn(f"GPU: {call.split(':')[0]}(", finished.err)
                self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", finished.err)

    def plan_with_chunks(self):
        """A configuration that receives two chunks of a heap each into memory that GPUs reach."""
        capture = self.directory / "in.pcap"
        heaps = [wire.packet(cnt + 1, 0, bytes(64), 64, [(wire.IMMEDIATE, 0x1600, cnt)], bits=48) for cnt in range(2)]
        wire.write_pcap(capture, [wire.frame(data, "239.1.1.1") for data in heaps])
        config = self.directory / "plan.toml"
        config.write_text(f"""version = 1
[[port]]
name = "p0"
device = "net_pcap0,rx_pcap={capture}"

[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.1.1:7148"]
[receive.chunk]
placement = "heap 64; time: item 0x1600 [1]"
memory = "cuda_pinned"
""", encoding="utf-8")
        return config

    def test_chunks_lie_in_memory_that_gpus_reach(self):
        config = self.plan_with_chunks()
        finished = self.run_program("run", "--config", config, environment={"LD_LIBRARY_PATH": str(Path(FAKE).parent)})
        chunks = finished.report["streams"][0]["chunks"]
        self.assertEqual((chunks["complete"], chunks["delivered"]), (2, 2), chunks)

    def test_chunks_for_gpus_are_refused_without_a_driver(self):
        config = self.plan_with_chunks()
        (self.directory / "libcuda.so.1").touch()
        self.refused("run", "--config", config, status=1, environment={"LD_LIBRARY_PATH": str(self.directory)},
                     says=("receive s0", "cuda_pinned", "libcuda.so.1", "to pinned"))

    def test_the_gpu_gathers_every_heap_of_a_run(self):
        environment = {"LD_LIBRARY_PATH": str(Path(FAKE).parent), "FAKE_CUDA_LATE_US": "20"}
        for words, lossy in (((), False), (("--impair", "loss=0.1%,reorder=20,seed=3"), True)):
            with self.subTest(words=words):
                report = self.run_program("loopback", "--heap-memory", "cuda", "--heaps", 400, "--heap-size", "64KiB",
                                          "--max-packet-size", 1100, "--max-heaps", 32, *words, environment=environment,
                                          status=None if lossy else 0).report
                stream = report["streams"][0]
                self.assertEqual(stream["info"]["wrong"], 0, stream)
                self.assertEqual(stream["heaps"]["device_error"], 0, stream["heaps"])
                if lossy:
                    self.assertGreater(stream["info"]["verified"], 100, stream)
                    self.assertLess(stream["info"]["verified"], 400, stream)
                else:
                    self.assertEqual(stream["info"]["verified"], 400, stream)

    def test_a_gpu_that_fails_loses_heaps_and_is_named(self):
        finished = self.run_program("loopback", "--heap-memory", "cuda", "--heaps", 400, status=1,
                                    environment={"LD_LIBRARY_PATH": str(Path(FAKE).parent),
                                                 "FAKE_CUDA_FAIL": "cuStreamWriteValue32_v2:5"})
        self.assertIn("engine cuda: GPU: cuStreamWriteValue32_v2(", finished.err)
        stream = finished.report["streams"][0]
        self.assertGreater(stream["heaps"]["device_error"], 0, stream["heaps"])
        self.assertEqual(stream["info"]["wrong"], 0, stream)

    def chunks_in_memory_of(self, engine, memory=None, heaps=8, **environment):
        config = self.directory / f"{engine}.toml"
        config.write_text(ring.plan(
            ring.stream(0, {"kind": "verify"}, placement=f"heap 65536; time: heap [{heaps}]", memory=memory, gather=engine,
                        max_bytes=None, on_full=None),
            ring.sender(0, heap_size="64KiB", heaps=200, max_packet_size=1400, verify=True)), encoding="utf-8")
        return ("run", "--config", config), {"LD_LIBRARY_PATH": str(Path(FAKE).parent), **environment}

    def test_chunks_lie_in_memory_of_the_gpu_and_sinks_get_them_fetched(self):
        for engine in ("cuda", "fake", "cpu"):
            with self.subTest(engine=engine):
                words, environment = self.chunks_in_memory_of(engine, FAKE_CUDA_LATE_US="20")
                stream = self.run_program(*words, environment=environment).report["streams"][0]
                # The first has descriptors, and another length.
                self.assertEqual((stream["info"]["verified"], stream["info"]["wrong"]), (199, 0), stream)
                self.assertEqual(stream["chunks"]["device_error"], 0, stream["chunks"])

    def test_a_chunk_waits_for_its_payload_while_the_lcore_has_no_packets(self):
        # Each heap ends a chunk, and the lcore rests between bursts.
        for engine in ("cuda", "fake", "cpu"):
            with self.subTest(engine=engine):
                words, environment = self.chunks_in_memory_of(engine, heaps=1, FAKE_CUDA_LATE_US="20")
                stream = self.run_program(*words, environment=environment).report["streams"][0]
                self.assertEqual((stream["info"]["verified"], stream["info"]["wrong"]), (199, 0), stream)
                self.assertEqual(stream["chunks"]["device_error"], 0, stream["chunks"])

    def test_chunks_of_a_gpu_that_fails_are_lost_and_counted(self):
        words, environment = self.chunks_in_memory_of("cuda", FAKE_CUDA_FAIL="cuStreamWriteValue32_v2:5")
        finished = self.run_program(*words, environment=environment, status=1)
        self.assertIn("engine cuda: GPU: cuStreamWriteValue32_v2(", finished.err)
        chunks = finished.report["streams"][0]["chunks"]
        self.assertGreater(chunks["device_error"], 0, chunks)
        self.assertEqual(chunks["taken"], chunks["delivered"] + chunks["device_error"], chunks)
        self.assertEqual(finished.report["streams"][0]["info"]["wrong"], 0)

    def test_check_opens_the_gpu_that_a_plan_needs(self):
        for engine, memory in (("cuda", None), (None, "cuda_pinned")):
            (config, *_), environment = self.chunks_in_memory_of(engine, memory)[0][2:], {"LD_LIBRARY_PATH": str(Path(FAKE).parent)}
            words = ("check", "--config", config)
            with self.subTest(engine=engine, memory=memory):
                self.assertRegex(self.run_program(*words, report=False, environment=environment).out,
                                 r"GPU +Fake GPU at 0000:fa:ce.0: 4 GiB")
                for call in ("cuInit", "cuDeviceGetCount", "cuDriverGetVersion", "cuDeviceGet", "cuDeviceGetName",
                             "cuDeviceGetPCIBusId", "cuDeviceTotalMem_v2", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"):
                    finished = self.run_program(*words, report=False, status=1, environment={**environment, "FAKE_CUDA_FAIL": call})
                    self.assertRegex(finished.out, rf"of s0 cannot be: GPU: {call}\(.*CUDA_ERROR_OUT_OF_MEMORY")
                finished = self.run_program(*words, report=False, status=1, environment={**environment, "FAKE_CUDA_DEVICES": "0"})
                self.assertIn("no GPU is visible: see nvidia-smi, CUDA_VISIBLE_DEVICES", finished.out)
                (self.directory / "libcuda.so.1").touch()
                finished = self.run_program(*words, report=False, status=1, environment={"LD_LIBRARY_PATH": str(self.directory)})
                self.assertIn("install NVIDIA's driver", finished.out)

    def test_chunks_that_an_engine_cannot_fill_are_refused(self):
        words, environment = self.chunks_in_memory_of("fake", memory="pinned")
        self.refused(*words, environment=environment, says=("fake.toml:15:10", "leave out `memory`"))

    def test_selftest_tries_the_gpu(self):
        environment = {"LD_LIBRARY_PATH": str(Path(FAKE).parent)}
        finished = self.run_program("selftest", "--gpu", environment=environment, report=False)
        for said in ("GPU driver", "Fake GPU at 0000:fa:ce.0", "GPU memory", "GPU gather", "no byte wrong"):
            self.assertIn(said, finished.out)
        finished = self.run_program("selftest", "--gpu", report=False, status=1,
                                    environment={**environment, "FAKE_CUDA_FAIL": "cuMemHostRegister_v2"})
        self.assertIn("cuMemHostRegister_v2(", finished.out)

    def test_selftest_sends_from_the_gpu(self):
        environment = {"LD_LIBRARY_PATH": str(Path(FAKE).parent)}
        finished = self.run_program("selftest", "--gpu", "--port", "net_ring0", environment=environment, report=False)
        self.assertRegex(finished.out, r"GPU send *\d+ packets came back, no byte wrong")
        self.assertRegex(finished.out, r"split *not tried: no card that cuts packets")
        finished = self.run_program("selftest", "--gpu", "--port", "net_ring0", report=False, status=1,
                                    environment={**environment, "FAKE_CUDA_FAIL": "cuPointerSetAttribute"})
        self.assertIn("cuPointerSetAttribute(", finished.out)
        capture = f"net_pcap0,tx_pcap={self.directory / 'out.pcap'}"
        finished = self.run_program("selftest", "--gpu", "--port", capture, environment=environment, report=False)
        self.assertRegex(finished.out, r"GPU send *not tried: the driver of this port reads")

    def test_gathering_by_a_gpu_is_refused_without_a_driver(self):
        (self.directory / "libcuda.so.1").touch()
        self.refused("loopback", "--heap-memory", "cuda", "--heaps", 4, status=1, report=False,
                     environment={"LD_LIBRARY_PATH": str(self.directory)},
                     says=("engine cuda", "libcuda.so.1", "install NVIDIA's driver", "--heap-memory"))

    @unittest.skipUnless(shutil.which("strip") and shutil.which("objdump"), "there are no binutils")
    def test_a_bundle_has_its_own_libraries(self):
        root = Path(__file__).resolve().parents[2]
        bundle = self.directory / "bundle"
        subprocess.run([root / "scripts/gpu-bundle", "--build", Path(harness.program()).parents[1], bundle], check=True,
                       stdout=subprocess.PIPE, timeout=60)
        file = self.directory / "gpu.json"
        subprocess.run([bundle / "run", "bench", "gpu", *map(str, QUICK), "--json", file], check=True, timeout=60,
                       stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(Path(FAKE).parent)})
        self.assertTrue(json.loads(file.read_text(encoding="utf-8"))["rows"])
        environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(bundle / "lib")}
        for packed in [bundle / "dpdk-spead", *(bundle / "pmds").iterdir()]:
            loaded = subprocess.run(["ldd", packed], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
            outside = [line.split()[0] for line in loaded.splitlines() if "=> /" in line and str(bundle) not in line]
            self.assertLessEqual({name.split(".")[0] for name in outside}, {"libc", "libm", "libresolv"}, packed)
            self.assertNotIn("not found", loaded)

    def test_options_that_cannot_be(self):
        self.refused("bench", "gpu", "--set", "1MiB", "--chunk", "2MiB", report=False, says=("--chunk", "2 MiB"))
        self.refused("bench", "gpu", "--time", "0", report=False, says=("--time",))


if __name__ == "__main__":
    harness.main()
