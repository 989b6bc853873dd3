// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pcap_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4;
constexpr std::uint32_t kNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kLinkTypeMask = 0x03FFFFFF;  // the rest says whether frames carry their FCS
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::size_t kWindow = std::size_t{1} << 20;

/// Bytes of a file in order, through a window.
class Reader {
  public:
    Reader(const std::string& path, const std::string& where) : path_(path), where_(where) {
        fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd_ < 0) {
            throw_error(where, "cannot open the capture file {}: {}", path, std::strerror(errno));
        }
        struct stat facts {};
        if (::fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
            ::close(fd_);
            throw_error(
                where,
                "{} is not a regular file: a capture is read once to be checked and once to be replayed",
                path);
        }
        size_ = static_cast<std::uint64_t>(facts.st_size);
        ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    ~Reader() { ::close(fd_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    std::uint64_t size() const noexcept { return size_; }

    /// The `count` bytes at `offset`; the caller knows that the file has them.
    const std::uint8_t* at(std::uint64_t offset, std::size_t count) {
        if (offset < start_ || offset + count > start_ + filled_) {
            fill(offset, count);
        }
        return window_.data() + (offset - start_);
    }

  private:
    void fill(std::uint64_t offset, std::size_t least) {
        start_ = offset;
        filled_ = 0;
        while (filled_ < least) {
            const ssize_t n = ::pread(fd_, window_.data() + filled_, window_.size() - filled_,
                                      static_cast<off_t>(start_ + filled_));
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n <= 0) {
                throw_error(where_, "cannot read the capture file {} at byte {}: {}", path_, start_ + filled_,
                            n < 0 ? std::strerror(errno) : "it became shorter");
            }
            filled_ += static_cast<std::size_t>(n);
        }
    }

    std::string path_;
    std::string where_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t start_ = 0;
    std::size_t filled_ = 0;
    std::vector<std::uint8_t> window_ = std::vector<std::uint8_t>(kWindow);
};

std::string_view name_of_link_type(std::uint32_t type) {
    switch (type) {
        case 0:
            return "BSD loopback";
        case 12:
        case 14:
        case 101:
            return "raw IP";
        case 105:
            return "IEEE 802.11";
        case 108:
            return "OpenBSD loopback";
        case 113:
            return "Linux cooked v1, as captured with `tcpdump -i any`";
        case 127:
            return "IEEE 802.11 with radiotap";
        case 197:
            return "Endace ERF";
        case 228:
            return "raw IPv4";
        case 229:
            return "raw IPv6";
        case 276:
            return "Linux cooked v2, as captured with `tcpdump -i any`";
        default:
            return "tcpdump.org/linktypes.html lists it";
    }
}

template <std::size_t N>
bool starts_with(const std::uint8_t* bytes, std::uint64_t size, const std::array<std::uint8_t, N>& magic) {
    return size >= N && std::memcmp(bytes, magic.data(), N) == 0;
}

constexpr std::array<std::uint8_t, 4> kPcapng{0x0A, 0x0D, 0x0D, 0x0A};
constexpr std::array<std::uint8_t, 2> kGzip{0x1F, 0x8B};
constexpr std::array<std::uint8_t, 4> kZstd{0x28, 0xB5, 0x2F, 0xFD};
constexpr std::array<std::uint8_t, 6> kXz{0xFD, '7', 'z', 'X', 'Z', 0x00};

[[noreturn]] void refuse_format(const std::string& path, const std::string& where, const std::uint8_t* bytes,
                                std::uint64_t size) {
    if (starts_with(bytes, size, kPcapng)) {
        throw_error(where,
                    "{} is a pcapng file, which net_pcap cannot replay; convert it with `editcap -F pcap {} "
                    "OUT.pcap` "
                    "or `tshark -F pcap -r {} -w OUT.pcap`",
                    path, path, path);
    }
    for (const auto& [found, program] : {std::pair{starts_with(bytes, size, kGzip), "gzip"},
                                         std::pair{starts_with(bytes, size, kZstd), "zstd"},
                                         std::pair{starts_with(bytes, size, kXz), "xz"}}) {
        if (found) {
            throw_error(where, "{} is compressed; decompress it first with `{} -dk {}`", path, program, path);
        }
    }
    throw_error(where, "{} is not a pcap file: it starts with {:02x} {:02x} {:02x} {:02x}", path, bytes[0],
                bytes[1], bytes[2], bytes[3]);
}

class HostOrder {
  public:
    explicit HostOrder(bool swapped) : swapped_(swapped) {}
    std::uint16_t u16(const std::uint8_t* at) const { return load<std::uint16_t>(at); }
    std::uint32_t u32(const std::uint8_t* at) const { return load<std::uint32_t>(at); }

