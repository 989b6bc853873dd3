// SPDX-License-Identifier: BSD-3-Clause
#include "python/dlpack.hpp"

#include <memory>
#include <utility>

/// Gives arrays to other libraries by DLPack. Structures and names are those of its interface, version 0.
namespace spead::python {

namespace py = pybind11;

namespace {

constexpr const char* kFresh = "dltensor";

struct Tensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device_id;
    std::int32_t dimensions;
    std::uint8_t type_code;
    std::uint8_t type_bits;
    std::uint16_t type_lanes;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

/// Holds the content of a capsule. The consumer that takes it calls `deleter`.
struct ManagedTensor {
    Tensor tensor;
    void* context;
    void (*deleter)(ManagedTensor*);
};

struct Lent {
    ManagedTensor managed{};
    DlpackArray array;
    PyObject* owner = nullptr;
};

void free_lent(ManagedTensor* managed) {
    const std::unique_ptr<Lent> lent(static_cast<Lent*>(managed->context));
    // At the end of the interpreter nobody needs the owner any more.
    if (Py_IsInitialized() == 0)
        return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(lent->owner);
    PyGILState_Release(state);
}

/// Frees what nobody has taken.
void free_capsule(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, kFresh) == 0)
        return;
    auto* const managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, kFresh));
    managed->deleter(managed);
}

}  // namespace

py::capsule dlpack_capsule(DlpackArray array, py::object owner) {
    auto lent = std::make_unique<Lent>();
    lent->array = std::move(array);
    const DlpackArray& a = lent->array;
    lent->managed = {{reinterpret_cast<void*>(a.address), a.device_type, a.device_id,
                      static_cast<std::int32_t>(a.shape.size()), a.type_code, a.type_bits, 1,
                      lent->array.shape.data(), lent->array.strides.data(), 0},
                     lent.get(),
                     &free_lent};
    PyObject* const capsule = PyCapsule_New(&lent->managed, kFresh, &free_capsule);
    if (capsule == nullptr)
        throw py::error_already_set();
    lent.release()->owner = owner.release().ptr();
    return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace spead::python
