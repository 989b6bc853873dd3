#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""net_af_xdp on a veth pair, with its XDP program: what is ours comes to the program, the rest stays with the kernel."""

import ctypes
import fcntl
import os
import platform
import shutil
import signal
import socket
import struct
import subprocess

import namespaces  # first: it makes tests/system importable
import harness
import wire

DEVICE = "net_af_xdp0,iface=dut"
GROUP = "239.1.1.1"
OURS = "dpdk_spead_xdp"
DATA = 1024  # payload of a packet that wire.heap makes


class XdpTest(namespaces.NamespaceTest):
    MTU = 1500

    def setUp(self):
        super().setUp()
        probe = subprocess.run([harness.program(), "recv", f"{GROUP}:7148", "--port", "net_af_xdp0,iface=nothing"],
                               check=False, capture_output=True, text=True)
        if "built without its XDP program" in probe.stderr:
            self.skipTest("built without the XDP program (clang, libbpf)")

    def ethtool(self, namespace, *words):
        if shutil.which("ethtool", path=namespaces.PATH) is None:
            self.skipTest("needs ethtool (package ethtool)")
        subprocess.run(["ip", "netns", "exec", namespace, "ethtool", *words], check=True, capture_output=True,
                       env={"PATH": namespaces.PATH})

    def group(self, number=1):
        return self.FAMILY.group(number)

    def endpoint(self, number=1, more=""):
        """The endpoint of a group."""
        return self.FAMILY.endpoint(self.group(number), more=more)

    def listening(self, *words, groups=None, device=DEVICE):
        groups = groups or (self.group(),)
        running = self.start("recv", *words, "--port", device, prefix=self.inside)
        running.wait_for(lambda: set(groups) <= self.groups_joined(), f"membership of {groups}")
        return running

    def attached(self):
        """The name of the XDP program on the interface; None when it has none."""
        shown = namespaces.ip("-d", "link", "show", "dev", "dut", namespace=self.near)
        return shown.split("prog/xdp ")[1].split(" name ")[1].split()[0] if "prog/xdp" in shown else None

    def mtu(self):
        return int(namespaces.ip("-o", "link", "show", "dut", namespace=self.near).split(" mtu ")[1].split()[0])

    def near_socket(self, port):
        """A UDP socket of the kernel beside the program."""
        made = self.within(self.near, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.addCleanup(made.close)
        made.bind(("", port))
        made.settimeout(10)
        return made

    def frames(self):
        """A socket that sends whole Ethernet frames towards the program."""
        made = self.far_socket(socket.AF_PACKET, socket.SOCK_RAW)
        made.bind(("peer", 0))
        return made

    def ping(self):
        """Has the kernel beside the program answer an ICMP echo request; ARP comes first."""
        namespaces.ip("neigh", "flush", "dev", "peer", namespace=self.far)
        made = self.far_socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        made.settimeout(10)
        body = struct.pack(">BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, 1) + bytes(range(56))
        made.sendto(body[:2] + struct.pack(">H", wire.checksum(body)) + body[4:], ("10.9.0.1", 0))
        while True:
            answer = made.recv(2048)[20:]
            if answer[0] == 0:
                return answer[4:] == body[4:]

    def send_heaps(self, counts):
        """Heaps in packets that fit the usual MTU."""
        sender, size = self.sender(), 1500 - self.FAMILY.headers
        for count in counts:
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))], max_packet_size=size):
                sender.sendto(packet, (self.group(), 7148))
        sender.sendto(wire.stop(10**6), (self.group(), 7148))


