// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "wire/net.hpp"

namespace spead::recv {

/// Names the lane and endpoint of one endpoint's datagrams.
struct Target {
    std::uint16_t lane = 0;      ///< index of the stream's lane on this lcore
    std::uint16_t endpoint = 0;  ///< index of the endpoint within the lane
    bool by_source = false;      ///< the result depends on the packet's source; set by the classifier
};

/// Holds a table (destination address and port, source) -> target of one family of addresses. `Key` is one of
/// the structs below.
template <class Key>
class ClassifierTable {
  public:
    using Source = typename Key::Source;

    explicit ClassifierTable(std::size_t endpoints);

    bool add(const Key& key, const Source& source, Target target);

    const Target* find(const Key& key, const Source& source) const noexcept {
        const Target* any = nullptr;
        for (std::size_t i = home(key);; i = (i + 1) & mask_) {
            const Entry& e = entries_[i];
            if (e.key == key) [[likely]] {
                if (e.source == Key::kAny)
                    any = &e.target;
                else if (e.source == source)
                    return &e.target;
                if (e.last_of_key)
                    return any;
            } else if (e.key.is_empty()) {
                return any;
            }
        }
    }

    std::size_t size() const noexcept { return size_; }

  private:
    struct Entry {
        Key key{};
        Source source = Key::kAny;
        Target target;
        bool last_of_key = true;  ///< no further entry has the same address and port
    };

    std::size_t home(const Key& key) const noexcept { return static_cast<std::size_t>(key.mix() >> shift_); }
    void insert(const Key& key, const Source& source, Target target);

    std::vector<Entry> entries_;
    std::size_t mask_ = 0;
    unsigned shift_ = 0;
    std::size_t size_ = 0;
};

struct ClassifierKey4 {
    using Source = std::uint32_t;
    static constexpr Source kAny = 0;

    ClassifierKey4() = default;
    /// Makes a key that is never empty, whatever a packet says: 0.0.0.0 with port 0 is no empty entry.
    ClassifierKey4(std::uint32_t address, std::uint16_t port) noexcept
        : value(std::uint64_t{1} << 48 | std::uint64_t{address} << 16 | port) {}
    bool is_empty() const noexcept { return value == 0; }
    std::uint64_t mix() const noexcept { return value * 0x9E3779B97F4A7C15; }
    bool operator==(const ClassifierKey4&) const = default;

    std::uint64_t value = 0;
};

struct ClassifierKey6 {
    using Source = Ipv6;
    static constexpr Source kAny{0, 0};

    ClassifierKey6() = default;
    ClassifierKey6(const Ipv6& to, std::uint16_t to_port) noexcept
        : address(to), port(std::uint32_t{1} << 16 | to_port) {}
    bool is_empty() const noexcept { return port == 0; }
    std::uint64_t mix() const noexcept {
        return (address.high * 0x9E3779B97F4A7C15 ^ address.low ^ std::uint64_t{port} << 16) *
               0x9E3779B97F4A7C15;
    }
    bool operator==(const ClassifierKey6&) const = default;

    Ipv6 address{};
    std::uint32_t port = 0;
};

/// Classifies the packets of one receive queue in software: (destination address, port, source) -> lane. It
/// runs behind every kind of steering. Control code builds it, then one lcore reads it; it is replaced as a
/// whole when streams change.
class Classifier {
  public:
    Classifier() : Classifier(16) {}

    /// Reserves room for at least `endpoints` endpoints.
    explicit Classifier(std::size_t endpoints) : v4_(endpoints), v6_(1) {}

    /// Adds an endpoint; returns false if the same one (address, port and source) is there already.
    bool add(const Endpoint& endpoint, Target target);

    /// Returns the target; null when no stream wants the packet. An endpoint that names the packet's source
    /// comes before one without a source.
    const Target* find(std::uint32_t address, std::uint16_t port, std::uint32_t source) const noexcept {
        return v4_.find({address, port}, source);
    }
    const Target* find(const wire::UdpView& udp) const noexcept {
        if (udp.ipv6) [[unlikely]]
            return v6_.find({udp.dst_ip6, udp.dst_port}, udp.src_ip6);
        return find(udp.dst_ip, udp.dst_port, udp.src_ip);
    }

    /// Returns whether packets from `source` to `destination` may have a target, whatever their port.
    bool has_way(const IpAddress& destination, const IpAddress& source) const noexcept;

    std::size_t size() const noexcept { return v4_.size() + v6_.size(); }
    /// Returns how many endpoints are of IPv6.
    std::size_t size6() const noexcept { return v6_.size(); }

  private:
    ClassifierTable<ClassifierKey4> v4_;
    ClassifierTable<ClassifierKey6> v6_;
    std::vector<std::pair<IpAddress, IpAddress>> ways_;  ///< destinations and sources of endpoints; sorted
};

}  // namespace spead::recv
