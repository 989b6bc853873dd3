#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Attaching to a running process: terminals, commands, several at once, and who may not."""

import array
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import termios
import time
import uuid

import harness
from terminal import PROMPT, Terminal

LOOPBACK = ("loopback", "--duration", "off", "--heap-size", "64KiB", "--rate", "20Mbps")
ENDPOINT = "239.1.1.1:7148"


class AttachTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.socket = self.directory / "control.sock"

    def daemon(self, *words, first=LOOPBACK, **options):
        running = self.start(*first, "--control", self.socket, *words, **options)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        return running

    def attach(self, *words, status=0, typed="", target=None, prefix=(), environment=None):
        """One command of `attach`: what it wrote on standard output, after checking its status."""
        done = subprocess.run([*prefix, harness.program(), "attach", str(target or self.socket), *words], input=typed,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              timeout=60 * harness.PATIENCE, cwd=self.directory,
                              env={**os.environ, **(environment or {})})
        if status is not None:
            self.assertEqual(done.returncode, status, f"{words} {typed}:\n{done.stdout}\n{done.stderr}")
        self.said = done.stderr
        return done.stdout

    def terminal(self, **options):
        terminal = Terminal(self, "attach", self.socket, **options)
        terminal.expect(PROMPT)
        return terminal

    def shut_down(self, running):
        self.attach("--", "shutdown")
        return running.wait()


