// SPDX-License-Identifier: BSD-3-Clause
#include "spead/readers.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "recv/buffer_reader.hpp"
#include "recv/kernel_reader.hpp"
#include "recv/pcap_file_reader.hpp"
#include "runtime/filters.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"
#include "spead/reader_source.hpp"
#include "spead/recv_plan.hpp"
#include "wire/net.hpp"

/// Implements the sources of streams without EAL.
namespace spead {

static_assert(InprocQueue::kLongest == wire::kMaxUdpPayload);

namespace {

std::span<const std::uint8_t> bytes_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

/// Returns the way of datagrams that no network has carried: from this machine to the stream.
recv::PacketWay way_to(const runtime::ReceivePlan& plan) {
    const Endpoint& to = plan.endpoints.front();
    return {to.has_source() ? to.source : IpAddress(Ipv4{0x7F000001}), to.address, 0, to.port};
}

}  // namespace

InprocQueue::InprocQueue(std::size_t most, std::size_t most_bytes) {
    if (most == 0 || most_bytes == 0)
        throw_usage("queue", "it has room for 0 datagrams; give room for at least one");
    state_ = std::make_shared<State>(most, most_bytes);
}

bool InprocQueue::push(std::span<const std::byte> datagram) {
    return push_for(datagram, std::chrono::nanoseconds::max());
}

bool InprocQueue::push_for(std::span<const std::byte> datagram, std::chrono::nanoseconds patience) {
    if (datagram.size() > kLongest)
        throw_usage("queue", "a datagram of {} bytes is too long; UDP carries {}", datagram.size(), kLongest);
    return state_->queue.push(bytes_of(datagram), patience) == recv::DatagramQueue::Pushed::yes;
}

void InprocQueue::stop() noexcept {
    state_->queue.stop();
}

bool InprocQueue::stopped() const noexcept {
    return state_->queue.stopped();
}

std::size_t InprocQueue::size() const noexcept {
    return state_->queue.size();
}

Reader Reader::sockets() {
    return Reader(std::make_shared<Source>(
        Source{[](const runtime::ReceivePlan& plan,
                  const std::string& interface) -> std::unique_ptr<recv::PacketReader> {
                   recv::KernelSocket::Options options;
                   options.interface = interface;
                   options.buffer_size = plan.buffer_size;
                   options.where = door::where_of("receive", plan.name);
                   return std::make_unique<recv::KernelReader>(plan.endpoints, options, plan.max_packet_size);
               },
               true}));
}

Reader Reader::buffer(std::span<const std::byte> packets) {
    return Reader(std::make_shared<Source>(
        Source{[packets](const runtime::ReceivePlan& plan,
                         const std::string&) -> std::unique_ptr<recv::PacketReader> {
                   if (!plan.format.empty())
                       throw_usage(door::where_of("receive", plan.name),
                                   "its packets stand one after the other in memory, and those of a `format` "
                                   "do not tell where the next one begins; give them by a queue or a file");
                   return std::make_unique<recv::BufferReader>(bytes_of(packets), way_to(plan));
               },
               false}));
}

Reader Reader::queue(const InprocQueue& queue) {
    const std::shared_ptr<recv::DatagramQueue> datagrams(queue.state_, &queue.state_->queue);
    return Reader(std::make_shared<Source>(
        Source{[datagrams](const runtime::ReceivePlan& plan,
                           const std::string&) -> std::unique_ptr<recv::PacketReader> {
                   return std::make_unique<recv::QueueReader>(datagrams, way_to(plan));
               },
               false}));
}

Reader Reader::socket(int fd, std::uint32_t max_packet_size) {
    const auto duplicate = [](int from) {
        FileDescriptor own(::fcntl(from, F_DUPFD_CLOEXEC, 0));
        if (!own)
            throw_error("socket", "descriptor {} cannot be duplicated: {}", from, std::strerror(errno));
        return own;
    };
    return Reader(std::make_shared<Source>(Source{
        [own = std::make_shared<const FileDescriptor>(duplicate(fd)), duplicate, max_packet_size](
            const runtime::ReceivePlan& plan, const std::string&) -> std::unique_ptr<recv::PacketReader> {
            const std::string where = door::where_of("receive", plan.name);
            if (plan.endpoints.front().has_source())
                throw_usage(where,
                            "its endpoint names a sender, and a socket of yours receives what it "
                            "receives; leave the endpoints out");
            recv::KernelSocket::Options options;
            options.where = where;
            return std::make_unique<recv::KernelReader>(
                duplicate(own->get()), plan.endpoints.front(), options,
                max_packet_size != 0 ? std::min(max_packet_size, plan.max_packet_size)
                                     : plan.max_packet_size);
        },
        false}));
}

Reader Reader::none() {
    return Reader(std::make_shared<Source>(
        Source{[](const runtime::ReceivePlan&, const std::string&) -> std::unique_ptr<recv::PacketReader> {
                   return nullptr;
               },
               false}));
}

Reader Reader::pcap(std::string path) {
    return Reader(std::make_shared<Source>(
        Source{[path = std::move(path)](const runtime::ReceivePlan& plan,
                                        const std::string&) -> std::unique_ptr<recv::PacketReader> {
                   return std::make_unique<recv::PcapFileReader>(path, door::where_of("receive", plan.name));
               },
               true}));
}

Reader Reader::pcap_packets(std::string path, const PcapMatch& match) {
    const auto address = [](const std::string& text) {
        return text.empty() ? IpAddress{} : parse_ip(text, "pcap");
    };
    const recv::WayMatch way{address(match.host), address(match.source), address(match.destination),
                             match.port,          match.source_port,     match.destination_port};
    return Reader(std::make_shared<Source>(
        Source{[path = std::move(path), way](const runtime::ReceivePlan& plan,
                                             const std::string&) -> std::unique_ptr<recv::PacketReader> {
                   return std::make_unique<recv::PcapFileReader>(path, door::where_of("receive", plan.name),
                                                                 plan.endpoints.front(), way);
               },
               false}));
}

namespace door {

RecvConfig complete_local(RecvConfig config, const Reader& reader) {
    static std::atomic<unsigned> made{0};
    if (config.held_buffers != 0)
        throw_usage(where_of("receive", config.name),
                    "`held_buffers` is {}, and the stream has no port whose buffers a filter could hold; "
                    "leave it out, or receive from a port",
                    config.held_buffers);
    if (config.second_path)
        throw_usage(
            where_of("receive", config.name),
            "`second_path` is set, and the stream has no port; leave it out, or receive from two ports");
    if (config.name.empty())
        config.name = fmt::format("local{}", made++);
    if (config.endpoints.empty() && !reader.source().needs_endpoints)
        config.endpoints = {"127.0.0.1:7148"};
    return config;
}

LocalReceiver::MakeReader maker_of(const Reader& reader, const std::string& interface) {
    return
        [reader, interface](const runtime::ReceivePlan& now) { return reader.source().open(now, interface); };
}

LocalReceiver::MakeReader one_more(const Reader& reader, const std::string& where, bool has_destinations) {
    if (reader.source().needs_endpoints && !has_destinations)
        throw_usage(where,
                    "this reader receives endpoints, and the stream has none; make another stream for it");
    if (!reader.source().needs_endpoints && has_destinations)
        throw_usage(where,
                    "its readers receive its endpoints, and this one has none; make another stream for it");
    return maker_of(reader, {});
}

LocalReceiver::Parts local_parts(const runtime::ReceivePlan& plan, const RecvConfig& config,
                                 const Reader& reader) {
    LocalReceiver::Parts parts;
    parts.resident = config.prefault ? recv::DatagramLane::kAll : config.prefault_bytes;
    parts.make_reader = maker_of(reader, config.interface);
    parts.once = config.once;
    parts.make_filter = [plan, make = config.packet_filter] {
        return make ? make_user_filter(plan.name, make) : runtime::make_filter(plan);
    };
    return parts;
}

const RecvConfig& need_kernel_backend(const RecvConfig& config) {
    if (config.backend != Backend::kernel)
        throw_usage(where_of("receive", config.name),
                    "a port needs a Process; give one, or set `backend` to Backend::kernel");
    return config;
}

}  // namespace door
}  // namespace spead
