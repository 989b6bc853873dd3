// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_writer_notices.hpp"

#include <utility>

#include "base/log.hpp"

namespace spead::runtime {

void tell_of_pwrite(const sink::RawWriter& writer, const std::string& stream) {
    if (!writer.why_pwrite().empty())
        log_notice(
            LogType::runtime,
            "stream {}: the sink writes with pwrite, one block after the other: io_uring is refused: {}",
            stream, writer.why_pwrite());
}

std::function<void()> no_direct_notice(std::string stream, std::string path) {
    return [stream = std::move(stream), path = std::move(path)] {
        log_notice(
            LogType::runtime,
            "stream {}: the sink writes through the page cache: the file system of {} refuses O_DIRECT",
            stream, path);
    };
}

}  // namespace spead::runtime
