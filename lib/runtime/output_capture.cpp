// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output_capture.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace spead::runtime {

OutputCapture::OutputCapture() {
    std::fflush(nullptr);
    begin(out_);
    begin(error_);
}

OutputCapture::~OutputCapture() {
    std::fflush(nullptr);
    for (Stream* const s : {&out_, &error_}) {
        const std::string text = pass_on_ ? text_of(*s) : std::string();
        const int fd = s->fd;
        end(*s);
        for (std::string_view rest = text; !rest.empty();) {
            const ssize_t n = write(fd, rest.data(), rest.size());
            if (n <= 0)
                break;
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
    }
}

void OutputCapture::begin(Stream& stream) {
    const int memory = memfd_create("output", MFD_CLOEXEC);
    const int before = memory < 0 ? -1 : dup(stream.fd);
    if (before < 0 || dup2(memory, stream.fd) < 0) {
        close(before);
        close(memory);
        return;
    }
    stream.before = before;
    stream.memory = memory;
}

void OutputCapture::end(Stream& stream) {
    if (stream.before < 0)
        return;
    dup2(stream.before, stream.fd);
    close(std::exchange(stream.before, -1));
    close(std::exchange(stream.memory, -1));
}

std::string OutputCapture::text_of(const Stream& stream) {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t n = 0;
         (n = pread(stream.memory, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0;)
        text.append(part.data(), static_cast<std::size_t>(n));
    return text;
}

std::vector<std::string> OutputCapture::take_errors() {
    std::fflush(nullptr);
    pass_on_ = false;
    const std::string text = text_of(error_);
    std::vector<std::string> lines;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        constexpr std::string_view kName = "dpdk-spead: ";
        if (line.starts_with(kName))
            line.remove_prefix(kName.size());
        if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
            lines.emplace_back(line);
    }
    return lines;
}

}  // namespace spead::runtime
