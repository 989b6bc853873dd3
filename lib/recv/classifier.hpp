// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/endpoint.hpp"

namespace spead::recv {

/// Names the lane and endpoint of one endpoint's datagrams.
struct Target {
    std::uint16_t lane = 0;      ///< index of the stream's lane on this lcore
    std::uint16_t endpoint = 0;  ///< index of the endpoint within the lane
    bool by_source = false;      ///< the result depends on the packet's source; set by the classifier
};

/// Classifies the packets of one receive queue in software: (destination address, port, source) -> lane. It
/// runs behind every kind of steering. Control code builds it, then one lcore reads it; it is replaced as a
/// whole when streams change.
class Classifier {
  public:
    Classifier() : Classifier(16) {}

    /// Reserves room for at least `endpoints` endpoints.
    explicit Classifier(std::size_t endpoints);

    /// Adds an endpoint; returns false if the same one (address, port and source) is there already.
    bool add(const Endpoint& endpoint, Target target);

    /// Returns the target; null when no stream wants the packet. An endpoint that names the packet's source
    /// comes before one without a source.
    const Target* find(std::uint32_t address, std::uint16_t port, std::uint32_t source) const noexcept {
        const std::uint64_t key = key_of(address, port);
        const Target* any = nullptr;
        for (std::size_t i = home(key);; i = (i + 1) & mask_) {
            const Entry& e = entries_[i];
            if (e.key == key) [[likely]] {
                if (e.source == 0)
                    any = &e.target;
                else if (e.source == source)
                    return &e.target;
                if (e.last_of_key)
                    return any;
            } else if (e.key == 0) {
                return any;
            }
        }
    }

    std::size_t size() const noexcept { return size_; }

  private:
    struct Entry {
        std::uint64_t key = 0;  ///< 0: empty
        std::uint32_t source = 0;
        Target target;
        bool last_of_key = true;  ///< no further entry has the same address and port
    };

    /// Returns a key that is never 0, whatever a packet says: 0.0.0.0 with port 0 is no empty entry.
    static std::uint64_t key_of(std::uint32_t address, std::uint16_t port) noexcept {
        return std::uint64_t{1} << 48 | std::uint64_t{address} << 16 | port;
    }
    std::size_t home(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> shift_);
    }
    void insert(const Endpoint& endpoint, Target target);

    std::vector<Entry> entries_;
    std::size_t mask_ = 0;
    unsigned shift_ = 0;
    std::size_t size_ = 0;
};

}  // namespace spead::recv
