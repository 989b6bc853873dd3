// SPDX-License-Identifier: BSD-3-Clause
#include "python/declared_chunks.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <spead/chunk.hpp>
#include <spead/process.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/bytes.hpp"
#include "python/chunk_streams.hpp"
#include "python/readers.hpp"
#include "python/settings.hpp"
#include "python/waiting.hpp"
#include "python/without_gil.hpp"

/// Binds chunks whose heaps a placement places, in memory of the library's or of Python's.
namespace spead::python {

namespace py = pybind11;

namespace {

/// Keeps Python's buffers, of which chunks lie in. Made and destroyed with the GIL.
using Pins = std::vector<Bytes>;

/// Is a chunk that was taken. Arrays over it keep it; with the last of them it goes back.
class LentChunk {
  public:
    LentChunk(ChunkPtr chunk, std::shared_ptr<Pins> pins)
        : chunk_(std::move(chunk)), pins_(std::move(pins)) {}
    const Chunk& get() const noexcept { return *chunk_; }

    enum Part : std::uint8_t { data, present, extra };
    /// Returns bytes of it, which keep `self`.
    static py::array array(const py::object& self, Part part) {
        const Chunk& c = self.cast<const LentChunk&>().get();
        const auto bytes = part == data      ? c.data
                           : part == present ? std::as_writable_bytes(c.present)
                                             : c.extra;
        return py::array(py::dtype::of<std::uint8_t>(), {bytes.size()}, {std::size_t{1}}, bytes.data(), self);
    }

  private:
    ChunkPtr chunk_;
    std::shared_ptr<Pins> pins_;
};

/// Holds chunks for the user.
class LentChunkRing {
  public:
    LentChunkRing(const Placement& placement, std::size_t chunks) : ring_(chunks) {
        const WithoutGil released;
        ring_.add(placement, chunks);
    }
    /// Lies in buffers of Python's: (data, present, extra) of each.
    LentChunkRing(const Placement& placement,
                  const std::vector<std::tuple<py::object, py::object, py::object>>& buffers)
        : ring_(buffers.size()), pins_(std::make_shared<Pins>()) {
        std::uintptr_t index = 0;
        for (const auto& [data, present, extra] : buffers) {
            const std::span<std::byte> flags = pin(present);
            ring_.add(placement, pin(data), {reinterpret_cast<std::uint8_t*>(flags.data()), flags.size()},
                      extra.is_none() ? std::span<std::byte>() : pin(extra),
                      reinterpret_cast<void*>(index++));
        }
    }

    std::unique_ptr<LentChunk> try_get() {
        const bool ended = ring_.ended();
        if (ChunkPtr chunk = ring_.try_get())
            return std::make_unique<LentChunk>(std::move(chunk), pins_);
        if (ended)
            raise("Stopped", "chunks: all streams have ended, and all their chunks were taken");
        return nullptr;
    }
    /// Returns null when the time is over.
    std::unique_ptr<LentChunk> get(const std::optional<double>& seconds) {
        using Clock = std::chrono::steady_clock;
        constexpr double kMost = 1e9;  // s
        const auto until =
            Clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(
                               std::clamp(seconds.value_or(kMost), 0.0, kMost)));
        for (;;) {
            if (std::unique_ptr<LentChunk> chunk = try_get())
                return chunk;
            const auto left = until - Clock::now();
            if (left.count() <= 0)
                return nullptr;
            wait_a_little(ring_.fd(), left);
        }
    }
    py::dict counts() const {
        const ChunkRing::Counts c = ring_.counts();
        py::dict d;
        d["chunks"] = c.chunks;
        d["free"] = c.free;
        d["open"] = c.open;
        d["waiting"] = c.waiting;
        d["held"] = c.held;
        return d;
    }
    ChunkRing& ring() noexcept { return ring_; }
    const std::shared_ptr<Pins>& pins() const noexcept { return pins_; }

  private:
    std::span<std::byte> pin(const py::object& buffer) {
        return pins_->emplace_back(buffer, "buffers: one", Bytes::Access::write).span();
    }

