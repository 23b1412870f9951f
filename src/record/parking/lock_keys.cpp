#include "record/parking/lock_keys.h"

#include <sys/uio.h>

#include <algorithm>

#include "record/parking/parked_threads.h"

namespace fathom::parking {
namespace {

// A lock that matters has its waiters among the first ones; reading 256 takes a quarter of a millisecond.
constexpr std::size_t kMostParkers = 256, kMostProcesses = 1024;
constexpr std::uint64_t kFirstPauseNs = 100'000'000, kLongestPauseNs = 1'000'000'000;
constexpr std::uint64_t kPatienceNs = 2'000'000'000;

std::optional<std::int32_t> ask(const ProcessMemory& memory, std::int32_t pid,
                                const std::vector<std::uint64_t>& futexes) {
  std::vector<Parker> parkers;
  for (const std::uint64_t futex : futexes) {
    Parker parker{futex, {}};
    if (memory.read(pid, parker.word_address() - kReach * 8, parker.words)) parkers.push_back(parker);
  }
  std::optional<std::vector<process::MapEntry>> maps;  // read only when there is something to ask of it
  return key_distance(parkers, [&](std::uint64_t address) {
    if (!maps) maps = memory.maps(pid);
    const auto after =
        std::ranges::upper_bound(*maps, ProcessAddress{address}, {}, &process::MapEntry::start);
    return after != maps->begin() && address < std::prev(after)->end.value && std::prev(after)->writable;
  });
}

}  // namespace

ProcessMemory ProcessMemory::of_this_machine() {
  return {[](std::int32_t pid, std::uint64_t address, std::span<std::uint64_t> words) {
            iovec local{words.data(), words.size_bytes()};
            iovec remote{reinterpret_cast<void*>(address), words.size_bytes()};
            return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) ==
                   static_cast<ssize_t>(words.size_bytes());
          },
          [](std::int32_t pid) {
            auto maps = process::read_maps(pid);
            return maps ? std::move(*maps) : std::vector<process::MapEntry>{};
          }};
}

void LockKeys::saw(std::int32_t pid, std::uint64_t futex) {
  if (futex % 4 != 0 || (processes_.size() >= kMostProcesses && !processes_.contains(pid))) return;
  Process& process = processes_[pid];
  if (process.closed) return;
  process.has_new = true;  // a known parker may stand in another queue now
  if (process.futexes.size() < kMostParkers) process.futexes.insert(futex);
}

void LockKeys::forget(std::int32_t pid) {
  processes_.erase(pid);
  if (asking_ && asking_->pid == pid) asking_->forgotten = true;
}

void LockKeys::collect(std::uint64_t now_ns, std::vector<Proof>& proofs) {
  if (!asking_) return;
  const bool done = asking_->work.wait_until(0);
  if (!done && now_ns < asking_->since_ns + kPatienceNs) return;
  const auto found = done ? asking_->work.take() : std::nullopt;
  const auto process = processes_.find(asking_->pid);
  if (process != processes_.end() && !asking_->forgotten) {
    const bool proved = found && *found;
    if (proved) proofs.push_back({asking_->pid, **found});
    if (proved || !done) {
      process->second.closed = true;
      process->second.futexes.clear();
    }
  }
  asking_.reset();
}

std::vector<LockKeys::Proof> LockKeys::prove(std::uint64_t now_ns) {
  std::vector<Proof> proofs;
  collect(now_ns, proofs);
  for (auto& [pid, process] : processes_) {
    if (asking_) break;
    if (process.closed || !process.has_new || now_ns < process.next_try_ns || process.futexes.size() < 2)
      continue;
    process.has_new = false;
    process.pause_ns = std::clamp(2 * process.pause_ns, kFirstPauseNs, kLongestPauseNs);
    process.next_try_ns = now_ns + process.pause_ns;
    auto work = Abandonable<std::optional<std::int32_t>>::start(
        [memory = memory_, pid = pid, futexes = std::vector(process.futexes.begin(), process.futexes.end())] {
          return ask(memory, pid, futexes);
        });
    if (work) asking_.emplace(Asking{std::move(*work), pid, now_ns});
  }
  return proofs;
}

}  // namespace fathom::parking
