#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The prompt at the program's own terminal, and commands from a file."""

import json
import re
import signal

import harness
from terminal import PROMPT, Terminal

# An endless run over a ring that leaves CPU to others.
LOOPBACK = ("loopback", "--duration", "off", "--heap-size", "64KiB", "--rate", "20Mbps")


class PromptTest(harness.ProgramTest):
    def prompt(self, *words, first=LOOPBACK):
        terminal = Terminal(self, *first, "-i", *words)
        terminal.expect(PROMPT)
        return terminal

    def leave(self, terminal, status=0):
        terminal.type("quit\r")
        return terminal.wait(status)


class Keys(PromptTest):
    def test_tab_completes_words_and_names(self):
        t = self.prompt()
        t.type("stre\t")
        t.expect("stream ")
        t.type("st\t")
        t.expect(" start")
        self.assertIn("receive a stopped stream again", t.expect(" stop "))
        t.type("\x15\x03")
        t.wait()

    def test_tab_completes_names_keys_and_values(self):
        t = self.prompt()
        t.type("stream set s\t")
        t.expect("s0 ")
        t.type("heaps.on\t")
        t.expect("heaps.on_full ")
        t.type("drop_n\t")
        t.expect("drop_newest ")
        t.type("\x03")
        t.wait()

    def test_a_question_mark_shows_what_may_follow(self):
        t = self.prompt()
        t.type("show port ?")
        shown = t.expect("dpdk-spead> show port ")
        for word in ("p0", "all", "xstats", "<return>"):
            self.assertIn(word, shown)
        t.type("xs\t")
        t.expect("xstats ")
        t.type("\x03")
        t.wait()

    def test_a_question_mark_on_what_is_wrong_says_so(self):
        t = self.prompt()
        t.type("stream delte ?")
        self.assertIn("did you mean `delete`?", t.expect("dpdk-spead> stream delte"))
        t.type("\x03")
        t.wait()

    def test_history_comes_back(self):
        t = self.prompt()
        first = t.command("show config p0")
        t.type("\x1b[A\r")
        t.expect("\n")
        self.assertEqual(t.expect(PROMPT), first)
        self.leave(t)

    def test_watch_repeats_until_a_key(self):
        t = self.prompt()
        t.type("watch 100ms show heap\r")
        for _ in range(3):
            t.expect("a key ends it")
        t.type("x")
        t.expect(PROMPT)
        # The key was for the watch alone.
        self.assertIn("version = 1", t.command("show config"))
        self.leave(t)

    def test_control_c_ends_a_watch_and_then_the_program(self):
        t = self.prompt()
        t.type("watch 100ms show heap\r")
        t.expect("a key ends it")
        t.type("\x03")
        t.expect(PROMPT)
        t.type("half a comm\x03")
        t.wait()
        self.assertTrue(t.is_as_before())


class Ends(PromptTest):
    def test_every_way_out_is_orderly_and_restores_the_terminal(self):
        for keys in ("quit\r", "shutdown\r", "\x04", "\x03"):
            with self.subTest(keys=keys):
                report = self.directory / "report.json"
                t = self.prompt("--json", report)
                self.assertFalse(t.is_as_before())
                t.type(keys)
                t.wait()
                self.assertTrue(t.is_as_before())
                self.assertEqual(harness.broken_identities(json.loads(report.read_text())), [])

    def test_signals_end_it_as_without_a_prompt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            t = self.prompt()
            t.signal(number)
            t.wait()
            self.assertTrue(t.is_as_before())

    def test_the_run_may_end_under_the_prompt(self):
        t = self.prompt(first=("loopback", "--duration", "2s", "--rate", "20Mbps", "--heap-size", "64KiB"))
        t.wait(timeout=60)
        self.assertTrue(t.is_as_before())


class Show(PromptTest):
    def test_every_show_answers(self):
        t = self.prompt()
        expected = {
            "show stream": ("s0", "packet rate", "delivered"),
            "show stream s0": ("packets.received", "heaps.complete", "info.reordered"),
            "show stream all": ("s0",),
            "show heap s0": ("started", "complete"),
            "show send d0": ("zero_copy_packets", "info.stalls"),
            "show send": ("d0",),
            "show port": ("p0", "net_ring", "rx packets"),
            "show port p0": ("rx.packets", "nic.missed", "tx.dropped"),
            "show port xstats p0": ("rx_good_packets",),
            "show queue": ("polled by lcore", "p0"),
            "show lcore": ("CPU", "s0: ", "p0"),
            "show flow": ("port p0: no rules",),
            "flow list p0": ("port p0: no rules",),
            "show memory": ("512MiB for heaps", "buffers", "in all pools"),
            "show config": ("version = 1", "[[receive]]", 'name = "d0"'),
            "show config s0": ("[[receive]]",),
            "help": ("stream add NAME port PORT endpoints ENDPOINTS [KEY VALUE]...", "show memory"),
            "help stream set": ("[[receive]]", "heaps.queue_depth"),
            "help watch": ("until a key",),
            "show capture": ("this run has no captures",),
            "clear stats": ("cleared",),
            "clear undo": ("from the start",),
            "log level notice": ("the log level is notice",),
            "": (),
            "   # a comment": (),
        }
        for line, words in expected.items():
            with self.subTest(line=line):
                answer = t.command(line)
                for word in words:
                    self.assertIn(word, answer)
        self.leave(t)

    def test_clear_stats_counts_from_there(self):
        t = self.prompt()
        while self.received(t.command("show stream s0")) == 0:
            pass
        before = self.received(t.command("show stream s0"))
        t.command("clear stats")
        since = self.received(t.command("show stream s0"))
        self.assertIn("since `clear stats`", t.command("show heap"))
        t.command("clear undo")
        self.assertGreaterEqual(self.received(t.command("show stream s0")), before + since)
        self.leave(t)

    @staticmethod
    def received(answer):
        return int(re.search(r"^packets\.received +(\d+)$", answer, re.M)[1])


