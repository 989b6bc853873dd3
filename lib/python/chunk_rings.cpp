// SPDX-License-Identifier: BSD-3-Clause
#include "python/chunk_rings.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <spead/error.hpp>

#include <fmt/format.h>

#include "base/overlap.hpp"
#include "python/readers.hpp"
#include "python/waiting.hpp"

namespace spead::python {

namespace py = pybind11;

namespace {

constexpr auto kForEver = std::chrono::nanoseconds::max();

/// Returns the name of an object's class, which may be derived from ours.
std::string name_of(const py::object& object) {
    return py::type::of(object).attr("__name__").cast<std::string>();
}

[[noreturn]] void raise_stopped() {
    raise("Stopped", "chunk ring: it has been stopped");
}

}  // namespace

const char* UserChunk::name(Part part) {
    return part == data ? "data" : part == present ? "present" : "extra";
}

void UserChunk::set(Part part, const py::object& buffer) {
    need_mine();
    std::optional<Bytes> pinned;
    if (!buffer.is_none()) {
        const std::string what = std::string("chunk: `") + name(part) + "`";
        pinned.emplace(buffer, what.c_str(), Bytes::Access::write);
        if (part != extra && pinned->span().empty())
            throw py::value_error(what + " has no bytes; give " +
                                  (part == data ? "room for the payload" : "a byte for each heap"));
        if (part == present && pinned->element() != 1)
            throw py::value_error(what + " has elements of " + std::to_string(pinned->element()) +
                                  " bytes, and each byte of it stands for a heap; give an array of np.uint8");
    }
    loose_.set_memory({}, {});
    // Code of the user's may run when the old ones go: last.
    std::optional<Bytes> old;
    if (parts_[part].pinned)
        old.emplace(std::move(*parts_[part].pinned));
    parts_[part].pinned.reset();
    if (pinned)
        parts_[part].pinned.emplace(std::move(*pinned));
    const py::object gone = std::exchange(parts_[part].object, buffer);
}

void UserChunk::arm() {
    for (const Part part : {data, present})
        if (!parts_[part].pinned)
            throw py::value_error(std::string("chunk: it has no `") + name(part) +
                                  "`; set it before the chunk goes into a ring");
    const std::span<std::byte> flags = parts_[present].pinned->span();
    for (const Part part : {present, extra})
        if (parts_[part].pinned && overlap(parts_[data].pinned->span(), parts_[part].pinned->span()))
            throw py::value_error(std::string("chunk: `") + name(part) +
                                  "` lies in the memory of `data`; give it memory of its own");
    loose_.set_memory(parts_[data].pinned->span(),
                      {reinterpret_cast<std::uint8_t*>(flags.data()), flags.size()},
                      parts_[extra].pinned ? parts_[extra].pinned->span() : std::span<std::byte>());
}

void UserChunk::need_mine() const {
    if (!loose_.is_mine())
        throw py::value_error("chunk: a ring or a stream has it; get it from there before you change it");
}

void UserChunk::zero() {
    need_mine();
    if (parts_[present].pinned)
        std::ranges::fill(parts_[present].pinned->span(), std::byte{0});
}

UserChunkRing::~UserChunkRing() {
    while (take()) {
    }
}

/// Throws Error in a child of fork(2).
void UserChunkRing::need_own() const {
    if (!mark_.is_own())
        throw spead::Error("chunk ring", "it belongs to the parent process; make another in this one");
}

/// Returns the oldest chunk with the ring's reference; null: there is none.
py::object UserChunkRing::take() {
    LooseChunk* const taken = queue_.take();
    if (taken == nullptr)
        return {};
    return py::reinterpret_steal<py::object>(static_cast<UserChunk*>(taken->user())->self);
}

ChunkQueue::Put UserChunkRing::try_put(const py::object& chunk) {
    auto& c = chunk.cast<UserChunk&>();
    // The ring's reference. A stream may take the chunk before put() returns.
    c.self = chunk.inc_ref();
    ChunkQueue::Put put = ChunkQueue::Put::full;
    try {
        put = queue_.put(c.loose());
    } catch (...) {
        chunk.dec_ref();
        throw;
    }
    if (put != ChunkQueue::Put::done)
        chunk.dec_ref();
    return put;
}

void UserChunkRing::put_nowait(const py::object& chunk) {
    need_own();
    chunk.cast<UserChunk&>().arm();
    switch (try_put(chunk)) {
        case ChunkQueue::Put::full:
            raise("Full", "chunk ring: it is full");
        case ChunkQueue::Put::stopped:
            raise_stopped();
        case ChunkQueue::Put::done:
            break;
    }
}

void UserChunkRing::put(const py::object& chunk) {
    need_own();
    for (;;) {
        chunk.cast<UserChunk&>().arm();
        const ChunkQueue::Put put = try_put(chunk);
        if (put == ChunkQueue::Put::done)
            return;
        if (put == ChunkQueue::Put::stopped)
            raise_stopped();
        wait_a_little(queue_.space_fd(), kForEver);
    }
}

py::object UserChunkRing::get_nowait() {
    need_own();
    // Before the look: what was put in before the end is there.
    const bool stopped = queue_.stopped();
    if (py::object chunk = take())
        return chunk;
    if (stopped)
        raise_stopped();
    raise("Empty", "chunk ring: no chunk waits");
}

py::object UserChunkRing::get() {
    need_own();
    for (;;) {
        const bool stopped = queue_.stopped();
        if (py::object chunk = take())
            return chunk;
        if (stopped)
            raise_stopped();
        wait_a_little(queue_.data_fd(), kForEver);
    }
}

namespace {

template <UserChunk::Part part>
void define_part(py::class_<UserChunk>& c, const char* doc) {
    c.def_property(
        UserChunk::name(part), [](const UserChunk& chunk) { return chunk.get(part); },
        [](UserChunk& chunk, const py::object& buffer) { chunk.set(part, buffer); }, doc);
}

void define_chunk(py::module_& m) {
    py::class_<UserChunk> c(m, "Chunk", R"(Brings memory for the heaps of a chunk. Derive from it as you like.

A ring or a stream that has a chunk owns it: read and change it when it has come back.)");
    c.def(py::init([](std::int64_t chunk_id, std::uint32_t stream_id, const py::object& present,
                      const py::object& data, const py::object& extra) {
              auto chunk = std::make_unique<UserChunk>();
              chunk->loose().set_id(chunk_id);
              chunk->loose().set_stream(stream_id);
              chunk->set(UserChunk::present, present);
              chunk->set(UserChunk::data, data);
              chunk->set(UserChunk::extra, extra);
              return chunk;
          }),
          py::kw_only(), py::arg("chunk_id") = -1, py::arg("stream_id") = 0, py::arg("present") = py::none(),
          py::arg("data") = py::none(), py::arg("extra") = py::none());
    c.def_property(
        "chunk_id", [](const UserChunk& chunk) { return chunk.loose().id(); },
        [](UserChunk& chunk, std::int64_t id) {
            chunk.need_mine();
            chunk.loose().set_id(id);
        },
        "Tells the id that the place callback gave it; -1: no stream has had it.");
    c.def_property(
        "stream_id", [](const UserChunk& chunk) { return chunk.loose().stream(); },
        [](UserChunk& chunk, std::uint32_t id) {
            chunk.need_mine();
            chunk.loose().set_stream(id);
        },
        "Tells the StreamConfig.stream_id of the stream that filled it.");
    c.def_property_readonly(
        "packets", [](const UserChunk& chunk) { return chunk.loose().packets(); },
        "Counts the packets that the last stream put into it.");
    define_part<UserChunk::data>(c, "Holds the payload: a contiguous buffer that can be written, or None.");
    define_part<UserChunk::present>(c, "Holds a byte for each heap, or for each packet: 1 when it came.");
    define_part<UserChunk::extra>(c, "Holds what the place callback stores beside the heaps, or None.");
    c.def("_zero", &UserChunk::zero, "Zeroes `present`.");
    c.def("__repr__", [](const py::object& self) {
        const LooseChunk& chunk = self.cast<UserChunk&>().loose();
        return fmt::format("<{}: chunk_id={}, stream_id={}>", name_of(self), chunk.id(), chunk.stream());
    });
}

/// Counts one who puts chunks into a ring, until it is destroyed.
class Producer {
  public:
    explicit Producer(UserChunkRing& ring) : queue_(ring.queue()) { queue_.add_producer(); }
    ~Producer() { queue_.remove_producer(); }
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

