// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Holds the present settings of a run that cures name: values, files, and the ways to change them. Plain
/// data, part of snapshots. Values of 0 and empty texts are unknown, unless said otherwise.
namespace spead::stats {

struct StreamSettings {
    std::uint64_t max_live = 0;
    std::uint64_t queue_depth = 0;
    std::uint64_t substreams = 0;
    std::uint64_t max_packet_size = 0;
    std::uint64_t max_bytes = 0;
    std::uint64_t buffer_size = 0;
    std::uint64_t held_buffers = 0;
    std::uint64_t chunks = 0;  ///< 0: the stream has none
    std::uint64_t window = 0;
    std::uint64_t max_jump = 0;       ///< 0: any number of chunks
    double heap_timeout = 0;          ///< seconds; 0: off
    double chunk_timeout = 0;         ///< seconds; 0: off
    double chunk_patience = 0;        ///< seconds; 0: off
    double path_skew = 0;             ///< seconds; 0: the stream has one path
    std::uint64_t history = 0;        ///< finished heaps that are remembered, for each substream
    double history_time = 0;          ///< seconds for which they are
    bool by_program = false;          ///< a program's calls set them: RecvConfig, ChunkConfig
    std::uint64_t gather_memory = 0;  ///< of the engine that moves its payload; 0: none does
    bool own_memory = false;          ///< its heaps do not lie in [memory] heaps
    bool needs_all = false;           ///< its start is refused without the memory for all open heaps
    bool file_for_each = false;       ///< its sink makes a file for each heap or chunk
    bool is_lossless = false;         ///< its ports lose nothing while they wait
    bool waits = false;               ///< for its consumer, rather than lose heaps
    std::string poll;                 ///< the idle mode that it asks its lcores for
    std::string placement;            ///< of heaps in chunks, as the user wrote it
    std::string directory;            ///< of the sink, if it writes to one
    std::string ring;                 ///< of PSRDADA that the sink writes to: its key
    std::uint64_t ring_blocks = 0;
    std::uint64_t ring_block_bytes = 0;
    std::uint64_t ring_readers = 0;
    std::vector<unsigned> cpus;
};

struct SendSettings {
    double rate = 0;     ///< bytes per second; 0: unlimited
    double timeout = 0;  ///< seconds; 0: off
};

struct PortSettings {
    std::string interface;  ///< of the kernel; empty: it sees none
    /// Holds the larger `buffer_size` that gives a longer receive queue, and that queue's length; 0: none
    /// does.
    std::uint64_t larger_buffer = 0;
    std::uint64_t larger_queue = 0;
    /// Holds the device string that gives a longer queue where it fixes the length itself, and that queue's
    /// length is `larger_queue`; empty: none does.
    std::string longer_device;
    std::uint64_t buffer_size = 0;    ///< bytes asked for
    std::uint64_t socket_buffer = 0;  ///< bytes that the kernel granted; 0: the port has no kernel sockets
    std::uint64_t reassemble_datagrams = 0;
    std::uint64_t split = 0;  ///< bytes after which it cuts packets; 0: never
};

struct RunSettings {
    /// Holds the words before a command of the prompt, as a shell reads them: "dpdk-spead attach PATH --";
    /// empty: the process has no control socket.
    std::string attach;
    bool own_prompt = false;    ///< it has a prompt at its own terminal
    std::string configuration;  ///< its file; empty: it has none
    bool by_options = false;    ///< without a file, options of the command line set its values
    /// Lists the options that its command has; empty: unknown, and all are taken to be there.
    std::vector<std::string> options;
    std::uint64_t heap_memory = 0;       ///< [memory] heaps
    std::uint64_t memory_free = 0;       ///< MemAvailable of the machine
    std::uint64_t socket_limit = 0;      ///< net.core.rmem_max
    std::vector<unsigned> allowed_cpus;  ///< that the process may use
    std::vector<unsigned> cpus;          ///< of these, those that lcores may use
    std::vector<unsigned> idle_cpus;     ///< whose lcores neither receive nor send
};

}  // namespace spead::stats
