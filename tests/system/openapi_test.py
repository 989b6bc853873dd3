#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each JSON answer of the API is as config/api/openapi.json says."""

import api_test
import harness
import openapi


class Answers(api_test.Api):
    def assert_as_written(self, path, method="get", status=200, of=None, **request):
        """An answer is as the document says of the path, or of the pattern that it is one of."""
        found, answer, _ = self.ask(method.upper(), f"/api/v1{path}", **request)
        self.assertEqual(found, status, path)
        self.assertEqual(self.document.faults(f"/api/v1{of or path.split('?')[0]}", method, status, answer), [])

    def test_answers_are_as_the_document_says(self):
        if why := openapi.why_not():
            self.skipTest(why)
        self.document = openapi.Document()
        self.begin()
        self.wait_for_packets()
        for name, endpoint, more in (("c0", "239.10.10.12:7148", {"chunk.placement": "heap 8192; time: heap [8]"}),
                                     ("lost", "239.10.10.13:7148", {"chunk.placement": "heap 4096; time: heap [8]"})):
            settings = {"heaps.max_bytes": "128KiB", **more}
            self.assertEqual(self.post("stream/add", name=name, port="p0", endpoints=endpoint, settings=settings),
                             (200, f"stream {name} receives {endpoint}"))
            self.assertEqual(self.post("send/add", name=f"to-{name}", port="p0", endpoints=endpoint,
                                       settings={"heap_size": "8KiB", "rate": "5Mbps"}),
                             (200, f"sender to-{name} sends to {endpoint}"))
            self.wait_for_packets(name)
        self.assertEqual(self.post("capture/start", stream="s0", file=str(self.directory / "s0.pcap"))[0], 200)
        self.wait_for(lambda: self.get("captures") and self.get("findings"), "a capture and a finding")
        for path in self.document.reading_paths():
            path = path.removeprefix("/api/v1")
            if path in ("/stream", "/configuration") or "{" in path:
                continue
            with self.subTest(path=path):
                self.assert_as_written(path)
        for path, name in (("/streams", "s0"), ("/streams", "c0"), ("/ports", "p0"), ("/sends", "d0"),
                           ("/lcores", self.get("lcores")[0]["lcore"])):
            with self.subTest(path=path, name=name):
                self.assert_as_written(f"{path}/{name}", of=path + "/{name}")
                self.assert_as_written(f"{path}/9999", status=404, of=path + "/{name}")
        self.assert_as_written("/configuration")
        self.assert_as_written("/events?since=0")
        self.assert_as_written("/streams?nonsense=1", status=400)
        self.assert_as_written("/stream/stop", "post", 401, body='{"stream": "lost"}', Content_Type=api_test.JSON)
        token = {"Content_Type": api_test.JSON, "Authorization": f"Bearer {api_test.TOKEN}"}
        self.assert_as_written("/stream/stop", "post", body='{"stream": "lost"}', **token)
        self.assert_as_written("/capture/stop", "post", 409, body='{"stream": "c0"}', **token)
        self.assert_as_written("/configuration", "put", 428, body="", **token)
        for path, part in (("stream/delete", {"stream": "lost"}), ("send/delete", {"send": "to-lost"}), ("capture/stop", {"stream": "s0"})):
            self.assertEqual(self.post(path, **part)[0], 200)
        self.wait_for(lambda: {"removed", "removed_sends"} <= self.get("report").keys(), "what was removed")
        self.assert_as_written("/report")
        self.end()


if __name__ == "__main__":
    harness.main()
