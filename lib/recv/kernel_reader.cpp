// SPDX-License-Identifier: BSD-3-Clause
#include "recv/kernel_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/socket_address.hpp"
#include "wire/net.hpp"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace spead::recv {

namespace {

/// Limits the messages of one call, and the sockets that are looked at together.
constexpr std::size_t kMessages = 32;
constexpr std::size_t kEvents = 16;
/// Holds the longest message: the datagrams that the kernel gives at once have 65535 bytes at most.
constexpr std::size_t kLongestMessage = 65536;
constexpr std::uint64_t kWake = ~std::uint64_t{0};

void watch(int epoll, int fd, std::uint64_t number, const std::string& where) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = number;
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        throw_error(where, "a socket cannot be watched: {}; raise fs.epoll.max_user_watches",
                    std::strerror(errno));
}

/// Returns the length of each datagram in a message of `length` bytes; `length` if it is one datagram.
std::size_t segment_of(msghdr& header, std::size_t length) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && c->cmsg_len >= CMSG_LEN(sizeof(int))) {
            int size = 0;
            std::memcpy(&size, CMSG_DATA(c), sizeof size);
            return size > 0 ? std::min(static_cast<std::size_t>(size), length) : length;
        }
    return length;
}

/// Reads errors that a socket keeps for its user (IP_RECVERR), at most as many as datagrams. They wake each
/// wait until they have been read, and senders can cause any number of them.
void drop_errors(int fd) {
    for (std::size_t i = 0; i < kMessages && ::recv(fd, nullptr, 0, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0; i++) {
    }
}

/// Returns the endpoints by their address and port.
std::map<Endpoint, std::vector<Endpoint>> places_of(const std::vector<Endpoint>& endpoints) {
    std::map<Endpoint, std::vector<Endpoint>> places;
    for (const Endpoint& e : endpoints)
        places[{e.address, e.port, {}}].push_back(e);
    return places;
}

}  // namespace

/// Holds the memory of one recvmmsg.
struct KernelReader::Messages {
    explicit Messages(std::size_t room)
        : stride((wire::kNetHeader6 + room + 63) / 64 * 64), bytes(kMessages * stride) {
        for (std::size_t i = 0; i < kMessages; i++) {
            parts[i] = {payload(i), room};
            headers[i].msg_hdr = {};
            headers[i].msg_hdr.msg_name = &names[i];
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_control = controls[i].bytes;
        }
    }
    std::uint8_t* payload(std::size_t i) { return bytes.data() + i * stride + wire::kNetHeader6; }

    /// Makes the headers ready again, after the kernel has written into them.
    void renew() {
        for (mmsghdr& h : headers) {
            h.msg_hdr.msg_namelen = sizeof(Name);
            h.msg_hdr.msg_controllen = sizeof(Control);
        }
    }

    union Name {
        sockaddr_in v4;
        sockaddr_in6 v6;
    };
    struct alignas(cmsghdr) Control {
        std::uint8_t bytes[CMSG_SPACE(sizeof(int))];
    };

    std::size_t stride;
    std::vector<std::uint8_t> bytes;
    std::array<mmsghdr, kMessages> headers;
    std::array<iovec, kMessages> parts;
    std::array<Name, kMessages> names;
    std::array<Control, kMessages> controls;
};

KernelReader::KernelReader(const KernelSocket::Options& options, std::uint32_t max_packet_size)
    : options_(options),
      longest_(max_packet_size + std::size_t{1}),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!epoll_ || !wake_)
        throw_error(options_.where,
                    "cannot make an event descriptor: {}; raise the limit of descriptors (ulimit -n)",
                    std::strerror(errno));
}

KernelReader::KernelReader(const std::vector<Endpoint>& endpoints, const KernelSocket::Options& options,
                           std::uint32_t max_packet_size)
    : KernelReader(options, max_packet_size) {
    for (const auto& [place, its] : places_of(endpoints))
        open(its);
    prepare();
    if (buffer_size_ < options_.buffer_size)
        log_warning(LogType::recv,
                    "{}: the kernel grants receive buffers of {} bytes, and {} were wanted; raise "
                    "net.core.rmem_max",
                    options_.where, buffer_size_, options_.buffer_size);
}

