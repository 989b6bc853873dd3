// SPDX-License-Identifier: BSD-3-Clause
#include "python/place.hpp"

#include <cstring>
#include <string>

namespace spead::python {

namespace py = pybind11;

namespace {

constexpr const char* kPlain = "void (void *, size_t)";
constexpr const char* kWithUser = "void (void *, size_t, void *)";

/// Returns what the capsule points to: a function.
void* address_in(PyObject* capsule, const char* name) {
    void* const address = PyCapsule_GetPointer(capsule, name);
    if (address == nullptr)
        throw py::error_already_set();
    return address;
}

}  // namespace

PlaceCallback parse_place(const py::object& place) {
    if (!py::isinstance<py::tuple>(place))
        throw py::type_error(
            "place: it is no tuple that begins with a capsule; give a scipy.LowLevelCallable");
    const py::tuple parts = place;
    if (parts.empty())
        throw py::index_error("place: the tuple is empty; its first element is a capsule with the function");
    PyObject* const capsule = py::object(parts[0]).ptr();
    if (PyCapsule_CheckExact(capsule) == 0)
        throw py::type_error("place: the tuple begins with no capsule; give a scipy.LowLevelCallable");
    const char* const signature = PyCapsule_GetName(capsule);
    PlaceCallback callback;
    if (signature != nullptr && std::strcmp(signature, kPlain) == 0)
        callback.place_one = reinterpret_cast<PlaceOneFunction>(address_in(capsule, signature));
    else if (signature != nullptr && std::strcmp(signature, kWithUser) == 0)
        callback.place_one_with_user = reinterpret_cast<PlaceOneUserFunction>(address_in(capsule, signature));
    else
        throw py::value_error("place: the signature is `" +
                              std::string(signature == nullptr ? "" : signature) + "`; give `" + kPlain +
                              "` or `" + kWithUser + "`");
    callback.user = PyCapsule_GetContext(capsule);
    if (callback.user == nullptr && PyErr_Occurred() != nullptr)
        throw py::error_already_set();
    return callback;
}

}  // namespace spead::python
