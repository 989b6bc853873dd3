// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <rte_mbuf.h>

#include "recv/mbufs.hpp"

namespace spead::recv {

/// Shows the first bytes of a received frame as contiguous ones, wherever the port cut it. A frame in one
/// segment is read in place; a chain is gathered in `scratch`, as far as fetch() was asked for. On the lcore
/// only.
class HeaderCursor {
  public:
    /// Refers to both, which outlive it. `scratch` has room for the most bytes that fetch() is asked for.
    HeaderCursor(const rte_mbuf& mbuf, std::uint8_t* scratch) noexcept
        : mbuf_(mbuf),
          scratch_(scratch),
          in_place_(mbuf.nb_segs == 1),
          data_(in_place_ ? rte_pktmbuf_mtod(&mbuf, const std::uint8_t*) : scratch),
          length_(in_place_ ? mbuf.data_len : 0) {}

    /// Makes the first `bytes` of the frame contiguous; the frame has as many. data() stays where it is.
    void fetch(std::size_t bytes) noexcept {
        if (length_ < bytes) [[unlikely]] {
            gather(&mbuf_, scratch_, bytes);
            length_ = bytes;
        }
    }

    const std::uint8_t* data() const noexcept { return data_; }
    /// Returns how many bytes are contiguous at data().
    std::size_t length() const noexcept { return length_; }
    /// Returns whether data() is the frame itself, all of it.
    bool in_place() const noexcept { return in_place_; }
    /// Returns how many bytes lie in `scratch`.
    std::size_t gathered() const noexcept { return in_place_ ? 0 : length_; }

  private:
    const rte_mbuf& mbuf_;
    std::uint8_t* const scratch_;
    const bool in_place_;
    const std::uint8_t* const data_;
    std::size_t length_;
};

}  // namespace spead::recv