class Receive(XdpTest):
    def test_heaps_of_a_kernel_sender_arrive_whole_in_every_poll_mode(self):
        for poll in ("busy", "adaptive", "interrupt"):
            with self.subTest(poll=poll):
                running = self.listening(self.endpoint(), "--sink", "verify", "--exit-on-stop", "--poll", poll)
                self.send_heaps(range(1, 41))
                report = running.wait().report
                self.assert_stream(report, "s0", complete=40, started=40, malformed=0)
                self.assertEqual(report["ports"][0]["driver"], "net_af_xdp")
                self.assertEqual([lcore["poll"] for lcore in report["lcores"]], [poll])
                self.assertEqual(report["ports"][0]["nic"], {"missed": 0, "no_mbuf": 0, "errors": 0})

    def test_the_largest_mtu(self):
        for name, device in ((self.near, "dut"), (self.far, "peer")):
            namespaces.ip("link", "set", device, "mtu", 3498, namespace=name)
        running = self.listening(self.endpoint(), "--sink", "verify", "--exit-on-stop", "--max-packet-size",
                                 3498 - self.FAMILY.headers)
        sender, most = self.sender(), 3498 - self.FAMILY.headers
        for count in range(1, 41):  # packets of exactly the largest size
            payload = (most - 62) // 4 * 4
            for packet in wire.heap(count, wire.verify_words(count, 5 * payload // 4), packet_payload=payload):
                sender.sendto(packet.ljust(most if len(packet) > most - 10 else 0, b"\0"), (self.group(), 7148))
        sender.sendto(wire.stop(10**6), (self.group(), 7148))
        self.assert_stream(running.wait().report, "s0", complete=40, started=40, malformed=0, oversize=0)

    def test_several_groups_and_a_source_specific_one(self):
        groups = [self.group(number) for number in (1, 2, 3, 4, 52, 53)]
        running = self.listening(self.endpoint(1, more="+3"), f"{self.endpoint(52)}@{self.FAMILY.far}",
                                 f"{self.endpoint(53)}@{self.FAMILY.host(99)}", "--idle-exit", "1", groups=groups[:-1])
        sender = self.sender()
        for count, group in enumerate(groups, start=1):
            for packet in wire.heap(count, bytes(5000)):
                sender.sendto(packet, (group, 7148))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=4)
        self.assert_stream(report, "s1", complete=1)
        self.assert_stream(report, "s2", received=0)
        self.assertEqual(self.groups_joined() & set(groups), set())

    def test_a_unicast_endpoint(self):
        running = self.start("recv", self.FAMILY.endpoint(self.FAMILY.near), "--sink", "verify", "--exit-on-stop", "--port",
                             DEVICE, prefix=self.inside)
        running.wait_for(lambda: "Ctrl-C ends" in running.text(1), "start")
        sender = self.far_socket()
        for count in range(1, 21):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))], max_packet_size=1400):
                sender.sendto(packet, (self.FAMILY.near, 7148))
        sender.sendto(wire.stop(21), (self.FAMILY.near, 7148))
        self.assert_stream(running.wait().report, "s0", complete=20, started=20)

    def test_tagged_frames_come(self):
        running = self.listening(self.endpoint(), "--idle-exit", "1")
        frames = self.frames()
        for count, tags in ((1, b""), (2, b"\x81\0\0\x0a"), (3, b"\x88\xa8\0\x0a\x81\0\0\x14")):
            for packet in wire.heap(count, bytes(3000)):
                frame = wire.frame(packet, self.group(), source=self.FAMILY.far)
                frames.send(frame[:12] + tags + frame[12:])
        report = running.wait().report
        self.assert_stream(report, "s0", complete=3, started=3)

    def test_every_packet_is_received_when_no_more_wait_than_a_queue_holds(self):
        for poll in ("busy", "adaptive", "interrupt"):
            with self.subTest(poll=poll):
                directory = self.directory / poll
                directory.mkdir()
                running = self.listening(self.endpoint(), "--exit-on-stop", "--poll", poll, "--sink", f"file:{directory}",
                                         "--ring-heaps", "4096")
                sender, heaps = self.sender(), 0
                for _ in range(20):
                    for _ in range(30):
                        heaps += 1
                        for packet in wire.heap(heaps, bytes(64 * 16), packet_payload=16):
                            sender.sendto(packet, (self.group(), 7148))
                    running.wait_for(lambda: len(list(directory.glob("*.bin"))) >= heaps, "heaps")
                sender.sendto(wire.stop(10**6), (self.group(), 7148))
                report = running.wait().report
                self.assert_stream(report, "s0", complete=heaps, received=heaps * 64 + 1)
                self.assertEqual(report["ports"][0]["nic"]["missed"], 0)

    def test_what_a_sender_leaves_to_segmentation_offload_is_cut_before_it_comes(self):
        running = self.listening(self.endpoint(), "--exit-on-stop", "--idle-exit", "2")
        packets = wire.heap(1, bytes(10240), items=())
        udp_segment = 103
        sender = self.sender()
        try:
            sender.sendmsg([b"".join(packets)], [(socket.IPPROTO_UDP, udp_segment, struct.pack("=H", len(packets[0])))],
                           0, (self.group(), 7148))
        except OSError as error:
            self.skipTest(f"the kernel has no UDP segmentation: {error}")
        sender.sendto(wire.stop(2), (self.group(), 7148))
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=1, received=len(packets) + 1)
        self.assertEqual(finished.report["ports"][0]["info"]["oversized_frames"], 0)

    def test_every_packet_that_is_lost_is_counted(self):
        running = self.listening(self.endpoint(), "--idle-exit", "1")
        sender, sent = self.sender(), 0
        for count in range(1, 1501):
            for packet in wire.heap(count, bytes(32 * 1024)):
                sender.sendto(packet, (self.group(), 7148))
                sent += 1
        report = running.wait().report
        self.assertEqual(report["streams"][0]["packets"]["received"] + report["ports"][0]["nic"]["missed"], sent)


