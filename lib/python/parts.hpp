// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

/// Binds the front door to Python. One user of it among others: it includes spead/*.hpp, and lib/wire for
/// what Python decodes itself.
///
/// Functions that may wait release the GIL. Lcores and threads of the library never take it, and never touch
/// a Python object.
namespace spead::python {

/// Defines exceptions and descriptors.
void define_common(pybind11::module_& m);
/// Defines the session and the log.
void define_process(pybind11::module_& m);
/// Defines memory for heaps and chunks of users.
void define_memory(pybind11::module_& m);
/// Defines queues of this process, readers, heaps, and streams of heaps.
void define_receive(pybind11::module_& m);
/// Defines streams of chunks, and their rings.
void define_chunks(pybind11::module_& m);
/// Defines senders.
void define_send(pybind11::module_& m);

}  // namespace spead::python
