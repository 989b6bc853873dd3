// SPDX-License-Identifier: BSD-3-Clause
#include "python/heap_stream.hpp"
#include "python/heaps.hpp"
#include "python/parts.hpp"
#include "python/readers.hpp"

namespace spead::python {

void define_receive(pybind11::module_& m) {
    define_readers(m);
    define_heaps(m);
    define_heap_stream(m);
}

}  // namespace spead::python