class Refusals(PromptTest):
    CASES = {
        "shwo stream": "did you mean `show`?",
        "stream": "is not all of a command",
        "stream add": "NAME is missing",
        "stream add s9 port": "PORT is missing",
        "stream add s9 port p0 endpoints 239.9.9.9:7148 poll": "VALUE is missing",
        "stream add s9 port p9 endpoints 239.9.9.9:7148": "no port `p9`",
        "stream add s0 port p0 endpoints 239.9.9.9:7148": "a stream `s0` exists already",
        "stream add s9 port p0 endpoints 239.10.10.10:7148": "already received by stream `s0`",
        "stream add s9 port p0 endpoints 239.9.9:7148": "239.9.9",
        "stream add s9 port p0 endpoints 239.9.9.9:99999": "99999",
        "stream add s9 port p0 endpoints 239.9.9.9:7148 rong 5": "not a key of a stream",
        "stream add -s9 port p0 endpoints 239.9.9.9:7148": "is not a name",
        "stream set s0 heaps.queue_depth 0": "give 1 to",
        "stream set s0 heaps.queue_depth 99999999999": "give 1 to",
        "stream set s0 heaps.queue_depth lots": "whole number",
        "stream set s0 queue_depth 5": "write `heaps.queue_depth`",
        "stream set s0 poll bussy": "did you mean `busy`?",
        "stream set s0 buffer_size 16M": "16M",
        "stream set s0 lcores 5000": "5000",
        "stream set s0 lcores \"\"": "`lcores` is empty",
        "stream add all port p0 endpoints 239.9.9.9:7148": "`all` cannot be a name",
        "show capture nobody": "there is no stream `nobody`",
        "dummy d0 0": "is not a whole number from 1 to 4096",
        "stream delete nobody": "there is no stream `nobody`",
        "stream stop nobody": "there is no stream `nobody`",
        "endpoint add s0 239.10.10.10:7148": "already in stream `s0`",
        "endpoint delete s0 239.9.9.9:7148": "no endpoint 239.9.9.9:7148",
        "endpoint delete s0 239.10.10.10:7148": "no endpoint left",
        "send set d0 ttl 0": "give 1 to 255",
        "send set d0 rate 10": "10",
        "send set d1 ttl 3": "there is no sender `d1`",
        "show port p9": "no port `p9`",
        "show port xstats": "PORT is missing",
        "show lcore 77": "there is no lcore `77`",
        "show config nothing": "nothing",
        "watch 0 show heap": "not a time to wait",
        "watch 1 quit": "cannot be watched",
        "log level loud": "loud",
        "save config": "FILE is missing",
        "save config /nonexistent/x": "cannot write",
        "save config \"x": "quote",
        "help nothing": "no command begins with `nothing`",
        "quit now": "extra word",
    }

    def test_each_says_why_and_changes_nothing(self):
        t = self.prompt()
        before = t.command("show config")
        for line, says in self.CASES.items():
            with self.subTest(line=line):
                self.assertIn(says, t.command(line))
        self.assertEqual(t.command("show config"), before)
        self.leave(t)

    def test_a_stopped_stream_does_not_start_while_another_has_its_endpoints(self):
        t = self.prompt(first=("recv", "239.10.10.10:7148", "--port", "net_ring0"))
        t.command("stream stop s0")
        self.assertIn("stream s9 receives", t.command("stream add s9 port p0 endpoints 239.10.10.10:7148"))
        for line in ("stream start s0", "stream start all"):
            self.assertIn("already received by stream `s9`; a packet can belong to one stream only", t.command(line))
        t.command("stream delete s9")
        self.assertIn("stream s0 is received", t.command("stream start s0"))
        self.leave(t)


WATCHED = """version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "quiet"
port = "p0"
endpoints = ["239.9.9.9:7148"]
heaps.max_bytes = "1MiB"
"""


