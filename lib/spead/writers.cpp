// SPDX-License-Identifier: BSD-3-Clause
#include "spead/writers.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <netinet/in.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "recv/datagram_queue.hpp"
#include "send/socket_writer.hpp"
#include "spead/local_sender.hpp"
#include "spead/plan_edits.hpp"
#include "spead/reader_source.hpp"
#include "spead/writer_target.hpp"

/// Implements the destinations of streams without EAL.
namespace spead {

struct PacketBytes::State {
    mutable std::mutex mutex;
    std::vector<std::byte> bytes;  ///< guarded
};

namespace {

using send::Datagram;
using Written = send::PacketWriter::Written;

/// Appends packets to bytes in memory, which grow.
class BytesWriter final : public send::PacketWriter {
  public:
    explicit BytesWriter(std::shared_ptr<PacketBytes::State> state) : state_(std::move(state)) {}

    Written write(std::span<const Datagram> burst) noexcept override {
        Written written;
        const std::lock_guard lock(state_->mutex);
        std::vector<std::byte>& to = state_->bytes;
        for (const Datagram& d : burst) {
            const std::size_t at = to.size();
            try {
                to.resize(at + d.bytes);
            } catch (const std::exception&) {
                written.error = ENOMEM;
                break;
            }
            std::byte* out = to.data() + at;
            for (const iovec& part : std::span(d.parts, d.part_count)) {
                std::memcpy(out, part.iov_base, part.iov_len);
                out += part.iov_len;
            }
            written.packets++;
        }
        return written;
    }
    void wait(int, std::chrono::nanoseconds) noexcept override {}
    std::chrono::nanoseconds patience() const noexcept override { return {}; }

  private:
    std::shared_ptr<PacketBytes::State> state_;
};

/// Copies packets into queues of this process.
class QueueWriter final : public send::PacketWriter {
  public:
    explicit QueueWriter(std::vector<std::shared_ptr<recv::DatagramQueue>> queues)
        : queues_(std::move(queues)) {}

    Written write(std::span<const Datagram> burst) noexcept override {
        Written written;
        for (const Datagram& d : burst) {
            try {
                written.error = push(d, written.no_room);
            } catch (const std::exception&) {
                written.error = ENOMEM;
            }
            if (written.error != 0 || written.no_room)
                break;
            written.packets++;
        }
        return written;
    }
    void wait(int waker, std::chrono::nanoseconds patience) noexcept override {
        // The queue tells nobody when it has room.
        send::wait_for_waker(waker, std::min<std::chrono::nanoseconds>(patience, kPause));
    }
    std::chrono::nanoseconds patience() const noexcept override { return std::chrono::nanoseconds::max(); }

  private:
    static constexpr std::chrono::microseconds kPause{200};

    int push(const Datagram& d, bool& no_room) {
        bytes_.clear();
        for (const iovec& part : std::span(d.parts, d.part_count)) {
            const auto* const from = static_cast<const std::uint8_t*>(part.iov_base);
            bytes_.insert(bytes_.end(), from, from + part.iov_len);
        }
        switch (queues_[d.substream]->push(bytes_, {})) {
            case recv::DatagramQueue::Pushed::yes:
                return 0;
            case recv::DatagramQueue::Pushed::full:
                no_room = true;
                return 0;
            case recv::DatagramQueue::Pushed::stopped:
                break;
        }
        return EPIPE;
    }

    std::vector<std::shared_ptr<recv::DatagramQueue>> queues_;
    std::vector<std::uint8_t> bytes_;
};

std::vector<SocketAddress> addresses_of(const std::vector<std::vector<std::byte>>& destinations) {
    std::vector<SocketAddress> all;
    for (const std::vector<std::byte>& d : destinations) {
        if (d.size() < sizeof(sockaddr_in) || d.size() > sizeof(sockaddr_storage))
            throw_usage("writer", "a destination has {} bytes; give a sockaddr_in or a sockaddr_in6",
                        d.size());
        SocketAddress& address = all.emplace_back();
        std::memcpy(&address.storage, d.data(), d.size());
        address.length = static_cast<socklen_t>(d.size());
    }
    if (all.empty())
        throw_usage("writer", "it has no destination; give one for each substream");
    return all;
}

/// Returns whether packets to the address are of IPv6.
bool is_to_ipv6(const SocketAddress& address) {
    if (address.family() != AF_INET6)
        return false;
    sockaddr_in6 six{};
    std::memcpy(&six, &address.storage, sizeof six);
    return !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr);
}

}  // namespace

