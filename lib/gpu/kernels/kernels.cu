// SPDX-License-Identifier: BSD-3-Clause
/// Holds the kernels, for every GPU from compute capability 7.5 on: the driver compiles them for the one it finds.
#include "gpu/kernels/gather.hpp"

#define SPEAD_KERNEL extern "C" __attribute__((global)) void

using namespace spead::gpu;

namespace {

__attribute__((device)) unsigned thread_number() {
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

}  // namespace

/// Copies `count` pieces, each by a warp.
SPEAD_KERNEL spead_gather(const kernels::Piece* pieces, unsigned count) {
    const unsigned number = thread_number() / kernels::kLanes;
    if (number < count)
        kernels::copy_piece(pieces[number], thread_number() % kernels::kLanes);
}

/// Reads `words` words of 16 bytes, and writes next to nothing: the limit of what a kernel can read.
SPEAD_KERNEL spead_read(const kernels::Word* from, unsigned long long words, unsigned long long* sum) {
    constexpr unsigned kAtOnce = 8;
    const unsigned long long threads =
        static_cast<unsigned long long>(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x();
    unsigned long long all = 0;
    for (unsigned long long i = thread_number(); i < words; i += kAtOnce * threads) {
        kernels::Word got[kAtOnce];
        for (unsigned k = 0; k < kAtOnce; k++)
            got[k] = i + k * threads < words ? from[i + k * threads] : kernels::Word{};
        for (unsigned k = 0; k < kAtOnce; k++)
            all ^= got[k][0] ^ got[k][1];
    }
    // Never so: payload is made so that words are not alike.
    if (all == 1)
        *sum = all;
}