class Kernel(XdpTest):
    def test_fragments_do_not_come(self):
        running = self.listening(f"{GROUP}:7148", "--idle-exit", "1", "--duration", "3")
        frames = self.frames()
        whole = wire.frame(wire.heap(4, bytes(1000))[0], source="10.9.0.2")
        head = whole[14:20] + b"\x20\0" + whole[22:24] + b"\0\0" + whole[26:34]  # more fragments
        frames.send(whole[:14] + head[:10] + struct.pack(">H", wire.checksum(head)) + head[12:] + whole[34:])
        for packet in wire.heap(5, bytes(1000)):
            frames.send(wire.frame(packet, source="10.9.0.2"))
        report = running.wait(None).report
        self.assert_stream(report, "s0", complete=1, started=1)
        self.assertEqual(report["ports"][0]["rx"]["fragment"], 0)

    def test_the_kernel_keeps_what_is_not_ours(self):
        other = self.near_socket(7149)
        running = self.listening(f"{GROUP}:7148", "--sink", "verify", "--exit-on-stop")
        self.assertEqual(self.attached(), OURS)
        self.assertTrue(self.ping())
        self.far_socket().sendto(b"for the kernel", ("10.9.0.1", 7149))
        self.assertEqual(other.recv(100), b"for the kernel")
        self.send_heaps(range(1, 21))
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=20)
        port = finished.report["ports"][0]["rx"]
        self.assertEqual([port[name] for name in ("arp", "igmp", "not_udp", "unmatched")], [0, 0, 0, 0])
        self.assertEqual(port["packets"], finished.report["streams"][0]["packets"]["received"])

    def test_the_program_is_gone_afterwards(self):
        self.assertIsNone(self.attached())
        running = self.listening(f"{GROUP}:7148")
        self.assertEqual(self.attached(), OURS)
        running.interrupt()
        running.wait()
        self.assertIsNone(self.attached())
        self.assertTrue(self.ping())

    def test_a_crash_leaves_the_kernel_its_packets_and_the_next_run_a_clean_start(self):
        running = self.listening(f"{GROUP}:7148")
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
        self.assertEqual(self.attached(), OURS)
        self.assertTrue(self.ping())
        running = self.listening(f"{GROUP}:7148", "--sink", "verify", "--exit-on-stop")
        self.send_heaps(range(1, 21))
        self.assert_stream(running.wait().report, "s0", complete=20)
        self.assertIsNone(self.attached())

    def test_a_second_process_is_refused_and_does_not_disturb_the_first(self):
        running = self.listening(f"{GROUP}:7148", "--sink", "verify", "--exit-on-stop")
        self.refused("recv", "239.1.1.2:7148", "--port", DEVICE, status=1, prefix=self.inside,
                     says=("dut", "another port or process"))
        self.assertEqual(self.attached(), OURS)
        self.send_heaps(range(1, 21))
        self.assert_stream(running.wait().report, "s0", complete=20)

    def test_the_program_of_somebody_else_is_left_alone(self):
        link = self.within(self.near, lambda: attach_elses("dut"))
        self.addCleanup(os.close, link)
        self.assertEqual(self.attached(), "elses")
        self.refused("recv", f"{GROUP}:7148", "--port", DEVICE, status=1, prefix=self.inside,
                     says=("dut", "elses", "ip link set dev dut xdp off"))
        self.assertEqual(self.attached(), "elses")

    def test_a_program_that_takes_the_place_of_ours_is_told_of_and_left_alone(self):
        running = self.listening(f"{GROUP}:7148")
        namespaces.ip("link", "set", "dut", "xdp", "off", namespace=self.near)
        link = self.within(self.near, lambda: attach_elses("dut"))
        self.addCleanup(os.close, link)
        running.wait_for(lambda: "our XDP program on dut has been replaced" in running.text(1), "word of the other program")
        running.interrupt()
        finished = running.wait()
        self.assertEqual(finished.err.count("our XDP program on dut has been replaced"), 1)
        self.assertIn("not in force", finished.report["ports"][0]["rules"][0]["rule"])
        self.assertEqual(self.attached(), "elses")

    def test_an_interface_that_is_deleted_is_waited_for(self):
        running = self.listening(f"{GROUP}:7148")
        namespaces.ip("link", "delete", "dut", namespace=self.near)
        running.wait_for(lambda: "interface dut has disappeared" in running.text(1), "word of the loss")
        running.interrupt()
        finished = running.wait(status=1)
        self.assertIn("has not come back", finished.err)
        self.assertTrue(finished.has_report())


