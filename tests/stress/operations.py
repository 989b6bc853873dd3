# SPDX-License-Identifier: BSD-3-Clause
"""The random operations of a stress test. They follow from the seed and the kinds of ports alone, never from the
program's answers or from time, so that the same seed does the same again."""

import random
from dataclasses import dataclass

# Which groups each link carries: the ports at its ends, and the third byte of its groups.
LINKS = {"ring": (("ring", "ring"), 1), "memif": (("near", "far"), 2), "wire": (("left", "right"), 3)}
GROUPS = 6
STREAMS = [f"s{number}" for number in range(8)]
SENDERS = [f"d{number}" for number in range(6)]
RATES = ["0", "100kbps", "1Mbps", "5Mbps", "20Mbps", "50Mbps"]
SIZES = [4, 1000, "4KiB", "16KiB", "64KiB", "250KiB"]
ENDS = ["shutdown", "quit", "end of input", "SIGINT", "SIGTERM", "two signals", "SIGKILL"]


@dataclass
class Operation:
    """One thing to be done: `kind` picks a method of the lab, `words` are its arguments."""

    kind: str
    words: tuple

    def __str__(self):
        if self.kind == "prompt":
            return f"dpdk-spead> {' '.join(map(str, self.words))}"
        return f"{self.kind} {' '.join(map(str, self.words))}".strip()