class Commands(AttachTest):
    def test_one_command_and_its_status(self):
        running = self.daemon()
        self.assertIn("s0", self.attach("--", "show", "stream", "all"))
        self.assertEqual(self.attach("--", "show", "steam", status=2), "")
        self.assertIn("did you mean `stream`?", self.said)
        self.attach("--", "save", "config", "/nonexistent/x", status=1)
        self.shut_down(running)

    def test_commands_from_a_pipe(self):
        running = self.daemon()
        out = self.attach(typed="show memory\n# nothing\nshow config d0")
        self.assertIn("512MiB for heaps", out)
        self.assertIn('name = "d0"', out)
        out = self.attach(typed="nonsense\nshow memory\n", status=2)
        self.assertIn("512MiB for heaps", out)
        self.attach(typed="quit\nnonsense\n")
        self.assertEqual(self.attach(typed=""), "")
        self.shut_down(running)

    def test_more_commands_and_answers_than_anything_holds_at_once(self):
        running = self.daemon()
        out = self.attach(typed=("help" + " " * 4000 + "\n") * 1000)
        self.assertEqual(out.count("`help` and a command's words explain it"), 1000)
        self.shut_down(running)

    def test_a_signal_ends_it_though_nobody_reads_what_it_writes(self):
        running = self.daemon()
        with subprocess.Popen([harness.program(), "attach", str(self.socket)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as attached:
            self.addCleanup(attached.kill)
            attached.stdin.write(b"help\n" * 1000)
            attached.stdin.flush()
            # Pages that are not filled to the end count as full as well.
            full = fcntl.fcntl(attached.stdout, fcntl.F_GETPIPE_SZ) * 3 // 4
            there = array.array("i", [0])
            while there[0] < full:
                fcntl.ioctl(attached.stdout, termios.FIONREAD, there)
                self.assertIsNone(attached.poll())
                time.sleep(0.01)
            attached.terminate()
            self.assertEqual(attached.wait(30 * harness.PATIENCE), -signal.SIGTERM)
        self.shut_down(running)

    def test_a_watch_in_a_pipe_ends_with_what_there_is_to_read(self):
        running = self.daemon()
        self.assertEqual(self.attach(typed="watch 0.1 show heap").count("started"), 1)
        out = self.attach(typed="watch 0.1 show heap\nshow memory\n")
        self.assertEqual(out.count("started"), 1)
        self.assertIn("512MiB for heaps", out)
        watch = subprocess.Popen([harness.program(), "attach", str(self.socket), "--", "watch", "1h", "show", "heap"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("after", watch.stdout.readline())
        watch.stdout.close()
        self.assertIn("the reader of the answers has gone", watch.communicate(timeout=20 * harness.PATIENCE)[1])
        self.assertEqual(watch.returncode, 1)
        self.shut_down(running)

    def test_captures_are_shown_while_they_run_and_after(self):
        running = self.daemon()
        self.assertIn("this run has no captures", self.attach("--", "show", "capture"))
        self.attach("--", "capture", "start", "s0", "a.pcap", "capture.count", "3")

        def shown():
            return self.attach("--", "show", "capture", "s0")

        running.wait_for(lambda: re.search(r"s0 +over .* 3 +3", shown()), "3 packets in the file")
        self.attach("--", "capture", "stop", "s0")
        self.assertRegex(shown(), r"s0 +ended ")
        self.attach("--", "capture", "start", "s0", "b.pcap")
        self.assertRegex(shown(), r"(?s)s0 +ended .*s0 +running ")
        report = self.shut_down(running).report
        self.assertEqual([(c["stream"], c["state"]) for c in report["captures"]], [("s0", "ended")] * 2)
        self.assertEqual(report["captures"][0]["packets"]["written"], 3)

    def test_clearing_says_so(self):
        running = self.daemon()
        self.assertIn("cleared", self.attach("--", "clear", "stats"))
        self.shut_down(running)

    def test_files_are_from_where_one_is(self):
        running = self.daemon()
        self.attach("--", "save", "config", "my plan.toml")
        saved = self.directory / "my plan.toml"
        self.assertIn("live = true", saved.read_text(encoding="utf-8"))
        self.attach("--", "save", "config", "my plan.toml", status=1)
        self.assertIn("the file exists", self.said)
        self.attach("--", "save", "config", "my plan.toml", "force")
        self.shut_down(running)
        self.run_program("run", "--config", saved, "--check", report=False)

    def test_the_numbers_are_those_of_the_report(self):
        device = f"net_memif0,socket={self.directory}/memif.sock,socket-abstract=no,role="
        running = self.daemon(first=("recv", ENDPOINT, "--port", device + "server", "--sink", "verify"))
        self.run_program("send", ENDPOINT, "--port", device + "client", "--heaps", 20, "--heap-size", "64KiB",
                         "--verify")

        def numbers(*words):
            return {name: int(value) for name, value in
                    re.findall(r"^([a-z_0-9.]+) +(\d+)$", self.attach("--", "show", *words), re.M)}

        running.wait_for(lambda: numbers("stream", "s0").get("heaps.delivered") == 20, "20 heaps")
        stream, port = numbers("stream", "s0"), numbers("port", "p0")
        report = self.shut_down(running).report

        def flat(part, path=""):
            for key, value in part.items():
                if isinstance(value, dict):
                    yield from flat(value, f"{path}{key}.")
                elif isinstance(value, int) and not isinstance(value, bool):
                    yield path + key, value

        # The lcore looks at its memory eight times a second.
        last = dict(flat(report["streams"][0]))
        del stream["info.rotating_bytes"], last["info.rotating_bytes"]
        self.assertEqual(stream, last)
        self.assertEqual(port, dict(flat(report["ports"][0])))

    def test_a_watch_ends_with_its_reader(self):
        running = self.daemon()
        watch = subprocess.Popen([harness.program(), "attach", str(self.socket), "--", "watch", "0.1", "show", "heap"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        lines = [watch.stdout.readline() for _ in range(9)]
        self.assertEqual(sum("started" in line for line in lines), 3, lines)
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(20), -signal.SIGINT)
        watch.stdout.close()
        self.shut_down(running)


class Terminals(AttachTest):
    def test_events_are_told_to_whoever_is_attached(self):
        config = self.directory / "watched.toml"
        config.write_text("""version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[receive]]
name = "quiet"
port = "p0"
endpoints = ["239.9.9.9:7148"]
heaps.max_bytes = "1MiB"
""", encoding="utf-8")
        running = self.daemon(first=("run", "--config", config))
        first, second = self.terminal(), self.terminal()
        first.type("show mem")
        second.type("stream set quiet silent_after 100ms\r")
        for t, typed in ((first, "show mem"), (second, "")):
            t.expect("stream quiet is silent: no packet for")
            t.expect(PROMPT + typed)
            t.type("\x03quit\r")
            t.wait()
        self.assertNotIn("is silent", self.attach("--", "show", "memory"))
        self.shut_down(running)

    def test_a_session_is_left_and_the_process_goes_on(self):
        running = self.daemon()
        for keys in ("quit\r", "\x04"):
            with self.subTest(keys=keys):
                t = self.terminal()
                self.assertFalse(t.is_as_before())
                t.type("show str\t\r")
                self.assertIn("delivered", t.expect(PROMPT))
                t.type(keys)
                t.wait()
                self.assertTrue(t.is_as_before())
                self.assertIsNone(running.process.poll())
        self.shut_down(running)

    def test_control_c_throws_the_line_away_only(self):
        running = self.daemon()
        t = self.terminal()
        t.type("shutdown\x03")
        t.expect(PROMPT)
        self.assertIn("512MiB", t.command("show memory"))
        t.type("watch 0.1 show heap\r")
        t.expect("a key ends it")
        t.type("\x03")
        t.expect(PROMPT)
        t.type("quit\r")
        t.wait()
        self.shut_down(running)

    def test_several_at_once(self):
        running = self.daemon()
        terminals = [self.terminal() for _ in range(3)]
        # A session clears counters for itself alone.
        terminals[0].command("clear stats")
        self.assertIn("since `clear stats`", terminals[0].command("show heap"))
        for t in terminals[1:]:
            self.assertIn("after", t.command("show heap"))
        self.assertIn("s0", self.attach("--", "show", "stream"))
        terminals[2].type("shutdown\r")
        for t in terminals:
            t.wait()
            self.assertTrue(t.is_as_before())
        running.wait()

    def test_the_terminal_is_restored_whoever_ends_it(self):
        running = self.daemon()
        t = self.terminal()
        t.signal(signal.SIGTERM)
        t.wait(status=-signal.SIGTERM)
        self.assertTrue(t.is_as_before())
        t = self.terminal()
        running.process.kill()
        t.wait(status=1)
        self.assertIn("connection is lost", t.error_text())
        self.assertTrue(t.is_as_before())

    def test_a_session_that_is_killed_disturbs_nobody(self):
        running = self.daemon()
        t = self.terminal()
        t.type("watch 0.1 show stream\r")
        t.expect("a key ends it")
        t.process.kill()
        t.process.wait()
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.shut_down(running)


class Names(AttachTest):
    def setUp(self):
        super().setUp()
        # Root's sockets by name have one place for all; others' is theirs to choose.
        self.name = f"test-{uuid.uuid4().hex[:12]}"
        self.environment = {"XDG_RUNTIME_DIR": str(self.directory)}
        self.by_name = (self.directory if os.geteuid() != 0 else harness.Path("/run")) / "dpdk-spead"
        self.by_name = self.by_name / f"{self.name}.sock"

    def config(self, more=""):
        path = self.directory / "named.toml"
        path.write_text(f"""version = 1
[runtime]
name = "{self.name}"
{more}
[[port]]
name = "p0"
device = "net_null0"
[[send]]
name = "d0"
port = "p0"
endpoints = ["{ENDPOINT}"]
rate = "10Mbps"
""", encoding="utf-8")
        return path

    def named(self, *words, more=""):
        running = self.start("run", "--config", self.config(more), *words, environment=self.environment)
        running.wait_for(lambda: "Ctrl-C" in running.text(1), "word that it runs")
        return running

    def test_run_has_a_socket_by_its_name(self):
        running = self.named()
        self.assertIn("d0", self.attach("--", "show", "send", target=self.name, environment=self.environment))
        running.interrupt()
        running.wait()
        self.assertFalse(self.by_name.exists())
        self.attach("--", "show", "send", target=self.name, environment=self.environment, status=1)
        self.assertIn(f"nothing listens at `{self.name}`", self.said)

    def test_a_second_process_of_that_name(self):
        running = self.named()
        second = self.named()
        self.assertIn(f"process {running.process.pid} already listens at this path", second.text(1))
        self.assertIn("there is no control socket; the run goes on without one", second.text(1))
        second.interrupt()
        second.wait()
        # Asked for, it is refused.
        refused = self.refused("run", "--config", self.config(), "--control", "auto", status=1,
                               environment=self.environment, says=(str(running.process.pid), "dpdk-spead attach"))
        self.assertNotIn("Ctrl-C", refused.err)
        # The first one's is untouched.
        self.assertIn("d0", self.attach("--", "show", "send", target=self.name, environment=self.environment))
        running.interrupt()
        running.wait()

    def test_what_a_killed_process_left_is_replaced(self):
        running = self.named()
        running.process.kill()
        running.process.wait()
        self.assertTrue(self.by_name.exists())
        running = self.named("--control", "auto")
        self.assertIn("d0", self.attach("--", "show", "send", target=self.name, environment=self.environment))
        running.interrupt()
        running.wait()

    def test_off_is_off(self):
        for words, more in ((("--control", "off"), ""), ((), 'control = "off"')):
            running = self.named(*words, more=more)
            self.assertFalse(self.by_name.exists())
            running.interrupt()
            running.wait()

    def test_the_file_may_name_a_path(self):
        running = self.named(more=f'control = "{self.socket}"')
        self.assertIn("d0", self.attach("--", "show", "send"))
        running.interrupt()
        running.wait()

    def test_places_where_no_socket_can_be(self):
        for place, says in (("/nonexistent/x", "cannot listen at this path"),
                            (self.directory / ("x" * 150), "too long"),
                            (self.config(), "not a socket")):
            self.refused(*LOOPBACK, "--control", place, status=2 if says == "too long" else 1, says=(says,))


class Wire(AttachTest):
    """Clients of the socket other than `attach`."""

    def connect(self, data=b""):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(30 * harness.PATIENCE)
        client.connect(str(self.socket))
        if data:
            client.sendall(data)
        return client

    @staticmethod
    def answer(client):
        text = b""
        try:
            while part := client.recv(4096):
                text += part
        except ConnectionResetError:
            pass  # not all that was sent has been read
        return text.decode()

    def test_other_protocols_are_turned_away(self):
        running = self.daemon()
        for data in (b"GET / HTTP/1.0\r\n\r\n", b"\n", b"dpdk-spead-attach 99 keys /\nquit\n", b"\0\xff\n"):
            self.assertRegex(self.answer(self.connect(data)), r"(?s)^e \d+\n.*own version only\ns 1\n1$")
        # Nor does it matter what comes behind the greeting.
        client = self.connect(b"dpdk-spead-attach 1 commands /\n" + bytes(range(1, 256)) * 20 + b"\nquit\n")
        self.assertRegex(self.answer(client), r"(?s)^o 0\ne .*s 1\n2$")
        client = self.connect(b"dpdk-spead-attach 1 keys /\n" + bytes(b for b in range(5, 256) if b != 9) * 20)
        client.shutdown(socket.SHUT_WR)
        self.answer(client)
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.shut_down(running)

    def test_there_is_an_end_to_how_many_there_may_be(self):
        running = self.daemon()
        greeting = b"dpdk-spead-attach 1 keys /\n"
        held = []
        for _ in range(16):
            held.append(self.connect(greeting))
            self.assertTrue(held[-1].recv(1))
        self.assertIn("16 sessions already", self.answer(self.connect(greeting)))
        for client in held:
            client.close()
        # Places come free as sessions notice that they were left.
        for _ in range(200):
            if "16 sessions" not in self.attach(typed="", status=None) + self.said:
                break
        self.shut_down(running)

    def test_silent_ones_keep_nobody_out(self):
        running = self.daemon()
        silent = [self.connect() for _ in range(40)]
        self.assertIn("s0", self.attach("--", "show", "stream"))
        half = [self.connect(b"dpdk-spead-attach 1 com") for _ in range(40)]
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.assertIn("too many clients connect at once", self.answer(silent[0]))
        half[-1].sendall(b"mand /\nshow stream\n")
        half[-1].shutdown(socket.SHUT_WR)
        self.assertRegex(self.answer(half[-1]), r"(?s)^o 0\no .*s0.*s 1\n0$")
        self.shut_down(running)

    def test_a_line_without_end_is_cut_off(self):
        running = self.daemon()

        def resident():
            with open(f"/proc/{running.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        self.attach("--", "show", "stream")
        before, piece = resident(), b"x" * (1 << 20)
        for greeting in (b"", b"dpdk-spead-attach 1 commands /\n", b"dpdk-spead-attach 1 command /\n"):
            client = self.connect(greeting)
            sent = 0
            try:
                while sent < 200 << 20:
                    sent += client.send(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertLess(sent, 8 << 20, "it went on reading")
            self.assertRegex(self.answer(client), r"longer than 65536 bytes|own version")
        self.assertLess(resident() - before, 32 << 20)
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.shut_down(running)

    def test_a_process_that_stands_still_is_not_waited_for_without_end(self):
        running = self.daemon()
        running.process.send_signal(signal.SIGSTOP)
        self.attach("--", "show", "stream", status=1)
        self.assertIn("it is stopped, or very busy", self.said)
        running.process.send_signal(signal.SIGCONT)
        self.shut_down(running)

    def test_one_that_does_not_read_holds_nobody_up(self):
        running = self.daemon()
        client = self.connect(b"dpdk-spead-attach 1 commands /\n")
        client.setblocking(False)
        with self.assertRaises(BlockingIOError):
            while True:
                client.send(b"show config\n" * 100)
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.shut_down(running)
        client.close()


class Strangers(AttachTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root: there is only one user")
        if shutil.which("setpriv") is None:
            self.skipTest("needs setpriv")
        self.nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
        self.directory.chmod(0o777)
        if subprocess.run([*self.nobody, "test", "-x", harness.program()], check=False).returncode != 0:
            self.skipTest("nobody may not run the program where it was built")

    def test_another_user_may_not_attach(self):
        running = self.daemon()
        self.assertEqual(self.socket.stat().st_mode & 0o777, 0o600)
        self.attach("--", "shutdown", prefix=self.nobody, status=1)
        self.assertIn("belongs to user root", self.said)
        # Not even when the mode of the socket lets everybody in.
        self.socket.chmod(0o666)
        self.attach("--", "shutdown", prefix=self.nobody, status=1)
        self.assertIn("belongs to user root; only they and root may attach", self.said)
        self.assertIsNone(running.process.poll())
        self.shut_down(running)

    def test_root_may(self):
        running = self.daemon(prefix=self.nobody, environment={"XDG_RUNTIME_DIR": str(self.directory),
                                                                "HOME": str(self.directory)}, report=False)
        self.assertIn("s0", self.attach("--", "show", "stream"))
        self.shut_down(running)


if __name__ == "__main__":
    harness.main()
