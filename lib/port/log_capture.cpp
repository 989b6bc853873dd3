// SPDX-License-Identifier: BSD-3-Clause
#include "port/log_capture.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_log.h>

#include "base/error.hpp"

namespace spead::port {

namespace {

/// Takes the first line off, with its end.
std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    return line;
}

}  // namespace

LogCapture::LogCapture() : memory_(open_memstream(&text_, &size_)), before_(rte_log_get_stream()) {
    if (memory_ == nullptr) {
        throw Error("no memory to capture EAL's log");
    }
    rte_openlog_stream(memory_);
}

LogCapture::~LogCapture() {
    rte_openlog_stream(before_);
    std::fclose(memory_);
    for (std::string_view rest{text_ + passed_, size_ - passed_}; !rest.empty();) {
        const std::string_view line = take_line(rest);
        if (!is_left_out(line)) {
            std::fwrite(line.data(), 1, line.size(), before_);
        }
    }
    std::fflush(before_);
    std::free(text_);
}

bool LogCapture::is_left_out(std::string_view line) const {
    return std::ranges::any_of(
        left_out_, [line](const std::string& text) { return line.find(text) != std::string_view::npos; });
}

void LogCapture::flush() {
    std::fflush(memory_);
}

void LogCapture::discard() {
    flush();
    passed_ = size_;
}

std::string LogCapture::take_reason() {
    flush();
    std::string_view rest{text_ + passed_, size_ - passed_};
    std::vector<std::string> lines;
    while (!rest.empty()) {
        std::string_view line = take_line(rest);
        if (is_left_out(line)) {
            continue;
        }
        // "eth_memif_probe(): text" and "EAL: text": the reader wants the text.
        if (const auto call = line.find("(): "); call != std::string_view::npos) {
            line.remove_prefix(call + 4);
        }
        if (line.starts_with("EAL: ")) {
            line.remove_prefix(5);
        }
        while (!line.empty() &&
               (line.back() == ' ' || line.back() == '\n' || line.back() == '\r' || line.back() == '.')) {
            line.remove_suffix(1);
        }
        if (!line.empty() && std::ranges::find(lines, line) == lines.end()) {
            lines.emplace_back(line);
        }
    }
    passed_ = size_;
    return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace spead::port
