// SPDX-License-Identifier: BSD-3-Clause
#include "python/chunk_streams.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <pybind11/stl.h>
#include <spead/chunk.hpp>
#include <spead/process.hpp>
#include <string>
#include <utility>
#include <vector>

#include "python/chunk_rings.hpp"
#include "python/place.hpp"
#include "python/readers.hpp"
#include "python/without_gil.hpp"

/// Binds streams that fill chunks of their user's, from one ring into another.
namespace spead::python {

namespace py = pybind11;

namespace {

using namespace std::chrono_literals;

/// Limits the bytes of a packet where its reader does not.
constexpr std::uint32_t kMaxPacket = 65507;

/// Says how the heaps of a stream are placed, and keeps the user's function.
struct UserPlace {
    UserPlace(py::object where, std::vector<std::uint64_t> items, std::uint32_t packet_bytes,
              std::uint64_t most_extra, const std::vector<bool>& maxima)
        : kept(std::move(where)), callback(parse_place(kept)) {
        callback.items = std::move(items);
        callback.chunk = {.packet_bytes = packet_bytes, .by_chunk = true};
        callback.most_extra = most_extra;
        for (const bool maximum : maxima)
            callback.stats.push_back(maximum ? StatKind::maximum : StatKind::sum);
    }
    py::object kept;
    PlaceCallback callback;
};

/// Describes the other settings.
struct UserSettings {
    std::string name;
    std::uint32_t max_heaps = 4;
    std::uint32_t substreams = 1;
    bool in_order = true;
    bool stop_on_stop_item = true;
    std::vector<unsigned> lcores{};
    // Of a port:
    std::vector<std::string> endpoints{};  ///< none: the stream has no port
    std::string interface {};
    std::size_t buffer_size = 0;
    std::uint32_t max_packet_size = kMaxPacket;
    bool busy = false;

    bool has_port() const noexcept { return !endpoints.empty(); }
    RecvConfig config() const {
        RecvConfig c;
        c.endpoints = endpoints;
        c.interface = interface;
        if (buffer_size != 0)
            c.buffer_size = buffer_size;
        c.poll = busy ? Poll::busy : Poll::adaptive;
        c.name = name;
        c.max_heaps = max_heaps;
        c.substreams = substreams;
        c.in_order = in_order;
        c.history = 0;
        c.once = true;
        c.stop_on_stop_item = stop_on_stop_item;
        c.lcores = lcores;
        c.max_packet_size = max_packet_size;
        // As spead2 does: the network's queue holds what comes meanwhile.
        c.on_full = OnFull::block;
        c.start = false;
        return c;
    }
};

UserSettings settings_of(const py::dict& d) {
    UserSettings s;
    s.name = d["name"].cast<std::string>();
    s.max_heaps = d["max_heaps"].cast<std::uint32_t>();
    s.substreams = d["substreams"].cast<std::uint32_t>();
    s.in_order = d["in_order"].cast<bool>();
    s.stop_on_stop_item = d["stop_on_stop_item"].cast<bool>();
    s.lcores = d["lcores"].cast<std::vector<unsigned>>();
    if (d.contains("endpoints")) {
        s.endpoints = d["endpoints"].cast<std::vector<std::string>>();
        s.interface = d["interface"].cast<std::string>();
        s.buffer_size = d["buffer_size"].cast<std::size_t>();
        s.max_packet_size = d["max_size"].cast<std::uint32_t>();
        s.busy = d["busy"].cast<bool>();
    }
    return s;
}

ChunkConfig window_of(std::uint32_t window, bool lossless, std::uint32_t stream) {
    return {.window = window,
            .eviction = lossless ? Eviction::lossless : Eviction::lossy,
            .patience = 0ns,
            .max_jump = 0,
            .back_fill = true,
            .stream = stream};
}

ChunkRing ring_of(const py::object& free, const py::object& data) {
    return {free.cast<UserChunkRing&>().queue(), data.cast<UserChunkRing&>().queue()};
}

/// Receives into chunks of a ring of Python's. The rings, the place and the readers' memory stay until no
/// thread uses them.
class UserChunkStream {
  public:
    UserChunkStream(const py::dict& settings, UserPlace place, const py::object& free, const py::object& data,
                    std::uint32_t window, std::uint32_t stream)
        : settings_(settings_of(settings)), place_(std::move(place)), free_(free), data_(data) {
        ChunkRing ring = ring_of(free, data);
        const ChunkConfig chunks = window_of(window, false, stream);
        const WithoutGil released;
        if (settings_.has_port())
            stream_.emplace(Process::shared(), settings_.config(), place_.callback, ring, chunks);
        else
            stream_.emplace(settings_.config(), Reader::none(), place_.callback, ring, chunks);
    }
    /// Is a stream of a group.
    UserChunkStream(ChunkStreamGroup& group, const py::dict& settings, UserPlace place,
                    const py::object& free, const py::object& data)
        : settings_(settings_of(settings)), place_(std::move(place)), free_(free), data_(data) {
        const WithoutGil released;
        if (settings_.has_port())
            stream_.emplace(group.add(settings_.config(), place_.callback));
        else
            stream_.emplace(group.add(settings_.config(), Reader::none(), place_.callback));
    }
    ~UserChunkStream() {
        if (!end_stream(stream_))
            place_.kept.inc_ref();
    }
    UserChunkStream(const UserChunkStream&) = delete;
    UserChunkStream& operator=(const UserChunkStream&) = delete;