  private:
    template <typename T>
    T load(const std::uint8_t* at) const {
        T value;
        std::memcpy(&value, at, sizeof value);
        return swapped_ ? byte_swap(value) : value;
    }
    bool swapped_;
};

/// Checks the file's header; `snap_length` becomes what it says a record holds at most.
PcapSummary read_header(Reader& file, const std::string& path, const std::string& where,
                        std::uint32_t& snap_length) {
    if (file.size() == 0) {
        throw_error(where, "the capture file {} is empty", path);
    }
    if (file.size() < kPcapHeader) {
        throw_error(where, "{} has {} bytes, a pcap file starts with a header of {}", path, file.size(),
                    kPcapHeader);
    }
    const std::uint8_t* header = file.at(0, kPcapHeader);
    PcapSummary summary;
    const std::uint32_t magic = HostOrder{false}.u32(header);
    if (magic == kMicroseconds || magic == kNanoseconds) {
        summary.nanoseconds = magic == kNanoseconds;
    } else if (byte_swap(magic) == kMicroseconds || byte_swap(magic) == kNanoseconds) {
        summary.nanoseconds = byte_swap(magic) == kNanoseconds;
        summary.swapped = true;
    } else {
        refuse_format(path, where, header, file.size());
    }
    const HostOrder order{summary.swapped};
    if (order.u16(header + 4) != 2 || order.u16(header + 6) != 4) {
        throw_error(
            where, "{} is a pcap file of version {}.{}; convert it to 2.4 with `editcap -F pcap {} OUT.pcap`",
            path, order.u16(header + 4), order.u16(header + 6), path);
    }
    const std::uint32_t link_type = order.u32(header + 20) & kLinkTypeMask;
    if (link_type != kLinkTypeEthernet) {
        throw_error(where,
                    "{} holds no Ethernet frames: its link type is {} ({}); capture on an Ethernet interface",
                    path, link_type, name_of_link_type(link_type));
    }
    snap_length = order.u32(header + 16);
    if (snap_length == 0 || snap_length > kPcapMaxRecord) {
        snap_length = kPcapMaxRecord;
    }
    return summary;
}

}  // namespace

PcapSummary read_pcap_summary(const std::string& path, const std::string& where) {
    Reader file(path, where);
    std::uint32_t snap_length = 0;
    PcapSummary summary = read_header(file, path, where, snap_length);
    const HostOrder order{summary.swapped};
    std::uint64_t offset = kPcapHeader;
    while (offset < file.size()) {
        const std::uint64_t left = file.size() - offset;
        if (left < kPcapRecordHeader) {
            summary.truncated = true;
            break;
        }
        const std::uint8_t* record = file.at(offset, kPcapRecordHeader);
        const std::uint32_t captured = order.u32(record + 8);
        const std::uint32_t on_wire = order.u32(record + 12);
        if (captured > kPcapMaxRecord) {
            summary.truncated = summary.damaged = true;
            break;
        }
        if (left - kPcapRecordHeader < captured) {
            summary.truncated = true;
            break;
        }
        const std::uint32_t delivered = std::min(captured, snap_length);
        ++summary.packets;
        summary.bytes += delivered;
        if (delivered > summary.largest_packet) {
            summary.largest_packet = delivered;
            summary.largest_at = summary.packets;
        }
        if (delivered < on_wire) {
            summary.first_cut = summary.cut_packets == 0 ? summary.packets : summary.first_cut;
            ++summary.cut_packets;
        }
        offset += kPcapRecordHeader + captured;
    }
    summary.truncated_at = summary.truncated ? offset : 0;
    return summary;
}

}  // namespace spead::drivers