    ChunkRing ring_;
    std::shared_ptr<Pins> pins_;  ///< null: the library's memory
};

template <class Enum>
Enum choice(const py::dict& d, const char* key, std::initializer_list<std::pair<const char*, Enum>> names) {
    const auto value = d[key].cast<std::string>();
    std::string all;
    for (const auto& [name, means] : names) {
        if (value == name)
            return means;
        all += (all.empty() ? "" : ", ") + std::string(name);
    }
    throw py::value_error(std::string(key) + " is `" + value + "`; give one of " + all);
}

RecvConfig config_of(const py::dict& d) {
    RecvConfig c;
    c.endpoints = d["endpoints"].cast<std::vector<std::string>>();
    c.interface = d["interface"].cast<std::string>();
    c.backend = choice<Backend>(d, "backend", {{"port", Backend::port}, {"kernel", Backend::kernel}});
    c.name = d["name"].cast<std::string>();
    c.lcores = d["lcores"].cast<std::vector<unsigned>>();
    c.poll = choice<Poll>(
        d, "poll", {{"adaptive", Poll::adaptive}, {"busy", Poll::busy}, {"interrupt", Poll::interrupt}});
    c.max_packet_size = d["max_packet_size"].cast<std::uint32_t>();
    c.buffer_size = d["buffer_size"].cast<std::size_t>();
    c.substreams = d["substreams"].cast<std::uint32_t>();
    c.max_heaps = d["max_heaps"].cast<std::uint32_t>();
    c.stop_on_stop_item = d["stop_on_stop_item"].cast<bool>();
    c.heap_timeout = time_of(d["heap_timeout"]);
    c.on_full = choice<OnFull>(
        d, "on_full",
        {{"automatic", OnFull::automatic}, {"drop", OnFull::drop_newest}, {"block", OnFull::block}});
    c.format = d["format"].cast<std::string>();
    c.filter = d["filter"].cast<std::string>();
    c.second_path = second_path_of(d["second_path"]);
    c.start = false;
    return c;
}

ChunkConfig chunks_of(const py::dict& d) {
    ChunkConfig c;
    c.window = d["window"].cast<std::uint32_t>();
    c.eviction = d["lossless"].cast<bool>() ? Eviction::lossless : Eviction::lossy;
    c.timeout = time_of(d["timeout"]);
    c.patience = time_of(d["patience"]);
    if (!d["max_jump"].is_none())
        c.max_jump = d["max_jump"].cast<std::uint64_t>();
    c.back_fill = d["back_fill"].cast<bool>();
    c.stream = d["stream"].cast<std::uint32_t>();
    return c;
}

/// Names the source of a stream: a port, sockets of the kernel, a file, or a reader of Python's.
struct Source {
    explicit Source(const py::dict& d) : config(config_of(d)) {
        if (!d["pcap"].is_none())
            reader = Reader::pcap(d["pcap"].cast<std::string>());
        else if (!d["reader"].is_none()) {
            const auto& source = d["reader"].cast<const SourceOfPackets&>();
            reader = source.reader;
            pinned = source.pinned;
        } else if (config.backend == Backend::kernel)
            reader = Reader::sockets();
    }
    RecvConfig config;
    std::optional<Reader> reader;  ///< none: a port
    std::shared_ptr<Bytes> pinned;
};

/// Fills chunks of a ring, which stays until no thread uses it.
class DeclaredStream {
  public:
    DeclaredStream(const py::dict& settings, const Placement& placement, const py::object& ring)
        : source_(settings), ring_(ring) {
        auto& chunks = ring.cast<LentChunkRing&>();
        const ChunkConfig window = chunks_of(settings);
        const WithoutGil released;
        if (source_.reader)
            stream_.emplace(source_.config, *source_.reader, placement, chunks.ring(), window);
        else
            stream_.emplace(Process::shared(), source_.config, placement, chunks.ring(), window);
    }
    DeclaredStream(ChunkStreamGroup& group, const py::dict& settings,
                   const std::optional<Placement>& placement, const py::object& ring)
        : source_(settings), ring_(ring) {
        const WithoutGil released;
        if (source_.reader && placement)
            stream_.emplace(group.add(source_.config, *source_.reader, *placement));
        else if (source_.reader)
            stream_.emplace(group.add(source_.config, *source_.reader));
        else if (placement)
            stream_.emplace(group.add(source_.config, *placement));
        else
            stream_.emplace(group.add(source_.config));
    }
    ~DeclaredStream() {
        if (!end_stream(stream_))
            ring_.inc_ref();
    }
    DeclaredStream(const DeclaredStream&) = delete;
    DeclaredStream& operator=(const DeclaredStream&) = delete;

    void start() {
        const WithoutGil released;
        stream_->start();
    }
    void stop() {
        const WithoutGil released;
        stream_->stop();
    }
    py::dict stats() const {
        std::optional<ChunkStats> s;
        {
            const WithoutGil released;
            s = stream_->stats();
        }
        return dict_of(*s);
    }
    const std::string& name() const noexcept { return stream_->name(); }

