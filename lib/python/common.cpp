// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <pybind11/stl.h>
#include <span>
#include <spead/error.hpp>
#include <spead/process.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "python/bytes.hpp"
#include "python/parts.hpp"
#include "wire/descriptor.hpp"

/// Binds what receiving and sending share.
namespace spead::python {

namespace py = pybind11;

namespace {

/// Makes an exception class of the module with several bases, which py::register_exception cannot.
py::object make_exception(py::module_& m, const char* name, const char* doc, const py::object& bases) {
    const std::string full = std::string("dpdk_spead.") + name;
    const auto made =
        py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
    if (!made)
        throw py::error_already_set();
    m.attr(name) = made;
    return made;
}

void define_errors(py::module_& m) {
    const py::object runtime_error = py::reinterpret_borrow<py::object>(PyExc_RuntimeError);
    const py::object value_error = py::reinterpret_borrow<py::object>(PyExc_ValueError);
    const py::object error =
        make_exception(m, "Error", "Reports a fault, its place and the fix, in one sentence.", runtime_error);
    const py::object usage_error =
        make_exception(m, "UsageError", "Refuses a value that is invalid on every machine and at any time.",
                       py::make_tuple(error, value_error));
    make_exception(m, "Stopped", "Says that a stream, a ring or a queue has ended.", runtime_error);
    make_exception(m, "Empty", "Says that nothing is waiting.", runtime_error);
    make_exception(m, "Full", "Says that there is no room.", runtime_error);
    // Exception classes are never destroyed.
    static PyObject* const of_error = error.inc_ref().ptr();
    static PyObject* const of_usage = usage_error.inc_ref().ptr();
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown)
                std::rethrow_exception(thrown);
        } catch (const UsageError& e) {
            PyErr_SetString(of_usage, e.what());
        } catch (const Error& e) {
            PyErr_SetString(of_error, e.what());
        }
    });
}

py::value_error refusal(wire::DescriptorError error) {
    std::string text(wire::name_of(error));
    std::replace(text.begin(), text.end(), '_', ' ');
    return py::value_error("descriptor: " + text);
}

py::tuple decode_descriptor(const py::buffer& bytes, unsigned bug_compat) {
    const Bytes value(bytes, "descriptor");
    const auto decoded = wire::decode_descriptor(value.unsigned_span(), bug_compat);
    if (!decoded)
        throw refusal(decoded.error());
    py::list shape;
    for (const std::optional<std::uint64_t>& dimension : decoded->shape)
        shape.append(dimension ? py::object(py::int_(*dimension)) : py::none());
    py::list format;
    for (const wire::FieldFormat& field : decoded->format)
        format.append(py::make_tuple(py::str(std::string(1, field.type)), field.bits));
    return py::make_tuple(decoded->id, py::bytes(decoded->name), py::bytes(decoded->description), shape,
                          format, py::bytes(decoded->numpy_header));
}

py::bytes encode_descriptor(std::uint64_t id, std::string name, std::string description,
                            std::vector<std::optional<std::uint64_t>> shape,
                            const std::vector<std::pair<std::string, std::uint64_t>>& format,
                            std::string numpy_header, unsigned address_bits, unsigned bug_compat) {
    wire::Descriptor descriptor;
    descriptor.id = id;
    descriptor.name = std::move(name);
    descriptor.description = std::move(description);
    descriptor.shape = std::move(shape);
    for (const auto& [type, bits] : format) {
        if (type.size() != 1)
            throw py::value_error("descriptor: the type '" + type + "' of a field is not one letter");
        descriptor.format.push_back({type.front(), bits});
    }
    descriptor.numpy_header = std::move(numpy_header);
    const auto encoded = wire::encode_descriptor(descriptor, wire::Flavour(address_bits), bug_compat);
    if (!encoded)
        throw refusal(encoded.error());
    return {reinterpret_cast<const char*>(encoded->data()), encoded->size()};
}

void define_descriptors(py::module_& m) {
    m.def("decode_descriptor", &decode_descriptor, py::arg("value"), py::arg("bug_compat") = 0,
          "Decodes the bytes of an item 5: (id, name, description, shape, format, numpy header).");
    m.def("encode_descriptor", &encode_descriptor, py::arg("id"), py::arg("name"), py::arg("description"),
          py::arg("shape"), py::arg("format"), py::arg("numpy_header"), py::arg("address_bits"),
          py::arg("bug_compat") = 0, "Encodes a descriptor as the bytes of an item 5.");
}

}  // namespace

void define_common(py::module_& m) {
    define_errors(m);
    define_descriptors(m);
}

}  // namespace spead::python