class Send(XdpTest):
    def hear(self, *words, heaps=20):
        receiver = self.receiver([GROUP], 7148)
        finished = self.run_program("send", f"{GROUP}:7148", "--port", DEVICE, "--verify", "--heaps", heaps,
                                    "--heap-size", 40000, "--rate", "200Mbps", *words, prefix=self.inside)
        packets = [receiver.recv(65536)]
        while wire.pointer(wire.IMMEDIATE, wire.STREAM_CTRL, 2) not in packets[-1][:64]:
            packets.append(receiver.recv(65536))
        self.assertEqual(len(packets), finished.report["sends"][0]["packets"])
        return finished, packets

    def heap_of(self, packets, count):
        return [packet for packet in packets if struct.unpack(">Q", packet[8:16])[0] & (2**40 - 1) == count]

    def test_a_kernel_socket_hears_every_packet(self):
        finished, packets = self.hear()
        for count in (2, 20):
            self.assertEqual(self.heap_of(packets, count),
                             wire.packetise(count, [(0x1000, wire.verify_words(count, 10000))]))
        self.assertIsNone(self.attached())
        self.assertEqual(finished.report["sends"][0]["zero_copy_packets"], 0)

    def test_the_mtu_is_raised_said_and_put_back(self):
        namespaces.ip("link", "set", "peer", "mtu", 3498, namespace=self.far)
        finished, packets = self.hear("--max-packet-size", 3470)
        self.assertEqual(max(map(len, packets)), 3464)
        self.assertEqual(self.heap_of(packets, 9),
                         wire.packetise(9, [(0x1000, wire.verify_words(9, 10000))], max_packet_size=3470))
        self.assertIn("the MTU of dut is raised from 1500 to 3498", finished.err)
        self.assertEqual(self.mtu(), 1500)

    def test_larger_packets_are_refused(self):
        self.refused("send", f"{GROUP}:7148", "--port", DEVICE, "--max-packet-size", 9000, status=2, prefix=self.inside,
                     says=("3470", "net_af_packet0,iface=dut"))
        self.assertEqual(self.mtu(), 1500)


class VethQueues(XdpTest):
    def setUp(self):
        super().setUp()
        namespaces.ip("link", "delete", "dut", namespace=self.near)
        namespaces.ip("link", "add", "dut", "numrxqueues", 2, "numtxqueues", 2, "type", "veth", "peer", "name", "peer", "netns",
                      self.far, namespace=self.near)
        for name, device, address in ((self.near, "dut", "10.9.0.1"), (self.far, "peer", "10.9.0.2")):
            namespaces.ip("addr", "add", f"{address}/24", "dev", device, namespace=name)
            namespaces.ip("link", "set", device, "up", namespace=name)
            namespaces.ip("route", "add", "224.0.0.0/4", "dev", device, namespace=name)
        if self.FAMILY.is_v6:
            self.add_ipv6()

    def test_queues_that_cannot_all_be_bound_are_refused_and_the_remedy_helps(self):
        self.refused("recv", self.endpoint(), "--port", DEVICE, status=1, prefix=self.inside,
                     says=("2 receive queues", "ethtool -L dut", "rx 1"))
        self.ethtool(self.far, "-L", "peer", "tx", "1")  # veth wants no more of them than the other end receives on
        self.ethtool(self.near, "-L", "dut", "rx", "1")
        running = self.listening(self.endpoint(), "--sink", "verify", "--exit-on-stop")
        self.send_heaps(range(1, 21))
        self.assert_stream(running.wait().report, "s0", complete=20)


