// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"

namespace spead::config::keys {

namespace {

using runtime::PortPlan;

constexpr std::array kPortKeys{
    Key{
        .name = "name",
        .field = text<&PortPlan::name>,
        .required = true,
        .example = "\"p0\"",
        .help = "Names the port for streams, senders and reports",
    },
    Key{
        .name = "device",
        .field = text<&PortPlan::device>,
        .required = true,
        .example = "\"net_af_packet0,iface=veth0\"",
        .option = "--port",
        .word = "DEVICE",
        .help = "Selects the port's device",
    },
    Key{
        .name = "mtu",
        .field = integer<&PortPlan::mtu>,
        .range = kMtu,
        .zero = true,
        .help = "Sets the largest IP packet, in bytes; 0 = as large as streams and senders need",
    },
    Key{
        .name = "address",
        .field = text<&PortPlan::address>,
        .unset = "the network interface's",
        .example = "\"10.0.0.5\"",
        .option = "--address",
        .word = "ADDRESS",
        .help = "Sets the port's own IPv4 address, the source of sent packets",
        .check =
            [](const std::string& address, const std::string& where) {
                if (address.find(':') != address.npos)
                    throw_usage(where, "`{}` is an IPv6 address; give it as `address6`", address);
                (void)parse_host(address, where);
            },
    },
    Key{
        .name = "address6",
        .field = text<&PortPlan::address6>,
        .unset = "the network interface's",
        .example = "\"fd00::5\"",
        .option = "--address",
        .word = "ADDRESS",
        .help = "Sets the port's own IPv6 address, the source of sent packets",
        .check =
            [](const std::string& address, const std::string& where) {
                if (address.find(':') == address.npos)
                    throw_usage(where, "`{}` is not an IPv6 address; an IPv4 one is given as `address`",
                                address);
                (void)parse_host(address, where);
            },
    },
    Key{
        .name = "vlan",
        .field = integer<&PortPlan::vlan>,
        .range = kVlan,
        .unset = "none",
        .option = "--vlan",
        .help = "Tags sent packets with this VLAN id; rules then steer in no others",
    },
    Key{
        .name = "timestamps",
        .field = choice<&PortPlan::timestamps>,
        .help = "Takes the times of arrival from software, or from the port's hardware",
    },
    Key{
        .name = "udp_checksum",
        .field = flag<&PortPlan::udp_checksum>,
        .option = "--udp-checksum",
        .help = "Checks UDP checksums of received packets, in software where the port does not",
    },
    Key{
        .name = "reassemble",
        .field = flag<&PortPlan::reassemble>,
        .terse = true,
        .option = "--reassemble",
        .help = "Puts packets together that come as IP fragments, up to 8 of each",
    },
    Key{
        .name = "reassemble_datagrams",
        .field = integer<&PortPlan::reassemble_datagrams>,
        .range = kReassembledDatagrams,
        .terse = true,
        .help = "Limits the packets that are in the making from fragments",
    },
    Key{
        .name = "split",
        .field = integer<&PortPlan::split>,
        .range = kSplit,
        .zero = true,
        .terse = true,
        .option = "--split",
        .help = "Cuts packets after N bytes: the rest goes into the memory of gather; 0 = never",
    },
    Key{
        .name = "link_rate",
        .field = rate<&PortPlan::link_rate>,
        .range = kRate,
        .terse = true,
        .help = "Says the rate of the port's link to the command plan; 0 = unknown",
    },
};

}  // namespace

std::span<const Key> port() {
    return kPortKeys;
}

}  // namespace spead::config::keys
