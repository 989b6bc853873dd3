// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>

#include "runtime/user_queues.hpp"
#include "spead/recv.hpp"

/// Holds the inner parts of a Heap. Not installed.
namespace spead::door {

/// Gives access to a Heap's inside.
struct HeapAccess {
    static runtime::HeapLoan& loan(Heap& heap) noexcept {
        return *std::launder(reinterpret_cast<runtime::HeapLoan*>(heap.loan_));
    }
    static const runtime::HeapLoan& loan(const Heap& heap) noexcept {
        return *std::launder(reinterpret_cast<const runtime::HeapLoan*>(heap.loan_));
    }
    static Heap make(runtime::HeapLoan&& loan) noexcept { return Heap(std::move(loan)); }
};

inline runtime::HeapLoan& loan_of(Heap& heap) noexcept {
    return HeapAccess::loan(heap);
}
inline const heap::HeapHandle& heap_of(const Heap& heap) noexcept {
    return HeapAccess::loan(heap).heap;
}

}  // namespace spead::door
