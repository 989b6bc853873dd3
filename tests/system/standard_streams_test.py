#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Standard input, output and error as others hand them over: closed, full, or with a reader that goes."""

import os

import harness

ENDPOINT = "239.1.1.1:7148"


def redirected(how):
    """A prefix for a command, which gets its standard descriptors as the shell's words say."""
    return ("sh", "-c", f'exec "$@" {how}', "sh")


class StandardStreams(harness.ProgramTest):
    def port(self):
        return f"net_memif0,role=server,socket={self.directory}/m.sock"

    def test_no_file_takes_the_number_of_a_closed_one(self):
        running = self.start("recv", ENDPOINT, "--port", self.port(), prefix=redirected("<&- >&- 2>&-"))
        running.wait_for((self.directory / "m.sock").exists, "a socket")
        for fd in range(3):
            self.assertEqual(os.readlink(f"/proc/{running.process.pid}/fd/{fd}"), "/dev/null")
        running.interrupt()
        self.assertTrue(running.wait().has_report())

    def test_a_prompt_whose_input_is_closed_ends_as_at_the_end_of_input(self):
        self.run_program("recv", ENDPOINT, "-i", "--port", self.port(), prefix=redirected("<&-"))

    def test_output_that_is_lost_on_a_full_disk_is_a_failure(self):
        for words in (("--version",), ("info", "--drivers"), ("recv", ENDPOINT, "--port", "net_null0", "--check"),
                      ("send", ENDPOINT, "--port", "net_null0", "--heaps", 1),
                      ("send", ENDPOINT, "--port", "net_null0", "--heaps", 1, "--quiet", "--json", "-")):
            with self.subTest(words=words):
                finished = self.run_program(*words, report=False, prefix=redirected(">/dev/full"), status=1)
                self.assertIn("standard output: some output was not written", finished.err)

    def test_a_reader_that_has_gone_is_none(self):
        for words in ((), ("--json", "-", "--quiet")):
            with self.subTest(words=words):
                finished = self.run_program("send", ENDPOINT, "--port", "net_null0", "--heaps", 1, *words, report=False,
                                            prefix=("sh", "-c", '{ "$@"; echo "status $?" >&2; } | true', "sh"))
                self.assertIn("status 0", finished.err)


if __name__ == "__main__":
    harness.main()
