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
#include "runtime/file_sink.hpp"

namespace spead::runtime {

namespace {

/// Checks a directory. Those of file sinks are made when missing; those of captures are not.
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
    for (const ReceivePlan& r : plan.receives) {
        if (r.sink.kind == SinkKind::file)
            uses.push_back(FileUse::planned(FileSink::lines_path(r.sink.directory), FileUse::Way::append,
                                            fmt::format("the sink of {} writes", r.name),
                                            fmt::format("sink of {}", r.name)));
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
