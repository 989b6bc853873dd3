// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "recv/distributor.hpp"
#include "recv/rx_agent.hpp"

namespace spead::runtime {

struct Worker;

/// One receive queue of a port in use.
struct Queue {
    std::size_t port = 0;
    std::uint16_t queue = 0;
    Worker* worker = nullptr;                        ///< whose lcore polls it
    std::unique_ptr<recv::Distributor> distributor;  ///< null where one lcore has had all of it so far
    struct Reader {
        recv::Source* source;
        Worker* worker;
        std::size_t share;  ///< 0: the lcore that polls the queue; i+1: the distributor's i-th other
    };
    std::vector<Reader> readers;
};

}  // namespace spead::runtime
