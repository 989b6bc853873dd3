# SPDX-License-Identifier: BSD-3-Clause
"""The program on net_tap: the kernel's flower puts each endpoint into its own lcore's queue, and drops what no stream
wants. A kernel socket sends; the kernel's own counts of each rule are compared beside the program's."""

import json

import namespaces
import tap_device
import threads
import wire

CONFIGURATION = """
version = 1
[memory]
heaps = "32MiB"
[[port]]
name = "p0"
device = "{device}"
{address}
{receives}
[end]
exit_on_stop = true
duration = 300
"""

RECEIVE = """
[[receive]]
name = "{name}"
port = "p0"
endpoints = {endpoints}
lcores = {lcores}
poll = "{poll}"
max_packet_size = {size}
buffer_size = "256KiB"
[receive.heaps]
max_bytes = "64KiB"
[receive.sink]
kind = "file"
directory = "{directory}"
"""

WAITS = {"232", "281"}  # epoll_wait and epoll_pwait of x86-64


def asleep(running):
    """How many lcores of the program wait in the kernel for an event."""
    calls = [(task / "syscall").read_text(encoding="ascii").split()[0] for task in threads.workers(running).values()]
    return sum(call in WAITS for call in calls)


class SteeringTest(tap_device.TapTest):
    def group(self, number):
        return self.FAMILY.group(number)

    def stray(self, number):
        """A group that nobody wants, and that has the MAC address of group(number)."""
        return f"ff15::1:0:0:{number}" if self.FAMILY.is_v6 else f"239.129.1.{number}"

    def endpoint(self, number, more=""):
        return self.FAMILY.endpoint(self.group(number), more=more)

    def receiving(self, *receives, poll="adaptive"):
        """The program with these streams, (name, endpoints, lcores) each, started; the kernel's end is up."""
        address = f'{"address6" if self.FAMILY.is_v6 else "address"} = "{self.FAMILY.near}"'
        text = CONFIGURATION.format(device=tap_device.DEVICE, address=address, receives="".join(
            RECEIVE.format(name=name, endpoints=json.dumps(endpoints), lcores=lcores, poll=poll,
                           size=1500 - self.FAMILY.headers, directory=self.directory / name)
            for name, endpoints, lcores in receives))
        file = self.directory / "run.toml"
        file.write_text(text, encoding="utf-8")
        running = self.start("run", "--config", file)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        self.bring_up()
        return running

    def bytes_written(self, stream):
        """Those of all heaps in the sink of a stream; the newest file may be incomplete still."""
        return sum(path.stat().st_size for path in (self.directory / stream).glob("*.bin"))

    def assert_files(self, stream, heaps):
        """The sink of a stream holds exactly these heaps, {count: payload}."""
        found = {int(path.stem.rsplit("-", 1)[1]): path.read_bytes()
                 for path in (self.directory / stream).glob("*.bin")}
        self.assertEqual(sorted(found), sorted(heaps))
        self.assertEqual(found, heaps)

    def send(self, group, counts, port=7148, stop=None):
        """Heaps to a group, and a stop heap if it has a count: ({count: payload}, number of packets)."""
        sender, packets, payloads = self.sender(), [], {}
        for count in counts:
            payloads[count] = wire.verify_words(count, 2500)
            packets += wire.packetise(count, [(0x1000, payloads[count])], max_packet_size=1500 - self.FAMILY.headers)
        if stop is not None:
            packets.append(wire.stop(stop))
        for packet in packets:
            sender.sendto(packet, (group, port))
        return payloads, len(packets)

    def assert_nothing_else_arrived(self, report, packets):
        """But for what the port's own hosts are there for."""
        rx = report["ports"][0]["rx"]
        received = {name: count for name, count in rx.items()
                    if name not in ("bytes", "packets", *tap_device.OF_HOSTS) and count}
        self.assertEqual(received, {}, json.dumps(report["ports"][0], indent=1))
        self.assertEqual(tap_device.packets_of_streams(rx), packets, json.dumps(report["ports"][0], indent=1))

    def assert_lcores(self, report, expected):
        """Checks the packets that each lcore polled, and their streams: {cpu: {stream: packets}}"""
        for what in ("streams", "ports"):
            found = {lcore["cpu"]: sum(share["received"] for share in lcore[what]) for lcore in report["lcores"]}
            if what == "ports":  # the first queue has the frames of the port's own hosts
                rx = report["ports"][0]["rx"]
                found[report["lcores"][0]["cpu"]] -= sum(rx[name] for name in tap_device.OF_HOSTS)
            self.assertEqual(found, {cpu: sum(streams.values()) for cpu, streams in expected.items()}, what)
        self.assertEqual({lcore["cpu"]: {share["name"]: share["received"] for share in lcore["streams"]}
                          for lcore in report["lcores"]}, expected)

    def assert_rules(self, report, kernel):
        """The report's rules are those that the kernel had, queue for queue."""
        port = report["ports"][0]
        self.assertEqual(port["info"]["steering"], "rte_flow")
        self.assertEqual({rule["endpoint"]: rule["queues"] for rule in port["rules"]},
                         {self.FAMILY.endpoint(group, number): [rule["queue"]]
                          for (group, number), rule in kernel.items()})
        version = "ipv6" if self.FAMILY.is_v6 else "ipv4"
        texts = {rule["endpoint"]: rule["rule"] for rule in port["rules"]}
        for (group, number), rule in kernel.items():
            self.assertIn(f"{version} dst is {group} / udp dst is {number} / end actions queue index {rule['queue']}",
                          texts[self.FAMILY.endpoint(group, number)])


