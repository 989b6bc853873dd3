// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/plan_files.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file_use.hpp"
#include "capture/pcap_series.hpp"
#include "runtime/file_sink.hpp"

namespace spead::runtime {

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
        for (const std::string& path : r.capture->files)
            uses.push_back(FileUse::planned(
                capture::PcapSeries::first_name(path, *r.capture), FileUse::Way::write,
                fmt::format("the capture of {} writes", r.name), fmt::format("capture of {}", r.name)));
    }
}

}  // namespace spead::runtime
