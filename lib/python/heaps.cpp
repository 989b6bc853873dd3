// SPDX-License-Identifier: BSD-3-Clause
#include "python/heaps.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <pybind11/numpy.h>
#include <utility>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "python/without_gil.hpp"
#include "wire/flavour.hpp"

/// Binds received heaps and their items.
namespace spead::python {

namespace py = pybind11;

namespace {

constexpr std::size_t kLeastBlock = 256;
/// Holds the bytes from which a copy lets other threads of Python run.
constexpr std::size_t kLongCopy = std::size_t{256} << 10;

/// Returns a class or a function of the package, of `kept`, which the first call sets. It is never destroyed:
/// the interpreter may be gone. A static variable with an initializer would lock, and its thread may lose the
/// GIL meanwhile.
py::handle from_package(PyObject*& kept, const char* module, const char* name) {
    if (kept == nullptr) {
        const auto in =
            py::reinterpret_steal<py::object>(in_python([module] { return PyImport_ImportModule(module); }));
        if (!in)
            throw py::error_already_set();
        py::object made = in.attr(name);
        if (kept == nullptr)  // no other thread was faster
            kept = made.release().ptr();
    }
    return kept;
}

/// Calls a function or a class of Python's.
py::object call(py::handle function, std::initializer_list<py::object> arguments) {
    std::vector<PyObject*> all;
    for (const py::object& one : arguments)
        all.push_back(one.ptr());
    auto result = py::reinterpret_steal<py::object>(
        in_python([&] { return PyObject_Vectorcall(function.ptr(), all.data(), all.size(), nullptr); }));
    if (!result)
        throw py::error_already_set();
    return result;
}

/// Returns None for a damaged one.
py::object decode_descriptor(py::object item, unsigned bug_compat) {
    static PyObject* kept = nullptr;
    const py::handle decode = from_package(kept, "dpdk_spead.items", "_usable_descriptor");
    return call(decode, {std::move(item), py::int_(bug_compat)});
}

py::object make_flavour(unsigned address_bits, unsigned bug_compat) {
    static PyObject* kept = nullptr;
    const py::handle type = from_package(kept, "dpdk_spead.protocol", "Flavour");
    return call(type, {py::int_(4), py::int_(64), py::int_(address_bits), py::int_(bug_compat)});
}

/// Holds one item of a heap. The buffer protocol gives its bytes.
struct RawItem {
    RawItem(const spead::Item& item, std::shared_ptr<ReceivedHeap> of)
        : id(item.id), immediate(item.immediate), value(item.value), bytes(item.bytes), heap(std::move(of)) {
        for (std::size_t i = 0; i < big_endian.size(); i++)
            big_endian[i] = static_cast<std::byte>(value >> (8 * (7 - i)));
    }

    /// Returns the bytes: of an immediate, as many as an address has.
    std::span<const std::byte> view() const noexcept {
        return immediate ? std::span<const std::byte>(big_endian).last(heap->address_bits() / 8) : bytes;
    }

