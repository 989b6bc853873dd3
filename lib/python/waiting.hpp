// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <pybind11/pybind11.h>

#include "python/without_gil.hpp"

namespace spead::python {

/// Waits until the descriptor is readable, for 100 ms at most and without the GIL. Throws error_already_set
/// when a signal handler of Python's has raised.
inline void wait_a_little(int fd, std::chrono::nanoseconds patience) {
    using namespace std::chrono_literals;
    {
        const WithoutGil released;
        pollfd p{fd, POLLIN, 0};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(
            std::clamp(patience, 0ns, std::chrono::nanoseconds(100ms)));
        ::poll(&p, 1, static_cast<int>(ms.count()));
    }
    if (PyErr_CheckSignals() != 0)
        throw pybind11::error_already_set();
}

}  // namespace spead::python