PacketBytes::PacketBytes() : state_(std::make_shared<State>()) {}

std::vector<std::byte> PacketBytes::bytes() const {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes;
}

std::vector<std::byte> PacketBytes::take() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->bytes, {});
}

std::size_t PacketBytes::size() const noexcept {
    const std::lock_guard lock(state_->mutex);
    return state_->bytes.size();
}

Writer Writer::sockets() {
    return Writer(std::make_shared<Target>(
        Target{[](const runtime::SendPlan& plan,
                  const std::string& interface) -> std::unique_ptr<send::PacketWriter> {
                   send::SocketWriter::Options options;
                   options.interface = interface;
                   options.ttl = plan.ttl;
                   options.dscp = plan.dscp;
                   options.where = door::where_of("send", plan.name);
                   return std::make_unique<send::SocketWriter>(plan.endpoints, options);
               },
               0}));
}

Writer Writer::socket(int fd, std::vector<std::vector<std::byte>> destinations) {
    FileDescriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own)
        throw_error("writer", "cannot duplicate descriptor {}: {}", fd, std::strerror(errno));
    const std::vector<SocketAddress> addresses = addresses_of(destinations);
    const bool to_ipv6 = std::any_of(addresses.begin(), addresses.end(), is_to_ipv6);
    const auto shared = std::make_shared<const FileDescriptor>(std::move(own));
    return Writer(std::make_shared<Target>(Target{
        [shared, to = addresses](const runtime::SendPlan& plan,
                                 const std::string&) -> std::unique_ptr<send::PacketWriter> {
            const std::string where = door::where_of("send", plan.name);
            FileDescriptor of_stream(::fcntl(shared->get(), F_DUPFD_CLOEXEC, 0));
            if (!of_stream)
                throw_error(where, "cannot duplicate the socket's descriptor: {}", std::strerror(errno));
            return std::make_unique<send::SocketWriter>(std::move(of_stream), to, where);
        },
        addresses.size(), to_ipv6}));
}

Writer Writer::queues(std::vector<InprocQueue> queues) {
    if (queues.empty())
        throw_usage("writer", "it has no queue; give one for each substream");
    std::vector<std::shared_ptr<recv::DatagramQueue>> datagrams;
    for (const InprocQueue& queue : queues)
        datagrams.emplace_back(queue.state_, &queue.state_->queue);
    const std::size_t substreams = datagrams.size();
    return Writer(std::make_shared<Target>(Target{
        [datagrams](const runtime::SendPlan&, const std::string&) -> std::unique_ptr<send::PacketWriter> {
            return std::make_unique<QueueWriter>(datagrams);
        },
        substreams}));
}

Writer Writer::memory(const PacketBytes& bytes) {
    return Writer(std::make_shared<Target>(
        Target{[state = bytes.state_](const runtime::SendPlan&, const std::string&)
                   -> std::unique_ptr<send::PacketWriter> { return std::make_unique<BytesWriter>(state); },
               1}));
}

namespace door {

std::unique_ptr<LocalSender> make_local_sender(runtime::SendPlan& plan, const SendConfig& config,
                                               const Writer& writer) {
    static std::atomic<unsigned> made{0};
    if (plan.name.empty())
        plan.name = fmt::format("local{}", made++);
    const std::string where = where_of("send", plan.name);
    if (plan.dst_mac)
        throw_usage(where, "`dst_mac` is for a port, and the stream has none; leave it out");
    {
        runtime::Plan all = first_plan({}, std::nullopt);
        all.sends.push_back(plan);
        all.sends.back().lcore.reset();
        all.sends.back().port = port_for(all, "net_ring0");
        check(all);
    }
    const Writer::Target& target = writer.target();
    send::DatagramSender::Config of;
    of.where = where;
    of.substreams = target.substreams == 0 ? plan.endpoints.size() : target.substreams;
    of.max_packet_size = packet_size(plan);
    of.max_heaps = plan.max_heaps;
    of.pacing = {plan.rate, plan.burst_size, plan.burst_rate_ratio};
    of.timeout = static_cast<std::uint64_t>(std::max<std::int64_t>(config.timeout.count(), 0));
    of.first_cnt = plan.first_count;
    of.cnt_step = plan.count_step;
    return std::make_unique<LocalSender>(std::move(of), target.open(plan, config.interface));
}

}  // namespace door
}  // namespace spead
