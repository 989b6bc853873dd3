// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// Manages the capabilities(7) of this process's threads, which are each thread's own.
namespace spead {

/// Holds a set of CAP_* numbers.
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

    /// Returns the names "CAP_NET_ADMIN", ..., in the kernel's order.
    std::vector<std::string> names() const;

  private:
    std::uint64_t bits_ = 0;
};

/// Returns the capabilities that the calling thread has or could take (its permitted ones).
Privileges permitted_privileges();

/// Prevents programs that this process runs from gaining privileges by being set-user-ID or having
/// capabilities of their own (PR_SET_NO_NEW_PRIVS). For the calling thread and those it starts.
void refuse_new_privileges() noexcept;

/// Drops all capabilities of the calling thread, and of programs that it runs, for any user. Returns false
/// when the kernel did not do it.
bool give_up_privileges_here() noexcept;

/// Reduces all threads of this process to those capabilities of `kept` that they have. Removes the others
/// from the bounding set if the thread may (CAP_SETPCAP). Programs that they run get none but those that
/// root's programs have. Threads of DPDK are reached by a signal, SIGRTMAX - 1, whose handler, which stays,
/// calls the kernel. Their sleeps and polls may return early once.
///
/// Returns the names of threads that still have more after `patience` (one that blocks every signal, or that
/// gets no CPU); empty: all have done it. For one thread at a time.
std::vector<std::string> keep_privileges(Privileges kept, std::chrono::milliseconds patience);

}  // namespace spead
