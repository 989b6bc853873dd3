/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DPDK_SPEAD_DRIVERS_XDP_STEER_H
#define DPDK_SPEAD_DRIVERS_XDP_STEER_H

#include <linux/types.h>

/* Defines the maps between the XDP program (steer.bpf.c) and the process that fills them. */

/* Names as the kernel shows them (`bpftool prog`, `bpftool map`); it keeps 15 characters. */
#define STEER_PROGRAM "dpdk_spead_xdp"
#define STEER_SOCKETS "xsks_map" /* net_af_xdp looks for this one */
#define STEER_ENDPOINTS "endpoints"
#define STEER_PASSED "passed"

#define STEER_MAX_QUEUES 1024
#define STEER_MAX_ENDPOINTS 16384
#define STEER_ANY_VLAN 0xffff
/* Limits the endpoints with counts of packets left to the kernel: the first ones, so that forged ones cost no
 * memory. */
#define STEER_MAX_PASSED 64

/* Holds the destination and source of a packet, all in network order. */
struct SteerKey {
    __u32 address[4]; /* of IPv4 only the first word, the others 0 */
    __u32 source[4];  /* likewise; 0: any */
    __u16 port;
    __u16 version; /* of IP: 4 or 6, host order */
};

/* One of these per CPU. */
struct SteerValue {
    __u64 hits;   /* packets handed to a socket */
    __u32 vlan;   /* id of the outermost tag, host order; STEER_ANY_VLAN: tagged or not */
    __u32 unused; /* 0 */
};

/* Counts UDP packets to one endpoint that were left to the kernel, by address and port; one per CPU. */
struct SteerPassed {
    __u64 packets;
    __u32 source[4]; /* of the last of them, as in the key */
};

#endif
