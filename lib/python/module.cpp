// SPDX-License-Identifier: BSD-3-Clause
#include "python/made_by_init.hpp"
#include "python/parts.hpp"

/// Implements the module dpdk_spead._native, which the modules in Python are made of. Its names may change
/// with every version.
PYBIND11_MODULE(_native, m) {
    m.doc() = "Holds the compiled part of dpdk_spead. Its names may change with every version.";
    spead::python::define_common(m);
    spead::python::define_process(m);
    spead::python::define_memory(m);
    spead::python::define_receive(m);
    spead::python::define_chunks(m);
    spead::python::define_send(m);
    spead::python::refuse_objects_in_the_making(m);
}