    std::uint64_t id;
    bool immediate;
    std::uint64_t value;
    std::span<const std::byte> bytes;
    std::array<std::byte, 8> big_endian{};
    std::shared_ptr<ReceivedHeap> heap;
};

/// Gives the bytes of an item, without pybind11's description of a buffer: it costs more than the item. Users
/// may write into them: the heap is theirs.
int get_item_buffer(PyObject* object, Py_buffer* view, int flags) {
    static std::byte nothing{};
    try {
        const RawItem& item = py::cast<const RawItem&>(py::handle(object));
        const std::span<const std::byte> bytes = item.view();
        void* const at = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
        return PyBuffer_FillInfo(view, object, at, static_cast<Py_ssize_t>(bytes.size()), 0, flags);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        return -1;
    }
}

py::list items_of(const std::shared_ptr<ReceivedHeap>& heap) {
    py::list out;
    for (const spead::Item& item : heap->items())
        if (item.id != wire::item::kDescriptor && (item.immediate || heap->complete()))
            out.append(py::cast(RawItem(item, heap)));
    return out;
}

py::list descriptors_of(const std::shared_ptr<ReceivedHeap>& heap) {
    py::list out;
    for (const spead::Item& item : heap->items())
        if (item.id == wire::item::kDescriptor && !item.immediate && heap->complete())
            if (py::object one = decode_descriptor(py::cast(RawItem(item, heap)), heap->facts().bug_compat);
                !one.is_none())
                out.append(std::move(one));
    return out;
}

py::object flavour_of(ReceivedHeap& heap) {
    py::object& kept = heap.facts().flavours[heap.address_bits() / 8];
    if (kept)
        return kept;
    py::object made = make_flavour(heap.address_bits(), heap.facts().bug_compat);
    if (!kept)  // no other thread was faster
        kept = std::move(made);
    return kept;
}

py::list ranges_of(const ReceivedHeap& heap) {
    py::list out;
    if (heap.facts().keep_ranges)
        for (const spead::Heap::Hole& range : heap.ranges())
            out.append(py::make_tuple(range.begin, range.end));
    return out;
}

std::vector<spead::Heap::Hole> present(const spead::Heap& heap) {
    std::vector<spead::Heap::Hole> out;
    std::uint64_t at = 0;
    for (const spead::Heap::Hole& hole : heap.missing()) {
        if (hole.begin > at)
            out.push_back({at, hole.begin});
        at = hole.end;
    }
    if (heap.length() > at)
        out.push_back({at, heap.length()});
    return out;
}

/// Returns the bytes of a heap as an array, which keeps it. Users may write into them: the heap is theirs.
py::array payload_of(const py::object& self) {
    const std::span<const std::byte> bytes = self.cast<const ReceivedHeap&>().payload();
    return py::array(py::dtype::of<std::uint8_t>(), {bytes.size()}, {std::size_t{1}}, bytes.data(), self);
}

/// Gives a Python class to complete heaps, and another to the others.
struct IncompleteHeap {
    std::shared_ptr<ReceivedHeap> heap;
};

}  // namespace

ReceivedHeap::ReceivedHeap(spead::Heap heap, std::shared_ptr<HeapFacts> facts)
    : facts_(std::move(facts)),
      cnt_(heap.cnt()),
      length_(heap.length()),
      received_(heap.received()),
      address_bits_(heap.address_bits()),
      complete_(heap.contiguous()),
      sized_(heap.has_length()),
      starts_(heap.is_start_of_stream()),
      ends_(heap.is_end_of_stream()),
      heap_(std::move(heap)) {
    facts_->of_one_packet += heap_.packets() == 1;
    const std::size_t block = std::bit_ceil(std::max<std::size_t>(length_, kLeastBlock));
    if (facts_->kept_heaps >= facts_->most_heaps || block > facts_->most_bytes ||
        facts_->kept_bytes > facts_->most_bytes - block) {
        copy_out();
        return;
    }
    block_ = block;
    facts_->kept_heaps++;
    facts_->kept_bytes += block_;
}

ReceivedHeap::~ReceivedHeap() {
    if (block_ == 0)
        return;
    facts_->kept_heaps--;
    facts_->kept_bytes -= block_;
}

/// Copies the heap, and gives the stream's memory back.
void ReceivedHeap::copy_out() {
    items_ = heap_.items();
    listed_ = true;
    if (!complete_)
        ranges_ = present(heap_);
    facts_->copied_out++;
    if (complete_ && length_ != 0) {
        const std::span<const std::byte> from = heap_.payload();
        copy_ = std::make_unique_for_overwrite<std::byte[]>(from.size());
        {
            std::optional<WithoutGil> released;
            if (from.size() >= kLongCopy)
                released.emplace();
            std::memcpy(copy_.get(), from.data(), from.size());
        }
        for (spead::Item& item : items_)
            if (!item.bytes.empty())
                item.bytes = {copy_.get() + (item.bytes.data() - from.data()), item.bytes.size()};
    }
    heap_ = spead::Heap();
}

const std::vector<spead::Item>& ReceivedHeap::items() {
    if (!listed_) {
        items_ = heap_.items();
        listed_ = true;
    }
    return items_;
}

std::span<const std::byte> ReceivedHeap::payload() const {
    if (heap_)
        return heap_.payload();
    return {copy_.get(), copy_ ? static_cast<std::size_t>(length_) : 0};
}

std::vector<spead::Heap::Hole> ReceivedHeap::ranges() const {
    return heap_ ? present(heap_) : ranges_;
}

py::object to_python(spead::Heap heap, const std::shared_ptr<HeapFacts>& facts) {
    auto received = std::make_shared<ReceivedHeap>(std::move(heap), facts);
    if (received->complete())
        return py::cast(std::move(received));
    return py::cast(IncompleteHeap{std::move(received)});
}

void define_heaps(py::module_& m) {
    py::class_<RawItem>(m, "RawItem",
                        "Holds one item of a heap. The buffer protocol gives its bytes, without a copy.",
                        py::custom_type_setup([](PyHeapTypeObject* type) {
                            type->as_buffer.bf_getbuffer = get_item_buffer;
                            type->ht_type.tp_as_buffer = &type->as_buffer;
                        }))
        .def_readonly("id", &RawItem::id, "The item's id.")
        .def_readonly("is_immediate", &RawItem::immediate,
                      "Whether the value stands in the item pointer itself.")
        .def_readonly("immediate_value", &RawItem::value, "The value, or the offset in the heap.")
        .def("__repr__", [](const RawItem& item) {
            return item.immediate ? fmt::format("<item {:#x}: immediate {}>", item.id, item.value)
                                  : fmt::format("<item {:#x}: {} {}>", item.id, item.bytes.size(),
                                                noun_for(item.bytes.size(), "bytes"));
        });
    py::class_<ReceivedHeap, std::shared_ptr<ReceivedHeap>>(
        m, "Heap", "Holds a received heap. Arrays over its items keep its memory, also after the stream.")
        .def_property_readonly("cnt", &ReceivedHeap::cnt, "The heap count.")
        .def_property_readonly("flavour", &flavour_of, "The flavour of its packets.")
        .def_property_readonly("complete", &ReceivedHeap::complete, "True.")
        .def_property_readonly("heap_length", &ReceivedHeap::length, "Bytes of the payload.")
        .def_property_readonly("received_length", &ReceivedHeap::received, "Bytes that arrived.")
        .def_property_readonly("payload", &payload_of,
                               "All bytes of the payload, as an array that keeps the heap's memory.")
        .def("get_items", &items_of,
             "Returns the items but descriptors, in the order of the payload, immediates last.")
        .def("get_descriptors", &descriptors_of,
             "Returns the descriptors but damaged ones, which the log tells of.")
        .def("is_start_of_stream", &ReceivedHeap::starts, "Returns whether it says that a stream starts.")
        .def("is_end_of_stream", &ReceivedHeap::ends, "Returns whether it says that a stream stops.")
        .def("__repr__", [](const ReceivedHeap& heap) {
            return fmt::format("<heap {}: {} {}>", heap.cnt(), heap.length(),
                               noun_for(heap.length(), "bytes"));
        });
    py::class_<IncompleteHeap>(m, "IncompleteHeap", "Holds a heap of which packets are missing.")
        .def_property_readonly(
            "cnt", [](const IncompleteHeap& h) { return h.heap->cnt(); }, "The heap count.")
        .def_property_readonly(
            "flavour", [](const IncompleteHeap& h) { return flavour_of(*h.heap); },
            "The flavour of its packets.")
        .def_property_readonly(
            "complete", [](const IncompleteHeap& /*h*/) { return false; }, "False.")
        .def_property_readonly(
            "heap_length",
            [](const IncompleteHeap& h) {
                return h.heap->sized() ? py::object(py::int_(h.heap->length())) : py::object(py::int_(-1));
            },
            "Bytes of the payload; -1: no packet told.")
        .def_property_readonly(
            "received_length", [](const IncompleteHeap& h) { return h.heap->received(); },
            "Bytes that arrived.")
        .def_property_readonly(
            "payload_ranges", [](const IncompleteHeap& h) { return ranges_of(*h.heap); },
            "The (begin, end) of the bytes that arrived, if the stream keeps them.")
        .def(
            "get_items", [](const IncompleteHeap& h) { return items_of(h.heap); },
            "Returns the items that stand in item pointers themselves.")
        .def(
            "is_start_of_stream", [](const IncompleteHeap& h) { return h.heap->starts(); },
            "Returns whether it says that a stream starts.")
        .def(
            "is_end_of_stream", [](const IncompleteHeap& h) { return h.heap->ends(); },
            "Returns whether it says that a stream stops.")
        .def("__repr__", [](const IncompleteHeap& h) {
            const std::string of = h.heap->sized() ? fmt::format(" of {}", h.heap->length()) : std::string();
            return fmt::format("<incomplete heap {}: {}{} bytes>", h.heap->cnt(), h.heap->received(), of);
        });
}

}  // namespace spead::python
