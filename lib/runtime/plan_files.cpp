// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/plan_files.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/file_use.hpp"
#include "capture/pcap_series.hpp"
#include "runtime/chunk_file_sink.hpp"
#include "runtime/file_sink.hpp"
#include "runtime/stored_stream.hpp"

namespace spead::runtime {

namespace {

/// Checks the directory of a file sink, which the sink makes unless its parent is absent, too.
void check_sink_directory(const std::string& path, const std::string& where) {
    std::filesystem::path directory = std::filesystem::path(path).lexically_normal();
    if (!directory.has_filename())
        directory = directory.parent_path();
    const std::filesystem::path parent = directory.parent_path();
    std::error_code failed;
    if (!parent.empty() &&
        std::filesystem::status(parent, failed).type() == std::filesystem::file_type::not_found)
        throw_error(where,
                    "cannot make the directory {} for heaps: there is no directory {}; make it with "
                    "`mkdir -p`",
                    path, parent.string());
}

/// Checks the directory of a capture's file, which nothing makes.
void check_directory(const std::string& path, const std::string& where) {
    const auto parent = std::filesystem::path(path).parent_path();
    std::error_code failed;
    if (!parent.empty() && !std::filesystem::is_directory(parent, failed))
        throw_error(where,
                    "cannot write the capture file {}: there is no directory {}; make it with `mkdir -p`",
                    path, parent.string());
}

}  // namespace

void check_files(const Plan& plan, std::span<const port::PlannedPort> ports) {
    std::vector<FileUse> uses;
    for (const port::PlannedPort& p : ports) {
        const std::string where = port::where(p.request);
        for (const std::string& path : p.device.inputs)
            uses.push_back(FileUse::planned(path, FileUse::Way::read, where + " reads", where));
        for (const std::string& path : p.device.outputs)
            uses.push_back(FileUse::planned(path, FileUse::Way::write, where + " writes", where));
    }
    for (const SendPlan& s : plan.sends)
        if (!s.from.empty())
            uses.push_back(FileUse::planned(StoredStream::index_path(s.from), FileUse::Way::read,
                                            fmt::format("send {} reads", s.name), "send " + s.name));
    for (const ReceivePlan& r : plan.receives) {
        if (has_directory(r.sink.kind)) {
            const std::string where = fmt::format("sink of {}", r.name);
            for (const std::string& directory : directories_of(r.sink)) {
                check_sink_directory(directory, where);
                const std::string lines =
                    r.chunk ? ChunkFileSink::lines_path(directory) : FileSink::lines_path(directory);
                if (r.sink.kind != SinkKind::zarr)
                    uses.push_back(FileUse::planned(lines, FileUse::Way::append,
                                                    fmt::format("the sink of {} writes", r.name), where));
            }
        }
        if (!r.capture)
            continue;
        const std::string where = fmt::format("capture of {}", r.name);
        for (const std::string& path : r.capture->files) {
            check_directory(path, where);
            uses.push_back(FileUse::planned(capture::PcapSeries::first_name(path, *r.capture),
                                            FileUse::Way::write,
                                            fmt::format("the capture of {} writes", r.name), where));
        }
    }
}

}  // namespace spead::runtime
