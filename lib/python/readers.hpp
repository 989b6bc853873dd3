// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <pybind11/pybind11.h>
#include <spead/readers.hpp>
#include <utility>

#include "python/bytes.hpp"

namespace spead::python {

/// Is a queue of Python's.
struct LocalQueue : public InprocQueue {
    using InprocQueue::InprocQueue;
};

/// Holds a source of packets, and the Python memory that it reads. The stream keeps a copy until no thread
/// reads from it; made and destroyed with the GIL.
struct SourceOfPackets {
    explicit SourceOfPackets(spead::Reader r, std::shared_ptr<Bytes> p = {})
        : reader(std::move(r)), pinned(std::move(p)) {}

    spead::Reader reader;
    std::shared_ptr<Bytes> pinned;  ///< null: it reads no Python memory
};

/// Defines queues of this process, and readers.
void define_readers(pybind11::module_& m);

/// Raises the exception of this name that the package defines (Stopped, Empty, Full).
[[noreturn]] void raise(const char* name, const char* message);

}  // namespace spead::python
