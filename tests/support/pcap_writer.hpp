// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Writes pcap files for tests, right and wrong ones.
namespace spead::test {

struct PcapFormat {
    std::uint32_t magic = 0xA1B2C3D4;
    bool swapped = false;  ///< in the other byte order
    std::uint16_t major = 2, minor = 4;
    std::uint32_t snap_length = 262144;
    std::uint32_t link_type = 1;
};

class PcapWriter {
  public:
    explicit PcapWriter(const std::string& path, const PcapFormat& format = {})
        : file_(path, std::ios::binary), swapped_(format.swapped) {
        u32(format.magic);
        u16(format.major);
        u16(format.minor);
        u32(0);
        u32(0);
        u32(format.snap_length);
        u32(format.link_type);
    }

    /// Writes one record; `on_wire` is the frame's own length when less was captured.
    void record(const std::vector<std::uint8_t>& bytes, std::uint32_t on_wire = 0) {
        const auto captured = static_cast<std::uint32_t>(bytes.size());
        header(captured, on_wire == 0 ? captured : on_wire);
        raw(bytes.data(), bytes.size());
    }
    void header(std::uint32_t captured, std::uint32_t on_wire) {
        u32(seconds_++);
        u32(0);
        u32(captured);
        u32(on_wire);
    }
    void raw(const void* bytes, std::size_t length) {
        file_.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(length));
    }

  private:
    void u16(std::uint16_t v) {
        v = swapped_ ? __builtin_bswap16(v) : v;
        raw(&v, sizeof v);
    }
    void u32(std::uint32_t v) {
        v = swapped_ ? __builtin_bswap32(v) : v;
        raw(&v, sizeof v);
    }

    std::ofstream file_;
    bool swapped_;
    std::uint32_t seconds_ = 1;
};

inline void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// Returns the captured bytes of every whole record of a classic file in this machine's byte order.
inline std::vector<std::vector<std::uint8_t>> read_pcap(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<std::vector<std::uint8_t>> records;
    file.seekg(24);
    std::uint32_t header[4];
    while (file.read(reinterpret_cast<char*>(header), sizeof header)) {
        std::vector<std::uint8_t> bytes(header[2]);
        if (!file.read(reinterpret_cast<char*>(bytes.data()), header[2])) {
            break;
        }
        records.push_back(std::move(bytes));
    }
    return records;
}

}  // namespace spead::test