KernelReader::KernelReader(FileDescriptor socket, const Endpoint& place, const KernelSocket::Options& options,
                           std::uint32_t max_packet_size)
    : KernelReader(options, max_packet_size) {
    is_users_ = true;
    add_socket(KernelSocket(std::move(socket), place, options));
    prepare();
    // Earlier drops of the socket belong to nobody here.
    sockets_.front()->dropped = sockets_.front()->socket.dropped().value_or(0);
}

/// Prepares for the sockets that are open.
void KernelReader::prepare() {
    bool gro = false;
    buffer_size_ = SIZE_MAX;
    for (const auto& one : sockets_) {
        gro |= one->socket.gro();
        buffer_size_ = std::min(buffer_size_, one->socket.buffer_size());
    }
    watch(epoll_.get(), wake_.get(), kWake, options_.where);
    messages_ = std::make_unique<Messages>(gro ? kLongestMessage : longest_);
    datagrams_.reserve(kEvents * kMessages);
}

KernelReader::~KernelReader() = default;

/// Opens a socket for endpoints of one address and port. Returns its number.
std::size_t KernelReader::open(const std::vector<Endpoint>& endpoints) {
    return add_socket(KernelSocket(endpoints, options_));
}

std::size_t KernelReader::add_socket(KernelSocket socket) {
    auto fresh = std::make_unique<Open>(Open{std::move(socket)});
    const std::lock_guard lock(mutex_);
    const auto free = std::find(sockets_.begin(), sockets_.end(), nullptr);
    const auto number = static_cast<std::size_t>(free - sockets_.begin());
    if (free == sockets_.end())
        sockets_.emplace_back();
    watch(epoll_.get(), fresh->socket.fd(), number, options_.where);
    sockets_[number] = std::move(fresh);
    return number;
}

/// Closes a socket, and leaves its group. A child of fork(2) may keep the socket, and would let the kernel
/// watch it further.
void KernelReader::close(std::size_t number) noexcept {
    const std::lock_guard lock(mutex_);
    note_dropped(*sockets_[number]);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, sockets_[number]->socket.fd(), nullptr);
    sockets_[number].reset();
}

/// Lets a socket receive what it did before. What cannot be joined again is logged: it must not hide the
/// failure that this is for.
void KernelReader::change_back(KernelSocket& socket, const std::vector<Endpoint>& before) const noexcept {
    try {
        socket.change(before, options_);
    } catch (const std::exception& error) {
        log_error(LogType::recv, "{}: it stays without some of its groups: {}", options_.where,
                  reason_of(error));
    }
}

void KernelReader::receive(const std::vector<Endpoint>& endpoints) {
    if (is_users_)
        return;
    std::map<Endpoint, std::vector<Endpoint>> fresh = places_of(endpoints);
    std::vector<std::size_t> opened;
    std::vector<std::size_t> kept;
    std::vector<std::size_t> gone;
    for (std::size_t i = 0; i < sockets_.size(); i++)
        if (sockets_[i])
            (fresh.contains(sockets_[i]->socket.place()) ? kept : gone).push_back(i);
    std::vector<std::pair<std::size_t, std::vector<Endpoint>>> changed;
    try {
        for (const std::size_t i : kept) {
            KernelSocket& socket = sockets_[i]->socket;
            const auto its = fresh.extract(socket.place());
            changed.emplace_back(i, socket.endpoints());
            socket.change(its.mapped(), options_);
        }
        for (const auto& [place, its] : fresh)
            opened.push_back(open(its));
    } catch (...) {
        for (const std::size_t i : opened)
            close(i);
        for (const auto& [i, before] : changed)
            change_back(sockets_[i]->socket, before);
        throw;
    }
    for (const std::size_t i : gone)
        close(i);
}

void KernelReader::wake() noexcept {
    ::eventfd_write(wake_.get(), 1);
}

