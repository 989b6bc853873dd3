// SPDX-License-Identifier: BSD-3-Clause
#include "wire/known_formats.hpp"

#include <algorithm>
#include <array>

namespace spead::wire {

namespace {

// Heap counts join what tells packets of a stream apart, within 63 bits. Bits for which they have no room are
// required to be 0, but those of counters, which wrap. VDIF's station has no room: a stream of heaps is of
// one. Formats without a magic number refuse SPEAD. Ids of items are those of MeerKAT where it has the same
// value.

constexpr std::string_view kPst = R"(header 96; little;
field sequence: u64 at 0 & 0x7FFFFFFFF; field second: u32 at 16;
field channel: u32 at 48 & 0x1FFFF; field channel_beyond: u32 at 48 >> 17;
field channels: u16 at 52; field valid: u16 at 54; field samples: u16 at 56;
field beam: u16 at 58 & 0x7FF; field beam_beyond: u16 at 58 >> 11;
field magic: u32 at 60; field scan: u64 at 72 & 0xFFFFFFFFFFFF;
require magic = 0xBEADFEED; require channel_beyond = 0; require beam_beyond = 0; invalid valid = 0;
item 0x1600: sequence; item 0x1601: second; item 0x4103: channel; item 0x4104: channels;
item 0x4105: samples; item 0x4101: beam; item 0x1602: scan;
count sequence * 268435456 + channel * 2048 + beam)";

constexpr std::string_view kAta = R"(header 16; big; refuse spead;
field version: u8 at 0; field type: u8 at 1; field channels: u16 at 2; field channel: u16 at 4;
field antenna: u16 at 6 & 0x1FF; field beyond: u16 at 6 >> 9; field time: u64 at 8 & 0x3FFFFFFFFF;
require beyond = 0;
item 0x1600: time; item 0x4101: antenna; item 0x4103: channel; item 0x4104: channels; item 0x4106: type;
count time * 33554432 + channel * 512 + antenna)";

constexpr std::string_view kSnap2 = R"(header 32; big; refuse spead;
field sequence: u64 at 0 & 0xFFFFFFFFFF; field sync: u32 at 8; field block: u32 at 20;
field channel: u32 at 24 & 0x1FFF; field channel_beyond: u32 at 24 >> 13;
field pol: u32 at 28 & 0x3FF; field pol_beyond: u32 at 28 >> 10;
require channel_beyond = 0; require pol_beyond = 0;
item 0x1600: sequence; item 0x1603: sync; item 0x4103: channel; item 0x4101: pol; item 0x4107: block;
count sequence * 8388608 + channel * 1024 + pol)";

constexpr std::string_view kVdif = R"(header 32; little; refuse spead;
field second: u32 at 0 & 0x1FFFFFFF; field second_beyond: u32 at 0 >> 29 & 1; field legacy: u32 at 0 >> 30 & 1;
field unusable: u32 at 0 >> 31; field frame: u32 at 4 & 0xFFFFFF; field epoch: u32 at 4 >> 24 & 0x3F;
field length: u32 at 8 & 0xFFFFFF; field station: u32 at 12 & 0xFFFF; field thread: u32 at 12 >> 16 & 0x3FF;
require second_beyond = 0; require legacy = 0; invalid unusable = 1;
payload length * 8 - 32;
item 0x1600: second; item 0x1601: frame; item 0x4101: thread; item 0x4100: station; item 0x1604: epoch;
count second * 17179869184 + frame * 1024 + thread)";

constexpr std::string_view kVdifLegacy = R"(vdif; header 16; require legacy = 1; payload length * 8 - 16)";

constexpr std::array kFormats{
    KnownFormat{"pst", kPst, "SKA pulsar timing and search: weights, then data, both in the payload",
                "SKA CBF to PST interface, version 1.3.1"},
    KnownFormat{"ata", kAta, "Allen Telescope Array, SNAP boards: voltages of an antenna",
                "hpguppi_daq, hpguppi_atasnap.h"},
    KnownFormat{"snap2", kSnap2, "OVRO-LWA, SNAP2 boards: voltages of a block of channels",
                "bifrost, formats/snap2.hpp"},
    KnownFormat{"vdif", kVdif, "VLBI data interchange format, headers of 32 bytes",
                "VDIF specification, release 1.1.1"},
    KnownFormat{"vdif_legacy", kVdifLegacy, "VDIF, headers of 16 bytes", "VDIF specification, release 1.1.1"},
};

}  // namespace

std::span<const KnownFormat> known_formats() noexcept {
    return kFormats;
}

const KnownFormat* find_format(std::string_view name) noexcept {
    const auto* const it = std::find_if(kFormats.begin(), kFormats.end(),
                                        [name](const KnownFormat& f) { return f.name == name; });
    return it == kFormats.end() ? nullptr : it;
}

}  // namespace spead::wire
