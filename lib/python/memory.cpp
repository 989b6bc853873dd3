// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <spead/memory.hpp>
#include <spead/process.hpp>
#include <string>
#include <utility>
#include <vector>

#include "python/bytes.hpp"
#include "python/dlpack.hpp"
#include "python/gpu_array.hpp"
#include "python/parts.hpp"
#include "python/without_gil.hpp"

/// Binds memory for heaps and chunks: the library's own, and Python's that ports read.
namespace spead::python {

namespace py = pybind11;

namespace {

constexpr const char* kRegion = "a memory region";

/// Is memory of the library's. It is mapped and unmapped without the GIL.
class OwnMemory {
  public:
    OwnMemory(std::size_t bytes, bool cuda_pinned) {
        const WithoutGil released;
        memory_.emplace(cuda_pinned ? Memory::cuda_pinned(bytes) : Memory::huge(bytes));
    }
    ~OwnMemory() {
        const WithoutGil released;
        memory_.reset();
    }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

    const Memory& get() const noexcept { return *memory_; }

  private:
    std::optional<Memory> memory_{};
};

/// Holds memory of Python's, or an array on a GPU, that a port reads directly. It is unregistered before it
/// is no longer pinned.
class RegisteredMemory {
  public:
    RegisteredMemory(const Process& process, const py::handle& object) : on_gpu_(GpuArray::of(object)) {
        if (on_gpu_) {
            const WithoutGil released;
            memory_.emplace(Memory::cuda_device(process, on_gpu_->address(), on_gpu_->bytes()));
            return;
        }
        const std::span<std::byte> span = bytes_.emplace(object, kRegion).span();
        const WithoutGil released;
        memory_.emplace(process, span.data(), span.size());
    }
    ~RegisteredMemory() {
        const WithoutGil released;
        memory_.reset();
    }
    RegisteredMemory(const RegisteredMemory&) = delete;
    RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  private:
    std::optional<GpuArray> on_gpu_;
    std::optional<Bytes> bytes_{};
    std::optional<Memory> memory_{};
};

py::class_<OwnMemory> define_own_memory(py::module_& m) {
    py::class_<OwnMemory> c(m, "Memory", py::buffer_protocol(),
                            "Holds mapped memory, which the buffer protocol gives.");
    c.def(py::init([](std::size_t bytes, bool cuda_pinned) {
              return std::make_unique<OwnMemory>(bytes, cuda_pinned);
          }),
          py::arg("bytes"), py::arg("cuda_pinned") = false)
        .def_property_readonly(
            "gpu_address", [](const OwnMemory& memory) { return memory.get().gpu_address(); },
            "The address by which GPUs reach it; 0: it is not pinned for them.")
        .def_property_readonly(
            "nbytes", [](const OwnMemory& memory) { return memory.get().bytes().size(); }, "The bytes.")
        .def_property_readonly(
            "pages", [](const OwnMemory& memory) { return std::string(memory.get().pages()); },
            "The pages that it has: \"huge pages\", \"transparent huge pages\" or \"4 KiB pages\".")
        .def_buffer([](const OwnMemory& memory) {
            const std::span<std::uint8_t> bytes = memory.get().as<std::uint8_t>();
            return py::buffer_info(bytes.data(), static_cast<py::ssize_t>(bytes.size()));
        });
    return c;
}

/// Wraps pybind11's way to give a buffer, through which exceptions would reach Python's C code.
int get_buffer(PyObject* object, Py_buffer* view, int flags) {
    try {
        return pybind11::detail::pybind11_getbuffer(object, view, flags);
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    }
    view->obj = nullptr;
    return -1;
}

}  // namespace

void define_memory(py::module_& m) {
    const py::class_<OwnMemory> memory = define_own_memory(m);
    reinterpret_cast<PyTypeObject*>(memory.ptr())->tp_as_buffer->bf_getbuffer = &get_buffer;
    py::class_<RegisteredMemory>(m, "RegisteredMemory", "Holds memory that ports read directly.")
        .def(py::init<const Process&, const py::object&>(), py::arg("process"), py::arg("memory"));
    m.def(
        "dlpack_capsule",
        [](py::object owner, std::uintptr_t address, std::int32_t device, std::pair<int, int> type,
           std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
            return dlpack_capsule({.address = address,
                                   .device_type = device,
                                   .type_code = static_cast<std::uint8_t>(type.first),
                                   .type_bits = static_cast<std::uint8_t>(type.second),
                                   .shape = std::move(shape),
                                   .strides = std::move(strides)},
                                  std::move(owner));
        },
        py::arg("owner"), py::arg("address"), py::arg("device"), py::arg("type"), py::arg("shape"),
        py::arg("strides"), "Returns a capsule of DLPack, which keeps its owner.");
    m.def(
        "span_of",
        [](const py::object& memory) {
            if (const auto on_gpu = GpuArray::of(memory))
                return py::make_tuple(on_gpu->address(), on_gpu->bytes());
            const Bytes bytes(memory, kRegion);
            return py::make_tuple(reinterpret_cast<std::uintptr_t>(bytes.span().data()), bytes.span().size());
        },
        py::arg("memory"), "Returns the address and the length of an object's memory.");
    m.def(
        "is_on_gpu", [](const py::object& memory) { return GpuArray::of(memory).has_value(); },
        py::arg("memory"),
        "Returns whether an object is an array in memory of a GPU. Raises TypeError and ValueError for one "
        "that "
        "cannot be sent.");
}

}  // namespace spead::python
