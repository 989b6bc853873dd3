// SPDX-License-Identifier: BSD-3-Clause
#include "config/sink_rules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file_use.hpp"
#include "config/names.hpp"
#include "runtime/hdf5_sink.hpp"
#include "runtime/zarr_sink.hpp"

namespace spead::config {

using runtime::ReceivePlan;
using runtime::SinkKind;

void check_directories(const runtime::SinkPlan& sink, const std::string& where) {
    const std::vector<std::string>& all = sink.directories;
    if (all.empty())
        return;
    if (sink.kind != SinkKind::raw)
        throw_usage(where, "`directories` is for a raw sink, and this one is `{}`; give it one `directory`",
                    name_in(kSinkKinds, sink.kind));
    if (!sink.directory.empty())
        throw_usage(where, "the sink has `directory` and `directories`; leave one of them out");
    if (all.size() > kMostDirectories)
        throw_usage(where, "{} directories are given; give 1 to {}", all.size(), kMostDirectories);
    for (std::size_t i = 0; i < all.size(); i++) {
        if (all[i].empty())
            throw_usage(where, "a directory of the list has no name; give each a name");
        for (std::size_t k = 0; k < i; k++)
            if (same_file(all[i], all[k]))
                throw_usage(where, "`{}` and `{}` are the same directory; give each once", all[k], all[i]);
    }
}

void check_arrays(const ReceivePlan& stream, const std::function<std::string(std::string_view key)>& place) {
    const runtime::SinkPlan& sink = stream.sink;
    const std::string_view kind = name_in(kSinkKinds, sink.kind);
    const bool arrays = sink.kind == SinkKind::zarr || sink.kind == SinkKind::hdf5;
    if (!arrays && sink.dtype != runtime::SinkPlan{}.dtype)
        throw_usage(place("dtype"), "`dtype` is for a zarr or hdf5 sink, and this one is `{}`; leave it out",
                    kind);
    for (const auto& [key, text] : {std::pair{"columns", sink.columns}, std::pair{"column", sink.column}})
        if (sink.kind != SinkKind::zarr && !text.empty())
            throw_usage(place(key), "`{}` is for a zarr sink, and this one is `{}`; leave it out", key, kind);
    if (!arrays)
        return;
    if (!stream.chunk)
        throw_usage(place("kind"),
                    "a {} sink writes chunks, and stream `{}` has heaps only; give it a placement "
                    "([receive.chunk], --placement)",
                    kind, stream.name);
    if (sink.columns.empty() && !sink.column.empty())
        throw_usage(place("column"), "`column` is a part of an axis, and none is named; give `columns`, too");
    if (!sink.columns.empty() && stream.shard == runtime::ShardScope::stream)
        throw_usage(place("columns"),
                    "one shard has all of stream `{}` (`shard` is `stream`), so there are no columns; leave "
                    "`columns` or `shard` out",
                    stream.name);
    if (sink.kind == SinkKind::zarr)
        runtime::zarr_content(stream, place("dtype"));
    else
        runtime::hdf5_content(stream, place("kind"));
}

void deal_column(ReceivePlan& stream, Shard shard, const std::string& where) {
    if (stream.sink.columns.empty() || !stream.sink.column.empty() || !stream.chunk ||
        stream.shard != runtime::ShardScope::endpoints)
        return;
    stream.sink.column = to_string(shard);
    chunk::Placement placement = chunk::Placement::parse(stream.chunk->placement, where);
    const auto axis = std::find_if(placement.axes.begin(), placement.axes.end(),
                                   [&](const chunk::Axis& a) { return a.name == stream.sink.columns; });
    if (axis == placement.axes.end() ||
        (axis->term.kind != chunk::Term::Kind::item && axis->term.kind != chunk::Term::Kind::heap))
        return;
    std::uint64_t first = 0;
    if (__builtin_mul_overflow(std::uint64_t{shard.index} * axis->count, axis->term.step, &first) ||
        __builtin_add_overflow(first, axis->term.first, &axis->term.first))
        throw_usage(where,
                    "the axis `{}` of shard {} begins beyond 64 bits; give a smaller step or fewer shards",
                    axis->name, to_string(shard));
    stream.chunk->placement = placement.text();
}

}  // namespace spead::config
