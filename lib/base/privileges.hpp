// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// What of root's power the threads of this process have: capabilities(7), which are each thread's own.
namespace spead {

/// A set of CAP_* numbers.
class Privileges {
  public:
    constexpr Privileges() = default;
    constexpr Privileges(std::initializer_list<int> numbers) {
        for (const int n : numbers)
            bits_ |= std::uint64_t{1} << n;
    }
    static constexpr Privileges of_bits(std::uint64_t bits) {
        Privileges p;
        p.bits_ = bits;
        return p;
    }

    constexpr std::uint64_t bits() const { return bits_; }
    constexpr bool has(int number) const { return (bits_ >> number & 1) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr Privileges operator|(Privileges other) const { return of_bits(bits_ | other.bits_); }
    constexpr Privileges operator&(Privileges other) const { return of_bits(bits_ & other.bits_); }
    constexpr Privileges& operator|=(Privileges other) { return *this = *this | other; }
    constexpr bool operator==(const Privileges&) const = default;

    /// "CAP_NET_ADMIN", ..., in the kernel's order.
    std::vector<std::string> names() const;

  private:
    std::uint64_t bits_ = 0;
};

/// The capabilities that the calling thread has or could take (its permitted ones).
Privileges permitted_privileges();

/// From now on no program that this process runs gains anything by being set-user-ID or having capabilities
/// of its own (PR_SET_NO_NEW_PRIVS). For the calling thread and those it starts.
void refuse_new_privileges() noexcept;

/// Leaves the calling thread, and programs that it runs, with no capabilities, whoever's they are. False: the
/// kernel did not do it.
bool give_up_privileges_here() noexcept;

/// Leaves all threads of this process with those capabilities of `kept` that they have, takes the others from
/// the bounding set where the thread may (CAP_SETPCAP), and leaves nothing to programs that they run but what
/// these have by being root's. Threads that DPDK has started are reached by a signal, SIGRTMAX - 1, whose
/// handler, which stays, asks the kernel. Sleeps and polls of theirs may return early once.
///
/// Returns the names of threads that still have more after `patience` (one that blocks every signal, or that
/// gets no CPU); empty: all have done it. For one thread at a time.
std::vector<std::string> keep_privileges(Privileges kept, std::chrono::milliseconds patience);

}  // namespace spead
