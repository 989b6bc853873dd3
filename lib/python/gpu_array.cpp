// SPDX-License-Identifier: BSD-3-Clause
#include "python/gpu_array.hpp"

#include <cstdlib>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

namespace spead::python {

namespace py = pybind11;

namespace {

/// Returns the bytes of an element, from the end of a type string of numpy ("<f4").
std::size_t element_bytes(const std::string& type) {
    const std::size_t bytes = type.size() < 3 ? 0 : std::strtoul(type.substr(2).c_str(), nullptr, 10);
    if (bytes == 0)
        throw py::value_error("__cuda_array_interface__: the type \"" + type + "\" has no size; use numbers");
    return bytes;
}

/// Throws value_error unless the elements follow each other in C order.
void need_c_order(const py::object& strides, const std::vector<std::size_t>& shape, std::size_t element) {
    if (strides.is_none())
        return;
    const auto steps = strides.cast<std::vector<py::ssize_t>>();
    auto expected = static_cast<py::ssize_t>(element);
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (i >= steps.size() || (shape[i] > 1 && steps[i] != expected))
            throw py::value_error(
                "__cuda_array_interface__: the array is not contiguous in C order, and nothing copies it; "
                "make a "
                "contiguous one (cupy.ascontiguousarray)");
        expected *= static_cast<py::ssize_t>(shape[i]);
    }
}

}  // namespace

std::optional<GpuArray> GpuArray::of(const py::handle& object) {
    if (PyObject_CheckBuffer(object.ptr()) != 0 || !py::hasattr(object, "__cuda_array_interface__"))
        return std::nullopt;
    try {
        return from_interface(object);
    } catch (const py::cast_error&) {
        throw py::type_error("__cuda_array_interface__ is " +
                             py::repr(object.attr("__cuda_array_interface__")).cast<std::string>() +
                             ", of which a value has a wrong type; give an array of CuPy, Numba or PyTorch");
    }
}

GpuArray GpuArray::from_interface(const py::handle& object) {
    const py::object all = object.attr("__cuda_array_interface__");
    if (!py::isinstance<py::dict>(all))
        throw py::cast_error();
    const auto interface = py::reinterpret_borrow<py::dict>(all);
    for (const char* const key : {"shape", "typestr", "data"})
        if (!interface.contains(key))
            throw py::type_error(std::string("__cuda_array_interface__ has no \"") + key +
                                 "\"; give an array of CuPy, Numba or PyTorch");
    if (interface.contains("mask") && !interface["mask"].is_none())
        throw py::value_error(
            "__cuda_array_interface__: the array has a mask, which cannot be sent; fill it");
    const auto shape = interface["shape"].cast<std::vector<std::size_t>>();
    std::size_t bytes = element_bytes(interface["typestr"].cast<std::string>());
    need_c_order(interface.contains("strides") ? py::object(interface["strides"]) : py::none(), shape, bytes);
    for (const std::size_t n : shape)
        if (__builtin_mul_overflow(bytes, n, &bytes))
            throw py::value_error(
                "__cuda_array_interface__: the shape has more elements than memory has bytes");
    const py::object place = interface["data"];
    if (!py::isinstance<py::sequence>(place) || py::len(place) == 0)
        throw py::cast_error();
    const auto data = place.cast<py::tuple>();
    return GpuArray(py::reinterpret_borrow<py::object>(object), data[0].cast<std::uintptr_t>(), bytes);
}

}  // namespace spead::python
