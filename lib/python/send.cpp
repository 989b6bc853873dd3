// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <spead/error.hpp>
#include <spead/process.hpp>
#include <string>
#include <utility>
#include <vector>

#include "python/outgoing.hpp"
#include "python/parts.hpp"
#include "python/readers.hpp"

/// Binds senders. The modules in Python give them the names that users know.
namespace spead::python {

namespace {

/// Holds the largest UDP payload.
constexpr std::uint32_t kLargest = InprocQueue::kLongest;

/// Makes a stream, without the GIL. `kept`: what must live as long as it.
template <class Make>
std::unique_ptr<OutgoingStream> make_stream(SendConfig config, bool refuses_large, py::object kept,
                                            Make&& make) {
    const bool large = config.max_packet_size > kLargest;
    config.max_packet_size = std::min(config.max_packet_size, kLargest);
    std::unique_ptr<SendStream> stream;
    {
        const WithoutGil released;
        stream = make(config);
    }
    return std::make_unique<OutgoingStream>(std::move(stream), large && refuses_large ? kLargest : 0,
                                            std::move(kept));
}

std::unique_ptr<OutgoingStream> to_socket(const SendConfig& config, int fd,
                                          const std::vector<py::bytes>& destinations) {
    std::vector<std::vector<std::byte>> addresses;
    for (const py::bytes& d : destinations) {
        const Bytes bytes(d, "destination");
        addresses.emplace_back(bytes.span().begin(), bytes.span().end());
    }
    return make_stream(config, true, py::none(), [&](const SendConfig& c) {
        return std::make_unique<SendStream>(c, Writer::socket(fd, addresses));
    });
}

std::unique_ptr<OutgoingStream> to_queues(const SendConfig& config,
                                          const std::vector<std::shared_ptr<LocalQueue>>& queues) {
    std::vector<InprocQueue> all;
    for (const std::shared_ptr<LocalQueue>& queue : queues) {
        if (!queue)
            throw py::type_error("queues: None is no InprocQueue; give a queue for each substream");
        all.push_back(*queue);
    }
    return make_stream(config, false, py::none(), [&](const SendConfig& c) {
        return std::make_unique<SendStream>(c, Writer::queues(all));
    });
}

std::unique_ptr<OutgoingStream> to_memory(const SendConfig& config, const PacketBytes& bytes) {
    return make_stream(config, false, py::none(), [&](const SendConfig& c) {
        return std::make_unique<SendStream>(c, Writer::memory(bytes));
    });
}

std::unique_ptr<OutgoingStream> to_sockets(const SendConfig& config) {
    return make_stream(config, true, py::none(),
                       [](const SendConfig& c) { return std::make_unique<SendStream>(c); });
}

std::unique_ptr<OutgoingStream> to_port(const SendConfig& config, const Process& process, py::object kept) {
    return make_stream(config, true, std::move(kept),
                       [&](const SendConfig& c) { return std::make_unique<SendStream>(process, c); });
}

void define_config(py::module_& m) {
    py::class_<SendConfig>(m, "SendConfig", "Describes a sender, as SendConfig of C++.")
        .def(py::init<>())
        .def_readwrite("endpoints", &SendConfig::endpoints)
        .def_readwrite("interface", &SendConfig::interface)
        .def_readwrite("name", &SendConfig::name)
        .def_readwrite("lcore", &SendConfig::lcore)
        .def_readwrite("rate", &SendConfig::rate)
        .def_readwrite("burst_size", &SendConfig::burst_size)
        .def_readwrite("burst_rate_ratio", &SendConfig::burst_rate_ratio)
        .def_readwrite("ttl", &SendConfig::ttl)
        .def_readwrite("dscp", &SendConfig::dscp)
        .def_readwrite("dst_mac", &SendConfig::dst_mac)
        .def_readwrite("udp_checksum", &SendConfig::udp_checksum)
        .def_readwrite("max_packet_size", &SendConfig::max_packet_size)
        .def_readwrite("max_heaps", &SendConfig::max_heaps)
        .def_property(
            "timeout", [](const SendConfig& c) { return std::chrono::duration<double>(c.timeout).count(); },
            [](SendConfig& c, double seconds) {
                if (!(seconds >= 0 && seconds < 1e9))
                    throw py::value_error("timeout: give seconds, 0 for no limit");
                c.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
            })
        .def_readwrite("first_cnt", &SendConfig::first_cnt)
        .def_readwrite("cnt_step", &SendConfig::cnt_step);
}

py::list packets_of(OutgoingItems& items, std::uint64_t cnt, std::size_t max_packet_size) {
    SendHeap heap = items.borrow();
    py::list all;
    for (const std::vector<std::byte>& packet :
         heap.packets(cnt, std::min<std::size_t>(max_packet_size, kLargest)))
        all.append(py::bytes(reinterpret_cast<const char*>(packet.data()), packet.size()));
    items.give_back(std::move(heap), items.version());
    return all;
}

void define_heap(py::module_& m) {
    py::class_<OutgoingItems, std::shared_ptr<OutgoingItems>>(
        m, "OutgoingItems",
        "Holds the items of a heap to send, and pins their memory while it lives or is being sent.")
        .def(py::init([](unsigned bits) { return std::make_shared<OutgoingItems>(bits); }),
             py::arg("address_bits"))
        .def("_add", &OutgoingItems::add, py::arg("id"), py::arg("value"), py::arg("small"))
        .def("_add_immediate", &OutgoingItems::add_immediate, py::arg("id"), py::arg("value"))
        .def("_add_descriptor", &OutgoingItems::add_descriptor, py::arg("encoded"))
        .def("add_start", &OutgoingItems::add_start, "Adds the control item that starts a stream.")
        .def("add_end", &OutgoingItems::add_stop, "Adds the control item that ends a stream.")
        .def_property("repeat_pointers", &OutgoingItems::repeats_pointers, &OutgoingItems::repeat_pointers,
                      "Whether every packet has all item pointers.")
        .def("__len__", &OutgoingItems::size)
        .def("__bool__", [](const OutgoingItems&) { return true; })
        .def("_packets", &packets_of, py::arg("cnt"), py::arg("max_packet_size"));
    py::class_<OutgoingReference>(m, "HeapReference", "Names a heap of a group, and how it is sent.")
        .def(py::init([](const py::object& heap, std::int64_t cnt, std::size_t substream_index, double rate) {
                 if (!py::isinstance<OutgoingItems>(heap))
                     throw py::type_error("a heap reference needs a Heap of dpdk_spead.send");
                 return OutgoingReference{heap, cnt, substream_index, rate};
             }),
             py::arg("heap"), py::kw_only(), py::arg("cnt") = -1, py::arg("substream_index") = 0,
             py::arg("rate") = -1.0)
        .def_readonly("heap", &OutgoingReference::heap, "The heap.")
        .def_readwrite("cnt", &OutgoingReference::cnt, "The heap count; -1: the next of the sequence.")
        .def_readwrite("substream_index", &OutgoingReference::substream, "The substream.")
        .def_readwrite("rate", &OutgoingReference::rate,
                       "UDP payload bytes per second of this heap; 0: unlimited, -1: the stream's.");
}

OutgoingReference reference(const py::object& heap, std::int64_t cnt, std::size_t substream, double rate) {
    if (!py::isinstance<OutgoingItems>(heap))
        throw py::type_error("the first argument is no Heap of dpdk_spead.send");
    return {heap, cnt, substream, rate};
}

void define_stream(py::module_& m) {
    py::class_<OutgoingStream>(m, "OutgoingStream", "Sends heaps.")
        .def_static("to_socket", &to_socket, py::arg("config"), py::arg("fd"), py::arg("destinations"))
        .def_static("to_sockets", &to_sockets, py::arg("config"))
        .def_static("to_queues", &to_queues, py::arg("config"), py::arg("queues"))
        .def_static("to_memory", &to_memory, py::arg("config"), py::arg("bytes"))
        .def_static("to_port", &to_port, py::arg("config"), py::arg("process"), py::arg("kept"))
        .def("send", &OutgoingStream::send, py::arg("heaps"), py::arg("round_robin"))
        .def(
            "send_one",
            [](OutgoingStream& stream, const py::object& heap, std::int64_t cnt, std::size_t substream,
               double rate) { return stream.send({reference(heap, cnt, substream, rate)}, false); },
            py::arg("heap"), py::arg("cnt"), py::arg("substream_index"), py::arg("rate"))
        .def(
            "submit",
            [](OutgoingStream& stream, const std::vector<OutgoingReference>& heaps, bool round_robin,
               const py::object& tag) { stream.submit(heaps, round_robin, tag); },
            py::arg("heaps"), py::arg("round_robin"), py::arg("tag"))
        .def(
            "submit_one",
            [](OutgoingStream& stream, const py::object& heap, std::int64_t cnt, std::size_t substream,
               double rate,
               const py::object& tag) { stream.submit({reference(heap, cnt, substream, rate)}, false, tag); },
            py::arg("heap"), py::arg("cnt"), py::arg("substream_index"), py::arg("rate"), py::arg("tag"))
        .def("take", &OutgoingStream::take)
        .def("flush", &OutgoingStream::flush)
        .def_property_readonly("fd", &OutgoingStream::fd)
        .def_property_readonly("in_flight", &OutgoingStream::in_flight)
        .def_property_readonly("substreams", &OutgoingStream::substreams)
        .def("set_cnt_sequence", &OutgoingStream::set_cnt_sequence, py::arg("next"), py::arg("step"))
        .def("set_rate", &OutgoingStream::set_rate, py::arg("rate"))
        .def("set_ttl", &OutgoingStream::set_ttl, py::arg("ttl"))
        .def("end", &OutgoingStream::end)
        .def("stop", &OutgoingStream::stop)
        .def("stats", &OutgoingStream::stats)
        .def("close", &OutgoingStream::close);
    py::class_<PacketBytes>(m, "PacketBytes", "Collects packets in memory.")
        .def(py::init<>())
        .def("getvalue",
             [](const PacketBytes& packets) {
                 const std::vector<std::byte> bytes = packets.bytes();
                 return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
             })
        .def("__bool__", [](const PacketBytes&) { return true; })
        .def("__len__", &PacketBytes::size);
    m.def("close_senders", &OutgoingStream::close_all, "Ends all senders, at the exit of the interpreter.");
}

}  // namespace

void define_send(py::module_& m) {
    define_config(m);
    define_heap(m);
    define_stream(m);
}

}  // namespace spead::python
