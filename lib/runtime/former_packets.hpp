// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace spead::runtime {

/// Counts the packets of lanes that an lcore no longer has. Main thread only.
class FormerPackets {
  public:
    /// Adds packets of a former lane of the stream with this number.
    void add(std::uint32_t stream, std::uint64_t packets) { by_stream_[stream] += packets; }
    /// Returns the packets of the stream's former lanes; nothing: the lcore has had none.
    std::optional<std::uint64_t> of(std::uint32_t stream) const {
        const auto found = by_stream_.find(stream);
        return found == by_stream_.end() ? std::nullopt : std::optional(found->second);
    }

    /// Moves the packets of a stream that is gone to those of former streams.
    void stream_is_gone(std::uint32_t stream) {
        if (const auto found = by_stream_.find(stream); found != by_stream_.end()) {
            of_former_streams_ += found->second;
            by_stream_.erase(found);
        }
    }
    std::uint64_t of_former_streams() const noexcept { return of_former_streams_; }

  private:
    std::map<std::uint32_t, std::uint64_t> by_stream_;
    std::uint64_t of_former_streams_ = 0;
};

}  // namespace spead::runtime