class Notifications(PromptTest):
    def watched(self, *words, **options):
        config = self.directory / "watched.toml"
        config.write_text(WATCHED, encoding="utf-8")
        terminal = Terminal(self, "run", "--config", config, *words, **options)
        terminal.expect(PROMPT)
        return terminal

    def fall_silent(self, t):
        """Half a command is typed when the event comes."""
        t.type("stream set quiet silent_after 100ms\rshow mem")
        t.expect("stream quiet is silent: no packet for")
        self.assertNotIn("is silent", t.expect(PROMPT + "show mem"), "told once")
        t.type("ory\r")
        answer = t.expect(PROMPT)
        self.assertIn("512MiB for heaps", answer)
        self.assertNotIn("is silent", answer, "told once")
        self.assertIn("silent", t.command("show stream"))
        self.leave(t)

    def test_events_do_not_garble_what_is_typed(self):
        self.fall_silent(self.watched("-i"))

    def test_nor_does_the_log_at_the_same_terminal(self):
        self.fall_silent(self.watched("-i", prefix=("sh", "-c", 'exec "$0" "$@" 2>&1')))


class File(PromptTest):
    def script(self, text):
        path = self.directory / "commands"
        path.write_text(text, encoding="utf-8")
        return path

    def test_commands_are_shown_with_their_answers(self):
        script = self.script("# a comment\n\nshow heap\nshow config d0   # and more\nhelp quit\nquit\n")
        finished = self.run_program(*LOOPBACK, "--cmdline-file", script, "--quiet", report=False)
        masked = re.sub(r"[0-9][0-9.]*", "N", re.sub(r" +", " ", finished.out))
        self.assertRegex(masked, "(?s)^dpdk-spead> show heap\nafter N .*\nheaps started .*\nsN N .*"
                                 "dpdk-spead> show config dN # and more\n\\[\\[send\\]\\]\nname = \"dN\"\n.*"
                                 "dpdk-spead> help quit\nquit\|exit\n leave the prompt\n.*dpdk-spead> quit\n$")

    def test_the_ones_behind_a_refused_one_are_carried_out(self):
        script = self.script("show steam\nshow memory\nstream\nquit\n")
        finished = self.run_program(*LOOPBACK, "--cmdline-file", script, status=1)
        self.assertIn(f"{script}:1: `steam` cannot follow `show` (did you mean `stream`?)", finished.err)
        self.assertIn(f"{script}:3: ", finished.err)
        self.assertIn("2 of the 4 commands", finished.err)
        self.assertIn("512MiB for heaps", finished.out)

    def test_the_run_goes_on_behind_its_end(self):
        finished = self.run_program("loopback", "--heaps", 50, "--cmdline-file", self.script("show memory\n"))
        self.assert_stream(finished.report, "s0", complete=50)

    def test_the_prompt_comes_behind_it(self):
        t = self.prompt("--cmdline-file", self.script("clear stats\n"))
        t.expect(PROMPT)
        # The file cleared counters for itself only.
        self.assertIn("after", t.command("show heap"))
        self.leave(t)

    def test_a_file_that_is_not_there(self):
        self.refused(*LOOPBACK, "--cmdline-file", self.directory / "none", status=1, says=("none", "no such file"))

    def test_commands_come_from_a_pipe_as_well(self):
        running = self.start(*LOOPBACK, "-i", prefix=("sh", "-c", 'echo "show memory" | exec "$0" "$@"'))
        finished = running.wait()
        self.assertIn("512MiB for heaps", finished.out)
        running = self.start(*LOOPBACK, "-i", prefix=("sh", "-c", 'echo "show nothing" | exec "$0" "$@"'))
        finished = running.wait(status=1)
        self.assertIn("1 of 1 command", finished.err)
        self.assertIn("standard input:1: `nothing` cannot follow `show`", finished.err)
        self.assertNotIn("cannot follow", finished.out)
        running = self.start(*LOOPBACK, "-i", prefix=("sh", "-c", 'echo "watch 0.1 show heap" | exec "$0" "$@"'))
        self.assertEqual(running.wait().out.count("started"), 2, "one picture, since there is no more to read, and the report")

    def test_quit_is_carried_out_when_nobody_reads_any_more(self):
        script = self.script("show steam\nshow config\nshow stream\nquit\n")
        for options in ((), ("-i",)):
            running = self.start(*LOOPBACK, "--cmdline-file", script, *options, report=False,
                                 prefix=("sh", "-c", '"$0" "$@" 2>&1 | head -n 1'))
            running.wait()

    def test_a_watch_that_nobody_could_end_is_refused(self):
        finished = self.run_program(*LOOPBACK, "--cmdline-file", self.script("watch 1 show heap\nquit\n"), status=1)
        self.assertIn("it would never end here", finished.err)


if __name__ == "__main__":
    harness.main()