class Operations:
    """An endless source of operations. It supposes that whatever it asks for succeeds, which makes about half of the
    commands sensible; the others have to be refused."""

    def __init__(self, seed, links, cpus):
        self._random = random.Random(seed)
        self._links, self._cpus = sorted(links), cpus
        self._streams, self._senders, self._captures = {}, {}, 0
        self._interface_is_there = True

    # The start of a process.

    def configuration(self, device_of):
        """The text of a configuration file. Every port has a stream and a sender from the start, since ports cannot get
        queues later. `device_of` gives a port's device."""
        pick = self._random
        self._streams, self._senders = {}, {}
        lines = ["version = 1", "[runtime]", "live = true", f"lcores = {self._cpus}", "[memory]", 'heaps = "64MiB"']
        for link in self._links:
            for port in sorted(set(LINKS[link][0])):
                lines += ["[[port]]", f'name = "{port}"', f'device = "{device_of(port)}"']
                stream, sender = self._free(STREAMS, self._streams), self._free(SENDERS, self._senders)
                self._streams[stream], self._senders[sender] = port, port
                lines += ["[[receive]]", f'name = "{stream}"', f'port = "{port}"', f'endpoints = ["{self._endpoint(port)}"]',
                          "max_packet_size = 1472", 'buffer_size = "256KiB"', "[receive.heaps]", 'max_bytes = "256KiB"',
                          "[receive.sink]", f'kind = "{pick.choice(["verify", "verify", "null"])}"']
                lines += ["[[send]]", f'name = "{sender}"', f'port = "{port}"', f'endpoints = ["{self._endpoint(port)}"]',
                          f'rate = "{pick.choice(RATES[1:])}"', f'heap_size = "{pick.choice(["4KiB", "64KiB"])}"',
                          "verify = true", f"enabled = {str(pick.random() < 0.7).lower()}"]
                if pick.random() < 0.3:
                    lines.append(f'timeout = "{pick.choice(["5ms", "100ms", "1s"])}"')
        self._interface_is_there = True
        return "\n".join(lines) + "\n"

    def end(self):
        """How the process is to end."""
        return self._random.choice(ENDS)

    def stretches(self):
        """How many stretches the next process lives."""
        return self._random.randint(1, 4)

    # The operations.

    def next(self):
        kinds = {self._change_stream: 20, self._change_sender: 22, self._change_port: 10, self._capture: 8, self._look: 10,
                 self._save: 3, self._nonsense: 4, self._several: 5, self._session: 3, self._stranger: 2, self._pause: 3,
                 self._reload: 3}
        if "wire" in self._links:
            kinds |= {self._interface: 5, self._traffic: 8}
        return self._random.choices(list(kinds), list(kinds.values()))[0]()

    def _prompt(self, *words):
        return Operation("prompt", words)

    def _any(self, names, known):
        """A name: usually one that there should be."""
        if known and self._random.random() < 0.9:
            return self._random.choice(sorted(known))
        return self._random.choice(names)

    def _free(self, names, known):
        return self._random.choice([name for name in names if name not in known] or names)

    def _port(self):
        link = self._random.choice(self._links)
        return self._random.choice(LINKS[link][0])

    def _endpoint(self, port):
        third = next(third for ports, third in LINKS.values() if port in ports)
        first = self._random.randint(1, GROUPS)
        more = self._random.choice([0, 0, 0, 1, 2])
        return f"239.7.{third}.{first}{f'+{more}' if more else ''}:7148"

    def _some(self, settings, most):
        """Up to `most` keys with one of their values each, as words."""
        keys = self._random.sample(sorted(settings), self._random.randint(0 if most > 1 else 1, most))
        return [word for key in keys for word in (key, self._random.choice(settings[key]))]

    def _stream_settings(self):
        return {"heaps.queue_depth": [1, 4, 64, 1000], "heaps.max_live": [1, 2, 4, 16], "heaps.timeout": ["1ms", "100ms", "default"],
                "heaps.on_full": ["drop_newest", "drop_oldest", "block", "auto"], "heaps.history": [0, 16, 1024],
                "poll": ["busy", "adaptive", "interrupt"], "lcores": [*self._cpus, "default", ",".join(map(str, self._cpus))],
                "substreams": [1, 2, 8], "in_order": ["true", "false"], "sink.kind": ["verify", "null"],
                "silent_after": ["50ms", "1s", "default"], "loss_threshold": [0, 0.01], "expected_rate": [0, "10Mbps"],
                "stop_on_stop_item": ["true", "false"], "filter": ['"length > 100"', '"item 0x1000 == 1"', "default"]}

    def _send_settings(self):
        return {"rate": RATES, "burst_size": ["1KiB", "64KiB"], "burst_rate_ratio": [1, 1.05, 2], "ttl": [1, 255],
                "dscp": [0, 46], "heaps": [-1, 1, 10, 1000]}

    def _change_stream(self):
        what = self._random.choice(["add", "add", "set", "set", "start", "stop", "delete", "endpoint", "endpoint"])
        if what == "add":
            name, port = self._free(STREAMS, self._streams), self._port()
            self._streams[name] = port
            return self._prompt("stream", "add", name, "port", port, "endpoints", self._endpoint(port), "heaps.max_bytes",
                                self._random.choice(["64KiB", "256KiB", "1MiB"]), *self._some(self._stream_settings(), 3))
        name = self._any(STREAMS, self._streams)
        if what == "set":
            return self._prompt("stream", "set", name, *self._some(self._stream_settings(), 2) or ["poll", "default"])
        if what == "endpoint":
            port = self._streams.get(name, "ring")
            return self._prompt("endpoint", self._random.choice(["add", "add", "delete"]), name, self._endpoint(port))
        if what == "delete":
            self._streams.pop(name, None)
        elif self._random.random() < 0.1:
            name = "all"
        return self._prompt("stream", what, name)

    def _change_sender(self):
        what = self._random.choice(["add", "add", "set", "set", "start", "start", "stop", "delete", "dummy"])
        if what == "add":
            name, port = self._free(SENDERS, self._senders), self._port()
            self._senders[name] = port
            settings = {"heaps": [-1, 1, 100], "max_heaps": [1, 4, 8], "timeout": ["1ms", "20ms", "500ms"],
                        "max_packet_size": [200, 1472], "zero_copy": ["auto", "never"], "first_count": [1, 1000],
                        "count_step": [1, 2], "udp_checksum": ["true"], "addr_bits": [40, 48], "enabled": ["false"]}
            return self._prompt("send", "add", name, "port", port, "endpoints", self._endpoint(port), "heap_size",
                                self._random.choice(SIZES), "rate", self._random.choice(RATES), "verify", "true",
                                *self._some(settings, 4))
        name = self._any(SENDERS, self._senders)
        if what == "set":
            return self._prompt("send", "set", name, *self._some(self._send_settings(), 1))
        if what == "dummy":
            return self._prompt("dummy", name, self._random.choice([1, 64, 1000]))
        if what == "delete":
            self._senders.pop(name, None)
        elif self._random.random() < 0.1:
            name = "all"
        return self._prompt("send", what, name)

    def _change_port(self):
        return self._prompt("port", self._random.choice(["stop", "start", "start"]), self._port())

    def _capture(self):
        name = self._any(STREAMS, self._streams)
        if self._random.random() < 0.5:
            return self._prompt("capture", "stop", name)
        # A name of its own for each file, so that what is in it can be compared with what the program says of it.
        self._captures += 1
        settings = {"capture.count": [1, 100], "capture.snap_length": [64, 65535], "capture.buffer": ["2MiB", "16MiB"]}
        return self._prompt("capture", "start", name, f"capture{self._captures}.pcap", *self._some(settings, 2))

    def _look(self):
        line = self._random.choice(["show stream", "show stream all", "show heap", "show send all", "show port",
                                    "show port xstats ring", "show queue", "show lcore", "show flow", "show memory",
                                    "show config", "show capture", "clear stats", "clear undo", "log level notice",
                                    "help stream add"])
        return self._prompt(*line.split())

    def _save(self):
        return self._prompt("save", "config", "saved.toml", "force")

    def _nonsense(self):
        words = ["stream", "send", "port", "set", "add", "s0", "d0", "ring", "-1", "0", "99999999999999999999", "lcores",
                 "heaps.queue_depth", "rate", "239.7.1.1:7148", '"', "#", "é", "\x01", "all", "%s", "a" * 300]
        return self._prompt(*self._random.choices(words, k=self._random.randint(1, 6)))

    def _several(self):
        """Commands at the same time, from as many sessions. Nobody knows their order."""
        makers = [self._change_stream, self._change_sender, self._change_port, self._look]
        return Operation("several", tuple(self._random.choice(makers)() for _ in range(self._random.randint(2, 4))))

    def _session(self):
        return Operation("session", (self._random.randint(1, 12), self._random.choice(["killed", "closed"])))

    def _stranger(self):
        return Operation("stranger", (self._random.choice(["nothing", "noise", "half a line", "HTTP"]),))

    def _pause(self):
        return Operation("pause", (self._random.choice([0.01, 0.1, 0.4]),))

    def _reload(self):
        return Operation("reload", (self._random.choice(["saved", "saved", "broken"]),))

    def _interface(self):
        if not self._interface_is_there:
            self._interface_is_there = True
            return Operation("interface", ("make",))
        what = self._random.choice(["down", "up", "up", "delete"])
        self._interface_is_there = what != "delete"
        return Operation("interface", (what,))

    def _traffic(self):
        return Operation("traffic", (self._random.choice(["whole", "whole", "with holes", "noise", "stop"]),
                                     f"239.7.3.{self._random.randint(1, GROUPS)}", self._random.randint(1, 30)))
