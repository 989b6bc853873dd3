// SPDX-License-Identifier: BSD-3-Clause
#include "python/readers.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "python/parts.hpp"
#include "python/without_gil.hpp"

/// Binds queues of this process, and the readers of streams without EAL.
namespace spead::python {

namespace py = pybind11;

namespace {

/// Limits the bytes in a queue of Python's. Programs may fill one before they receive, so it does not wait.
constexpr std::size_t kMostQueued = std::size_t{4} << 30;

void add_packet(LocalQueue& queue, const py::object& packet) {
    const Bytes bytes(packet, "queue: the packet");
    bool taken = false;
    {
        const WithoutGil released;
        taken = queue.push_for(bytes.span(), std::chrono::nanoseconds(0));
    }
    if (taken)
        return;
    if (queue.stopped())
        raise("Stopped", "the queue has been stopped, and takes no more packets");
    raise("Full", "the queue holds 4 GiB; let a stream receive from it");
}

SourceOfPackets pcap(const std::string& path, const py::kwargs& match) {
    PcapMatch m;
    for (const auto& [key, value] : match) {
        const auto name = py::cast<std::string>(key);
        std::string* const address = name == "host"          ? &m.host
                                     : name == "source"      ? &m.source
                                     : name == "destination" ? &m.destination
                                                             : nullptr;
        std::uint16_t* const port = name == "port"               ? &m.port
                                    : name == "source_port"      ? &m.source_port
                                    : name == "destination_port" ? &m.destination_port
                                                                 : nullptr;
        if (address != nullptr)
            *address = py::cast<std::string>(value);
        else if (port != nullptr)
            *port = py::cast<std::uint16_t>(value);
        else
            throw py::type_error("pcap: " + name + " is unknown");
    }
    return SourceOfPackets(spead::Reader::pcap_packets(path, m));
}

}  // namespace

void raise(const char* name, const char* message) {
    const py::object type = py::module_::import("dpdk_spead._native").attr(name);
    PyErr_SetString(type.ptr(), message);
    throw py::error_already_set();
}

void define_readers(py::module_& m) {
    py::class_<LocalQueue, std::shared_ptr<LocalQueue>>(
        m, "InprocQueue",
        "Carries datagrams from threads of this process to a stream, without loss. It holds up to 4 GiB.")
        .def(py::init([] { return std::make_shared<LocalQueue>(SIZE_MAX, kMostQueued); }))
        .def("add_packet", &add_packet, py::arg("packet"),
             "Copies a datagram of at most 65507 bytes into the queue. Raises Full when it holds 4 GiB, and "
             "Stopped "
             "after stop().")
        .def(
            "stop", [](LocalQueue& q) { q.stop(); },
            "Ends the queue. Streams end when they have taken what is in it.")
        .def("__bool__", [](const LocalQueue&) { return true; })
        .def(
            "__len__", [](const LocalQueue& q) { return q.size(); }, "Returns how many datagrams wait.")
        .def("__repr__", [](const LocalQueue& q) {
            return fmt::format("<InprocQueue: {} {}{}>", q.size(), noun_for(q.size(), "datagrams"),
                               q.stopped() ? ", stopped" : "");
        });
    py::class_<SourceOfPackets>(m, "Reader", "Names a source of packets of a stream without EAL.")
        .def_static(
            "buffer",
            [](const py::object& packets) {
                auto pinned = std::make_shared<Bytes>(packets, "buffer reader: `buffer`");
                const auto span = pinned->span();
                return SourceOfPackets(spead::Reader::buffer(span), std::move(pinned));
            },
            py::arg("packets"), "Names the packets that stand one after the other in a buffer.")
        .def_static(
            "queue", [](const LocalQueue& q) { return SourceOfPackets(spead::Reader::queue(q)); },
            py::arg("queue"), "Names a queue.")
        .def_static(
            "socket",
            [](int fd, std::uint32_t most) { return SourceOfPackets(spead::Reader::socket(fd, most)); },
            py::arg("fd"), py::arg("max_size"), "Names a bound UDP socket, which is duplicated.")
        .def_static("pcap", &pcap, py::arg("path"), "Names the UDP packets of a pcap file that match.");
}

}  // namespace spead::python
