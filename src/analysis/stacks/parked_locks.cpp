#include "analysis/stacks/parked_locks.h"

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

namespace fathom::stacks {
namespace {

using analysis::FutexKind;

// ThreadData has five words, so the lock's address is at most four words away from the one that the thread waits at.
constexpr std::size_t kReach = 4, kWords = 2 * kReach + 1;
constexpr std::uint64_t kLeastAddress = 65'536;  // nothing is mapped below

struct Parked {
  Awaited* awaited = nullptr;
  std::array<std::uint64_t, kWords> words = {};  // words[kReach] holds the futex word
};

bool waits_for_parked_lock(const ThreadLook& thread) {
  const Awaited& awaited = thread.awaited;
  return awaited.cause == analysis::Cause::kFutex && awaited.family == LockFamily::kParkingLot &&
         (awaited.futex == FutexKind::kLock || awaited.futex == FutexKind::kReaderWriter);
}

// A mutex is a byte, held (1) and with waiters (2). A reader-writer lock is a word: two bits for waiters, then an upgradable reader, a
// writer, and the number of readers.
bool is_held_with_waiters(const ProcessMemory& memory, std::int32_t pid, FutexKind kind, std::uint64_t lock) {
  constexpr std::uint64_t kWaiters = 3, kMost = 1 << 24;
  std::uint64_t word = 0;
  const std::size_t size = kind == FutexKind::kReaderWriter ? sizeof word : 1;
  if (!memory(pid, lock, std::as_writable_bytes(std::span(&word, 1)).first(size))) return false;
  if (kind != FutexKind::kReaderWriter) return word == 3;
  return (word & kWaiters) != 0 && (word & ~kWaiters) != 0 && word < kMost;
}

// A writer that waits until readers have left queues at the lock's address plus one.
std::uint64_t lock_at(const Parked& parked, std::size_t place) {
  const std::uint64_t word = parked.words[place];
  return parked.awaited->futex == FutexKind::kReaderWriter ? word & ~std::uint64_t{1} : word;
}

std::optional<std::size_t> place_of_locks(const ProcessMemory& memory, std::int32_t pid,
                                          const std::vector<Parked>& all) {
  std::optional<std::size_t> found;
  for (std::size_t place = 0; place < kWords; ++place) {
    if (place == kReach) continue;
    bool fits = true;
    for (const Parked& parked : all) {
      const std::uint64_t lock = lock_at(parked, place);
      fits = fits && lock >= kLeastAddress && is_held_with_waiters(memory, pid, parked.awaited->futex, lock);
    }
    if (!fits) continue;
    if (found) return std::nullopt;
    found = place;
  }
  return found;
}

}  // namespace

void find_parked_locks(const ProcessMemory& memory, Look& look) {
  std::map<std::int32_t, std::vector<Parked>> processes;
  for (ThreadLook& thread : look.threads) {
    if (!waits_for_parked_lock(thread)) continue;
    Parked parked{&thread.awaited, {}};
    const std::uint64_t start = (thread.awaited.address & ~std::uint64_t{7}) - kReach * sizeof(std::uint64_t);
    thread.awaited.address = 0;
    if (memory(thread.pid, start, std::as_writable_bytes(std::span(parked.words))))
      processes[thread.pid].push_back(parked);
  }
  for (const auto& [pid, all] : processes) {
    const auto place = place_of_locks(memory, pid, all);
    if (!place) continue;
    for (const Parked& parked : all) parked.awaited->address = lock_at(parked, *place);
  }
}

}  // namespace fathom::stacks