class Steering(SteeringTest):
    def test_endpoints_of_one_stream_are_assigned_to_the_queues_of_its_lcores(self):
        running = self.receiving(("s", [self.endpoint(1, "+3")], [0, 1]))
        rules = tap_device.rules()
        numbers = range(1, 5)
        self.assertEqual(sorted(rules), [(self.group(number), 7148) for number in numbers])
        heaps, sent = {}, {}
        for number in numbers:
            group = self.group(number)
            self.send(group, range(1, 4), port=7149)
            self.send(self.stray(number), range(1, 4))
            own, sent[group, 7148] = self.send(group, range(1 + 10 * number, 4 + 10 * number))
            heaps.update(own)
        counted = tap_device.rules()
        self.assertEqual({endpoint: rule["packets"] for endpoint, rule in counted.items()}, sent)
        by_queue = {queue: [endpoint for endpoint, rule in counted.items() if rule["queue"] == queue]
                    for queue in range(2)}
        self.assertEqual({queue: len(endpoints) for queue, endpoints in by_queue.items()}, {0: 2, 1: 2})
        for number in numbers:
            sent[self.group(number), 7148] += self.send(self.group(number), [], stop=10**6 + number)[1]
        finished = running.wait()
        self.assert_stream(finished.report, "s", complete=12, received=sum(sent.values()), control=4)
        self.assert_nothing_else_arrived(finished.report, sum(sent.values()))
        self.assert_rules(finished.report, counted)
        self.assert_lcores(finished.report, {queue: {"s": sum(sent[endpoint] for endpoint in endpoints)}
                                             for queue, endpoints in by_queue.items()})
        self.assert_files("s", heaps)
        self.assertNotIn("passed on between lcores", finished.out + finished.err)

    def test_a_group_and_an_address_of_the_port_each_arrive_on_the_queue_of_their_own_lcore(self):
        own = self.FAMILY.near
        running = self.receiving(("one", [self.endpoint(1)], [0]), ("two", [self.FAMILY.endpoint(own)], [1]))
        rules = tap_device.rules()
        self.assertEqual({endpoint: rule["queue"] for endpoint, rule in rules.items()},
                         {(self.group(1), 7148): 0, (own, 7148): 1})
        sent = {}
        for to, stray, name in ((self.group(1), self.stray(1), "one"), (own, own, "two")):
            self.send(stray, range(1, 4), port=7149)
            heaps, sent[name] = self.send(to, range(1, 21), stop=10**6)
            with self.subTest(stream=name):
                running.wait_for(lambda: self.bytes_written(name) >= sum(map(len, heaps.values())), f"heaps of {name}")
                self.assert_files(name, heaps)
        finished = running.wait()
        for name, packets in sent.items():
            self.assert_stream(finished.report, name, complete=20, received=packets)
        self.assert_rules(finished.report, rules)
        self.assert_lcores(finished.report, {0: {"one": sent["one"]}, 1: {"two": sent["two"]}})
        self.assert_nothing_else_arrived(finished.report, sum(sent.values()))
        self.assertNotIn("passed on between lcores", finished.out + finished.err)

    def test_only_the_named_source_arrives(self):
        running = self.receiving(("one", [f"{self.endpoint(1)}@{self.FAMILY.far}"], [0]),
                                 ("two", [f"{self.endpoint(2)}@{self.FAMILY.host(99)}"], [1]))
        self.send(self.group(2), range(1, 4))
        heaps, packets = self.send(self.group(1), range(1, 4))
        running.wait_for(lambda: len(list((self.directory / "one").glob("*.bin"))) == 3, "heaps")
        running.interrupt()
        report = running.wait().report
        self.assert_files("one", heaps)
        self.assert_stream(report, "two", received=0)
        self.assert_nothing_else_arrived(report, packets)


class Steering6(Steering):
    FAMILY = namespaces.V6


class Lcores(SteeringTest):
    def test_each_lcore_sleeps_until_its_queue_has_packets(self):
        running = self.receiving(("one", ["239.1.1.1:7148"], [0]), ("two", ["239.1.1.2:7148"], [1]), poll="interrupt")
        packets = 0
        for round_ in range(3):
            running.wait_for(lambda: asleep(running) == 2, "sleep of both lcores")
            for group, name in (("239.1.1.1", "one"), ("239.1.1.2", "two")):
                count = round_ + 1
                _, sent = self.send(group, [count])
                packets += sent
                running.wait_for(lambda: (self.directory / name / f"{name}-{count}.bin").exists(), f"heap of {name}")
        running.interrupt()
        finished = running.wait()
        for name in ("one", "two"):
            self.assert_stream(finished.report, name, complete=3)
        self.assert_nothing_else_arrived(finished.report, packets)
        self.assertEqual([lcore["poll"] for lcore in finished.report["lcores"]], ["interrupt", "interrupt"])

    def test_the_interface_goes_with_the_program(self):
        for _ in range(2):
            running = self.receiving(("s", ["239.1.1.1:7148"], [0]))
            self.send("239.1.1.1", [1], stop=2)
            running.wait()
            self.assertFalse(tap_device.interface_is_there())