class Queues(XdpTest):
    """A tap interface has a queue for each time that it is open, and a frame written to one arrives on it."""

    def setUp(self):
        super().setUp()
        namespaces.ip("link", "delete", "dut", namespace=self.near)
        try:
            self.tap = [self.within(self.near, self.open_queue) for _ in range(2)]
        except OSError as error:
            self.skipTest(f"no tap interfaces here: {error}")
        namespaces.ip("addr", "add", "10.9.0.1/24", "dev", "dut", namespace=self.near)
        namespaces.ip("link", "set", "dut", "up", namespace=self.near)
        namespaces.ip("route", "add", "224.0.0.0/4", "dev", "dut", namespace=self.near)
        if self.FAMILY.is_v6:
            self.FAMILY.add(self.FAMILY.near, "dut", self.near)

    def open_queue(self):
        tun_set_interface, tap_multi_queue = 0x400454CA, 0x0002 | 0x1000 | 0x0100
        queue = os.open("/dev/net/tun", os.O_RDWR)
        self.addCleanup(os.close, queue)
        fcntl.ioctl(queue, tun_set_interface, struct.pack("16sH22x", b"dut", tap_multi_queue))
        return queue

    # Packets that wait in one queue may be overtaken by all those in the other: no stop heap, and a wide window.
    WIDE = ("--sink", "verify", "--max-heaps", "64", "--idle-exit", "5", "--heaps")

    def test_packets_of_every_queue_are_received(self):
        running = self.listening(self.endpoint(), *self.WIDE, 40)
        for count in range(1, 41):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))]):
                os.write(self.tap[count % 2], wire.frame(packet, self.group(), source=self.FAMILY.far))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, started=40)
        self.assertEqual(report["ports"][0]["nic"]["missed"], 0)

    def test_every_queue_may_have_an_lcore_of_its_own(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        running = self.listening(self.endpoint(), self.endpoint(2), *self.WIDE, 80, "--lcores", f"{cpus[0]},{cpus[1]}",
                                 groups=[self.group(), self.group(2)])
        for count in range(1, 41):
            for packet in wire.packetise(count, [(0x1000, wire.verify_words(count, 4000))]):
                for group in (self.group(), self.group(2)):
                    os.write(self.tap[count % 2], wire.frame(packet, group, source=self.FAMILY.far))
        report = running.wait().report
        self.assert_stream(report, "s0", complete=40, started=40)
        self.assert_stream(report, "s1", complete=40, started=40)

    def test_a_queue_that_is_not_bound_leaves_its_packets_to_the_kernel(self):
        running = self.listening(self.endpoint(), "--idle-exit", "1", device=DEVICE + ",start_queue=1,queue_count=1")
        for count in range(1, 21):
            for packet in wire.heap(count, bytes(5000)):
                os.write(self.tap[count % 2], wire.frame(packet, self.group(), source=self.FAMILY.far))
        finished = running.wait()
        self.assert_stream(finished.report, "s0", complete=10, started=10)
        self.assertIn("packets of the others stay with the kernel", finished.err)


def attach_elses(device):
    """Puts a program that passes everything on an interface of this namespace, as another tool would. Returns the
    descriptor that keeps it there."""
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    prog_load, link_create, xdp_program, attach_xdp, xdp_pass = 5, 28, 6, 37, 2
    libc = ctypes.CDLL(None, use_errno=True)

    def bpf(command, attributes):
        buffer = ctypes.create_string_buffer(attributes, 128)
        made = libc.syscall(number, command, buffer, 128)
        if made < 0:
            raise OSError(ctypes.get_errno(), "bpf")
        return made

    code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xB7, 0, 0, xdp_pass, 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    program = bpf(prog_load, struct.pack("=IIQQIIQII16s", xdp_program, 2, ctypes.addressof(code),
                                         ctypes.addressof(licence), 0, 0, 0, 0, 0, b"elses"))
    try:
        return bpf(link_create, struct.pack("=IIII", program, socket.if_nametoindex(device), attach_xdp, 0))
    finally:
        os.close(program)


if __name__ == "__main__":
    harness.main()