  private:
    Source source_;
    py::object ring_;
    std::optional<ChunkStream> stream_;
};

class DeclaredGroup {
  public:
    DeclaredGroup(const py::dict& settings, bool has_port, const Placement& placement, const py::object& ring)
        : ring_(ring) {
        auto& chunks = ring.cast<LentChunkRing&>();
        const ChunkConfig window = chunks_of(settings);
        const WithoutGil released;
        if (has_port)
            group_.emplace(Process::shared(), placement, chunks.ring(), window);
        else
            group_.emplace(placement, chunks.ring(), window);
    }
    ~DeclaredGroup() {
        const WithoutGil released;
        group_.reset();
    }
    DeclaredGroup(const DeclaredGroup&) = delete;
    DeclaredGroup& operator=(const DeclaredGroup&) = delete;

    std::unique_ptr<DeclaredStream> add(const py::dict& settings, const std::optional<Placement>& placement) {
        return std::make_unique<DeclaredStream>(*group_, settings, placement, ring_);
    }
    void start() {
        const WithoutGil released;
        group_->start();
    }
    void stop() {
        const WithoutGil released;
        group_->stop();
    }

  private:
    py::object ring_;
    std::optional<ChunkStreamGroup> group_;
};

void define_lent_chunks(py::module_& m) {
    const auto of = [](auto member) { return [member](const LentChunk& c) { return c.get().*member; }; };
    py::class_<LentChunk>(m, "LentChunk", "Is a chunk that was taken. Arrays keep it.")
        .def_property_readonly("id", of(&Chunk::id))
        .def_property_readonly("stream", of(&Chunk::stream))
        .def_property_readonly("heaps_present", of(&Chunk::heaps_present))
        .def_property_readonly("heaps_expected", of(&Chunk::heaps_expected))
        .def_property_readonly("packets", of(&Chunk::packets))
        .def_property_readonly("doubled", of(&Chunk::doubled))
        .def_property_readonly("first_time", of(&Chunk::first_time))
        .def_property_readonly("last_time", of(&Chunk::last_time))
        .def_property_readonly(
            "index", [](const LentChunk& c) { return reinterpret_cast<std::uintptr_t>(c.get().user); })
        .def("data", [](const py::object& self) { return LentChunk::array(self, LentChunk::data); })
        .def("present", [](const py::object& self) { return LentChunk::array(self, LentChunk::present); })
        .def("extra", [](const py::object& self) { return LentChunk::array(self, LentChunk::extra); });
    using Buffers = std::vector<std::tuple<py::object, py::object, py::object>>;
    py::class_<LentChunkRing>(m, "LentChunkRing", "Holds chunks for the user.")
        .def(py::init<const Placement&, std::size_t>(), py::arg("placement"), py::arg("chunks"))
        .def(py::init<const Placement&, const Buffers&>(), py::arg("placement"), py::arg("buffers"))
        .def("try_get", &LentChunkRing::try_get)
        .def("get", &LentChunkRing::get, py::arg("timeout") = py::none())
        .def("counts", &LentChunkRing::counts)
        .def("stop", [](LentChunkRing& r) { r.ring().stop(); })
        .def_property_readonly("ended", [](LentChunkRing& r) { return r.ring().ended(); })
        .def_property_readonly("fd", [](LentChunkRing& r) { return r.ring().fd(); });
}

}  // namespace

void define_declared_chunks(py::module_& m) {
    // The first type of numpy imports numpy, under a lock that another thread would wait for with the GIL.
    static_cast<void>(py::dtype::of<std::uint8_t>());
    py::class_<Placement>(m, "Placement", "Says where heaps go.")
        .def(py::init([](const std::string& text) { return Placement::parse(text); }), py::arg("text"))
        .def_property_readonly("text", &Placement::text)
        .def_property_readonly("heaps", &Placement::heaps)
        .def_property_readonly("bytes", &Placement::bytes)
        .def_property_readonly("present_bytes", &Placement::present_bytes)
        .def_property_readonly("extra_bytes", &Placement::extra_bytes)
        .def("explain", &Placement::explain);
    define_lent_chunks(m);
    py::class_<DeclaredStream>(m, "ChunkStream", "Fills chunks of a ring.")
        .def(py::init<const py::dict&, const Placement&, const py::object&>(), py::arg("settings"),
             py::arg("placement"), py::arg("ring"))
        .def("start", &DeclaredStream::start)
        .def("stop", &DeclaredStream::stop)
        .def("stats", &DeclaredStream::stats)
        .def_property_readonly("name", &DeclaredStream::name);
    py::class_<DeclaredGroup>(m, "ChunkGroup", "Joins streams that fill the same chunks.")
        .def(py::init<const py::dict&, bool, const Placement&, const py::object&>(), py::arg("settings"),
             py::arg("has_port"), py::arg("placement"), py::arg("ring"))
        .def("add", &DeclaredGroup::add, py::arg("settings"), py::arg("placement"))
        .def("start", &DeclaredGroup::start)
        .def("stop", &DeclaredGroup::stop);
}

}  // namespace spead::python
