// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/* Sends UDP packets for our endpoints to the AF_XDP socket of the queue on which they arrived. Everything
 * else stays with the kernel: other ports, fragments, ARP, IGMP, ICMP (also of IPv6, with NDP and MLD), TCP,
 * IPv6 with long options or other extension headers, truncated packets.
 *
 * Built by clang for the BPF machine (drivers/meson.build), embedded into the library, loaded by net_af_xdp.
 */
#include "drivers/xdp/steer.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#define MOST_TAGS 2
#define MORE_FRAGMENTS 0x2000
#define FRAGMENT_OFFSET 0x1fff
#define FRAGMENT_OFFSET6 0xfff8
#define MOST_OPTIONS \
    64 /* bytes of IPv6's hop-by-hop and destination options, as lib/wire/net.cpp reads them */
#define VLAN_ID 0x0fff

/* A packet can only go to the socket that is bound to its own queue: the map's index is the queue's. */
struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, STEER_MAX_QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} xsks_map SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, STEER_MAX_ENDPOINTS);
    __type(key, struct SteerKey);
    __type(value, struct SteerValue);
} endpoints SEC(".maps");

/* Counts the packets that went to the kernel, for a user who waits for others. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, STEER_MAX_PASSED);
    __type(key, struct SteerKey);
    __type(value, struct SteerPassed);
} passed SEC(".maps");

/* The header of IPv6 before a fragment (RFC 8200 4.5). */
struct fragment_header {
    __u8 next;
    __u8 reserved;
    __be16 offset;
    __be32 id;
};

struct vlan_tag {
    __be16 control;
    __be16 protocol; /* of the next header */
};

static __always_inline int is_vlan(__be16 protocol) {
    return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/* Holds the addresses and ports of a packet. */
struct packet {
    struct SteerKey key; /* without its source */
    __u32 source[4];
    __u32 fragment; /* 1: it is the first fragment of one */
};

/* Reads an IPv4 header. Returns the UDP header behind it, not yet checked against the end; 0: it is for the
 * kernel. */
static __always_inline const struct udphdr* read_ipv4(void* at, void* end, struct packet* packet) {
    const struct iphdr* ip = at;

    if ((void*)(ip + 1) > end || ip->version != 4 || ip->ihl < 5 || ip->protocol != IPPROTO_UDP ||
        (ip->frag_off & bpf_htons(FRAGMENT_OFFSET)) != 0) {
        return 0;
    }
    packet->fragment = (ip->frag_off & bpf_htons(MORE_FRAGMENTS)) != 0;
    packet->key.version = 4;
    packet->key.address[0] = ip->daddr;
    packet->source[0] = ip->saddr;
    return at + ip->ihl * 4;
}

/* Does the same for IPv6. Short options are passed over. */
static __always_inline const struct udphdr* read_ipv6(void* at, void* end, struct packet* packet) {
    const struct ipv6hdr* ip = at;
    __u32 room = MOST_OPTIONS;
    __u8 next;

    if ((void*)(ip + 1) > end || ip->version != 6) {
        return 0;
    }
    next = ip->nexthdr;
    at = (void*)(ip + 1);
#pragma unroll
    for (int i = 0; i < MOST_OPTIONS / 8; ++i) {
        const struct ipv6_opt_hdr* options = at;
        __u32 length;

        if (next != IPPROTO_DSTOPTS && (next != IPPROTO_HOPOPTS || i != 0)) {
            break;
        }
        if ((void*)(options + 1) > end) {
            return 0;
        }
        length = ((__u32)options->hdrlen + 1) * 8;
        if (length > room) {
            return 0;
        }
        room -= length;
        next = options->nexthdr;
        at += length;
    }
    if (next == IPPROTO_FRAGMENT) {
        const struct fragment_header* header = at;

        if ((void*)(header + 1) > end || (header->offset & bpf_htons(FRAGMENT_OFFSET6)) != 0) {
            return 0;
        }
        packet->fragment = 1;
        next = header->next;
        at = (void*)(header + 1);
    }
    if (next != IPPROTO_UDP) {
        return 0;
    }
    packet->key.version = 6;
    __builtin_memcpy(packet->key.address, &ip->daddr, sizeof packet->key.address);
    __builtin_memcpy(packet->source, &ip->saddr, sizeof packet->source);
    return at;
}

/* Returns the entry of the packet's endpoint, from any source or from this one. */
static __always_inline struct SteerValue* find(struct packet* packet) {
    struct SteerValue* value = bpf_map_lookup_elem(&endpoints, &packet->key);

    if (!value) {
        __builtin_memcpy(packet->key.source, packet->source, sizeof packet->key.source);
        value = bpf_map_lookup_elem(&endpoints, &packet->key);
        __builtin_memset(packet->key.source, 0, sizeof packet->key.source);
    }
    return value;
}

static __always_inline int pass(const struct packet* packet) {
    struct SteerPassed first = {.packets = 1};
    struct SteerPassed* value = bpf_map_lookup_elem(&passed, &packet->key);

    if (value) {
        ++value->packets;
        __builtin_memcpy(value->source, packet->source, sizeof value->source);
    } else {
        __builtin_memcpy(first.source, packet->source, sizeof first.source);
        bpf_map_update_elem(&passed, &packet->key, &first, BPF_NOEXIST);
    }
    return XDP_PASS;
}

SEC("xdp")
int dpdk_spead_xdp(struct xdp_md* context) {
    void* at = (void*)(long)context->data;
    void* const end = (void*)(long)context->data_end;
    const struct ethhdr* ethernet = at;
    __be16 protocol;
    __u32 vlan = STEER_ANY_VLAN;
    int action;

    if ((void*)(ethernet + 1) > end) {
        return XDP_PASS;
    }
    protocol = ethernet->h_proto;
    at = (void*)(ethernet + 1);
#pragma unroll
    for (int i = 0; i < MOST_TAGS; ++i) {
        const struct vlan_tag* tag = at;

        if (!is_vlan(protocol)) {
            break;
        }
        if ((void*)(tag + 1) > end) {
            return XDP_PASS;
        }
        if (vlan == STEER_ANY_VLAN) {
            vlan = bpf_ntohs(tag->control) & VLAN_ID;
        }
        protocol = tag->protocol;
        at = (void*)(tag + 1);
    }

    struct packet packet = {};
    const struct udphdr* udp = 0;

    if (protocol == bpf_htons(ETH_P_IP)) {
        udp = read_ipv4(at, end, &packet);
    } else if (protocol == bpf_htons(ETH_P_IPV6)) {
        udp = read_ipv6(at, end, &packet);
    }
    if (!udp || (void*)(udp + 1) > end) {
        return XDP_PASS;
    }
    packet.key.port = udp->dest;

    struct SteerValue* value = find(&packet);

    /* Only the first fragment has the port, so the kernel gets all of them. */
    if (!value || (value->vlan != STEER_ANY_VLAN && value->vlan != vlan) || packet.fragment) {
        return pass(&packet);
    }
    /* The flags say what happens when no socket is bound to the queue. */
    action = (int)bpf_redirect_map(&xsks_map, context->rx_queue_index, XDP_PASS);
    if (action != XDP_REDIRECT) {
        return pass(&packet);
    }
    ++value->hits;
    return action;
}

char steer_license[] SEC("license") = "Dual BSD/GPL";
