// SPDX-License-Identifier: BSD-3-Clause
#include "python/chunk_rings.hpp"
#include "python/chunk_streams.hpp"
#include "python/declared_chunks.hpp"
#include "python/parts.hpp"

namespace spead::python {

void define_chunks(pybind11::module_& m) {
    define_chunk_rings(m);
    define_chunk_streams(m);
    define_declared_chunks(m);
}

}  // namespace spead::python