void KernelReader::wait(std::chrono::milliseconds patience) {
    epoll_event event{};
    ::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(patience.count()));
}

PacketReader::Fed KernelReader::feed(DatagramLane& lane, std::uint64_t now) {
    if (first_ == datagrams_.size()) {
        std::array<epoll_event, kEvents> events;
        const int ready = ::epoll_wait(epoll_.get(), events.data(), kEvents, 0);
        bool any = false;
        for (int i = 0; i < ready; i++) {
            const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
            if (number == kWake || !sockets_[static_cast<std::size_t>(number)])
                continue;
            const KernelSocket& socket = sockets_[static_cast<std::size_t>(number)]->socket;
            const std::uint32_t state = events[static_cast<std::size_t>(i)].events;
            fetch(socket);
            any |= !datagrams_.empty();
            if ((state & EPOLLERR) != 0)
                drop_errors(socket.fd());
            // It would wake each wait at once, and can never receive.
            if (datagrams_.empty() && (state & (EPOLLHUP | EPOLLRDHUP)) != 0)
                ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.fd(), nullptr);
            // The messages are read before the next socket's overwrite them.
            first_ = lane.take(datagrams_, now);
            if (first_ != datagrams_.size())
                return first_ == 0 ? Fed::blocked : Fed::packets;
        }
        return any ? Fed::packets : Fed::nothing;
    }
    const std::size_t taken = lane.take(std::span(datagrams_).subspan(first_), now);
    first_ += taken;
    return taken == 0 ? Fed::blocked : Fed::packets;
}

/// Receives datagrams of a socket into `datagrams_`, all of which have been fed.
void KernelReader::fetch(const KernelSocket& socket) {
    datagrams_.clear();
    first_ = 0;
    messages_->renew();
    const int n = ::recvmmsg(socket.fd(), messages_->headers.data(), kMessages, MSG_DONTWAIT, nullptr);
    // An error belongs to an earlier datagram, as an ICMP message about it. It is gone when it has been read.
    for (int i = 0; i < n; i++)
        add(socket, static_cast<std::size_t>(i));
}

void KernelReader::add(const KernelSocket& socket, std::size_t message) {
    mmsghdr& m = messages_->headers[message];
    PacketWay way;
    way.destination = socket.place().address;
    way.destination_port = socket.place().port;
    const Messages::Name& from = messages_->names[message];
    if (m.msg_hdr.msg_namelen >= sizeof from.v6 && from.v6.sin6_family == AF_INET6) {
        way.source = address_of(reinterpret_cast<const sockaddr*>(&from));
        way.source_port = byte_swap(from.v6.sin6_port);
    } else if (m.msg_hdr.msg_namelen >= sizeof from.v4) {
        way.source = address_of(reinterpret_cast<const sockaddr*>(&from));
        way.source_port = byte_swap(from.v4.sin_port);
    }
    const std::size_t length = m.msg_len;
    const std::size_t segment = segment_of(m.msg_hdr, length);
    const std::span<const std::uint8_t> all(messages_->payload(message), length);
    // The header of a later datagram would overwrite the end of the one before.
    datagrams_.push_back({way, all.first(std::min(segment, longest_)), true});
    for (std::size_t at = segment; at < length; at += segment)
        datagrams_.push_back({way, all.subspan(at, std::min({segment, length - at, longest_})), false});
}

void KernelReader::give_up() noexcept {
    const std::lock_guard lock(mutex_);
    lost_ += datagrams_.size() - first_;
    first_ = datagrams_.size();
}

std::uint64_t KernelReader::lost() const noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& open : sockets_)
        if (open)
            note_dropped(*open);
    return lost_;
}

/// Adds what a socket has dropped since it was last asked. Guarded.
void KernelReader::note_dropped(const Open& open) const noexcept {
    const auto now = open.socket.dropped();
    if (!now)
        return;
    lost_ += static_cast<std::uint32_t>(*now - open.dropped);
    open.dropped = *now;
}

}  // namespace spead::recv