  private:
    ChunkQueue queue_;
};

}  // namespace

void define_chunk_rings(py::module_& m) {
    define_chunk(m);
    const auto queue = [](auto function) {
        return [function](UserChunkRing& ring) { return function(ring.queue()); };
    };
    py::class_<UserChunkRing>(m, "ChunkRing", "Carries chunks, and keeps them alive: a bounded ring.")
        .def(py::init([](std::size_t most) { return std::make_unique<UserChunkRing>(most); }),
             py::arg("maxsize"))
        .def("put_nowait", &UserChunkRing::put_nowait, py::arg("chunk"),
             "Puts a chunk in. Raises Full, Stopped, and ValueError for one without memory.")
        .def("get_nowait", &UserChunkRing::get_nowait, "Takes the oldest chunk. Raises Empty and Stopped.")
        .def("_put", &UserChunkRing::put, py::arg("chunk"), "Puts a chunk in. Waits for room.")
        .def("_get", &UserChunkRing::get, "Takes the oldest chunk. Waits for one.")
        .def("qsize", queue([](const ChunkQueue& q) { return q.size(); }), "Counts the chunks in it.")
        .def("empty", queue([](const ChunkQueue& q) { return q.size() == 0; }), "Says whether it has none.")
        .def("full", queue([](const ChunkQueue& q) { return q.size() >= q.most(); }),
             "Says whether there is no room for a user's chunk.")
        .def("stop", queue([](ChunkQueue& q) { return q.stop(); }), R"(Lets no chunk in any more.

Those in it can be taken; then come Stopped and the end of iterations. Returns whether it has ended just now.)")
        .def("add_producer", queue([](ChunkQueue& q) { q.add_producer(); }),
             "Counts one more who puts chunks in. Streams do so themselves.")
        .def("remove_producer", queue([](ChunkQueue& q) { return q.remove_producer(); }), R"(Counts one less.

With the last one, the ring stops. Returns whether this call has stopped it.)")
        .def_property_readonly("maxsize", queue([](const ChunkQueue& q) { return q.most(); }),
                               "Tells how many chunks users may put in. Streams always find room.")
        .def_property_readonly("data_fd", queue([](const ChunkQueue& q) { return q.data_fd(); }),
                               "Tells a descriptor that is readable when a chunk may wait, or the end.")
        .def_property_readonly("space_fd", queue([](const ChunkQueue& q) { return q.space_fd(); }),
                               "Tells a descriptor that is readable when there may be room after Full.")
        .def("__repr__",
             [](const py::object& self) {
                 const ChunkQueue& q = self.cast<UserChunkRing&>().queue();
                 return fmt::format("<{}: {} of {} chunks>", name_of(self), q.size(), q.most());
             })
        .def_property_readonly("free_fd", queue([](const ChunkQueue& q) { return q.space_fd(); }),
                               "Tells the same as `space_fd`.");
    py::class_<Producer>(m, "Producer", "Counts as a producer of a ring, as long as it lives.")
        .def(py::init<UserChunkRing&>(), py::arg("ring"));
}

}  // namespace spead::python