    void add_reader(const SourceOfPackets& source) {
        if (source.pinned)
            pinned_.push_back(source.pinned);
        const WithoutGil released;
        stream_->add_reader(source.reader);
    }
    void start() {
        const WithoutGil released;
        stream_->start();
    }
    void stop() noexcept {
        const WithoutGil released;
        stream_->stop();
    }
    py::dict stats() const {
        std::optional<ChunkStats> s;
        std::vector<std::uint64_t> own;
        {
            const WithoutGil released;
            s = stream_->stats();
            own = stream_->callback_stats();
        }
        py::dict all = dict_of(*s);
        all["callback_stats"] = own;
        return all;
    }

  private:
    UserSettings settings_;
    UserPlace place_;
    py::object free_;
    py::object data_;
    std::vector<std::shared_ptr<Bytes>> pinned_;
    std::optional<ChunkStream> stream_;
};

/// Joins streams that fill the same chunks. Its settings are those of the first stream.
class UserChunkGroup {
  public:
    UserChunkGroup(const py::object& free, const py::object& data, std::uint32_t window, bool lossless)
        : free_(free), data_(data), window_(window), lossless_(lossless) {
        static_cast<void>(free.cast<UserChunkRing&>());
        static_cast<void>(data.cast<UserChunkRing&>());
    }
    ~UserChunkGroup() {
        const WithoutGil released;
        group_.reset();
    }
    UserChunkGroup(const UserChunkGroup&) = delete;
    UserChunkGroup& operator=(const UserChunkGroup&) = delete;

    std::unique_ptr<UserChunkStream> add(const py::dict& settings, UserPlace place, std::uint32_t stream) {
        make(settings, place.callback, stream);
        return std::make_unique<UserChunkStream>(*group_, settings, std::move(place), free_, data_);
    }
    void stop() {
        bool has_streams = false;
        {
            const Turn turn(making_);
            has_streams = group_.has_value();
        }
        const WithoutGil released;
        if (has_streams)
            group_->stop();
    }

  private:
    /// Makes the group with its first stream. Threads that add streams at the same time wait for it.
    void make(const py::dict& settings, const PlaceCallback& place, std::uint32_t stream) {
        const Turn turn(making_);
        if (group_)
            return;
        ChunkRing ring = ring_of(free_, data_);
        const ChunkConfig chunks = window_of(window_, lossless_, stream);
        const bool has_port = settings_of(settings).has_port();
        const WithoutGil released;
        if (has_port)
            group_.emplace(Process::shared(), place, ring, chunks);
        else
            group_.emplace(place, ring, chunks);
    }

    py::object free_;
    py::object data_;
    std::uint32_t window_;
    bool lossless_;
    std::mutex making_;
    std::optional<ChunkStreamGroup> group_;
};

}  // namespace

bool end_stream(std::optional<ChunkStream>& stream) {
    const WithoutGil released;
    if (!stream)
        return true;
    stream->stop();
    const bool idle = stream->idle();
    stream.reset();
    return idle;
}

py::dict dict_of(const ChunkStats& s) {
    py::dict d;
    d["packets"] = s.packets;
    d["packets_placed"] = s.packets_placed;
    d["packets_duplicate"] = s.packets_duplicate;
    d["packets_late"] = s.packets_late;
    d["packets_future"] = s.packets_future;
    d["packets_no_chunk"] = s.packets_no_chunk;
    d["packets_no_memory"] = s.packets_no_memory;
    d["packets_filtered"] = s.packets_filtered;
    d["packets_control"] = s.packets_control;
    d["packets_stopped"] = s.packets_stopped;
    d["packets_captured"] = s.packets_captured;
    d["packets_rejected"] = s.packets_rejected;
    d["packets_lost"] = s.packets_lost;
    d["bytes"] = s.bytes;
    d["chunks_opened"] = s.chunks_opened;
    d["chunks_handed_over"] = s.chunks_handed_over;
    d["chunks_timed_out"] = s.chunks_timed_out;
    d["chunks_skipped"] = s.chunks_skipped;
    d["chunks_taken"] = s.chunks_taken;
    d["chunks_complete"] = s.chunks_complete;
    d["heaps_present"] = s.heaps_present;
    d["heaps_expected"] = s.heaps_expected;
    d["doubled"] = s.doubled;
    d["heaps_evicted"] = s.heaps_evicted;
    d["heaps_flushed"] = s.heaps_flushed;
    d["heaps_late"] = s.heaps_late;
    d["resyncs"] = s.resyncs;
    d["bursts"] = s.bursts;
    d["largest_burst"] = s.largest_burst;
    d["blocked"] = s.blocked;
    d["callback_calls"] = s.callback_calls;
    d["callback_heaps"] = s.callback_heaps;
    d["callback_time"] = std::chrono::duration<double>(s.callback_time).count();
    d["callback_rejected"] = s.callback_rejected;
    d["callback_nonsense"] = s.callback_nonsense;
    return d;
}

void define_chunk_streams(py::module_& m) {
    m.def(
        "check_place", [](const py::object& place) { static_cast<void>(parse_place(place)); },
        py::arg("place"), "Raises TypeError, IndexError or ValueError unless this is a place callback.");
    m.def(
        "no_chunk_counts", [] { return dict_of(ChunkStats{}); },
        "Returns the counts of a stream that has not begun, by the library's names.");
    py::class_<UserPlace>(m, "Place", "Says how a place callback is asked about heaps.")
        .def(py::init<py::object, std::vector<std::uint64_t>, std::uint32_t, std::uint64_t,
                      std::vector<bool>>(),
             py::arg("place"), py::arg("items"), py::arg("packet_bytes"), py::arg("most_extra"),
             py::arg("maxima"));
    py::class_<UserChunkStream>(m, "ChunkRingStream", "Fills chunks of a ring, and puts them into another.")
        .def(py::init<const py::dict&, UserPlace, const py::object&, const py::object&, std::uint32_t,
                      std::uint32_t>(),
             py::arg("settings"), py::arg("place"), py::arg("free"), py::arg("data"), py::arg("window"),
             py::arg("stream_id"))
        .def("add_reader", &UserChunkStream::add_reader, py::arg("reader"), "Receives from one more source.")
        .def("start", &UserChunkStream::start, "Receives.")
        .def("stop", &UserChunkStream::stop, "Receives no more, and hands open chunks over.")
        .def("stats", &UserChunkStream::stats, "Returns the counts.");
    py::class_<UserChunkGroup>(m, "ChunkRingGroup", "Joins streams that fill the same chunks.")
        .def(py::init<const py::object&, const py::object&, std::uint32_t, bool>(), py::arg("free"),
             py::arg("data"), py::arg("window"), py::arg("lossless"))
        .def("add", &UserChunkGroup::add, py::arg("settings"), py::arg("place"), py::arg("stream_id"),
             "Adds a stream.")
        .def("stop", &UserChunkGroup::stop, "Stops all streams.");
}

}  // namespace spead::python
