// The selected waits of each thread in the order in which they began, as numbers of Waits::rows(): four bytes for each, because an
// hour of a server has millions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/core/waits.h"

namespace fathom::analysis {

class WaitsByThread {
 public:
  // Waits that took less than `least_ns` are left out. `waits` outlives it.
  explicit WaitsByThread(const Waits& waits, std::uint64_t least_ns = 0) : waits_(waits) {
    const std::size_t threads = waits.profile().threads.size();
    const auto takes = [&](const SelectedWait& row) { return row.wait.waited_ns >= least_ns; };
    std::vector<std::uint32_t> counts(threads);
    for (const SelectedWait& row : waits.rows())
      if (takes(row)) ++counts[row.wait.thread.value];
    numbers_.resize(threads);
    for (std::size_t i = 0; i < threads; ++i) numbers_[i].reserve(counts[i]);
    std::vector<std::uint64_t> last(threads);
    std::vector<char> mixed(threads);
    std::uint32_t at = 0;
    for (const SelectedWait& row : waits.rows()) {
      const std::uint32_t number = at++, thread = row.wait.thread.value;
      if (!takes(row)) continue;
      numbers_[thread].push_back(number);
      mixed[thread] = static_cast<char>(mixed[thread] != 0 || row.wait.start_ns < last[thread]);
      last[thread] = row.wait.start_ns;
    }
    for (std::size_t i = 0; i < threads; ++i)
      if (mixed[i] != 0)
        std::ranges::stable_sort(numbers_[i], {}, [&](std::uint32_t number) { return start_of(number); });
  }

  const std::vector<std::uint32_t>& of(model::ThreadId thread) const { return numbers_[thread.value]; }
  // The number in of(thread) of the first wait that began at `time_ns` or later; its size if none did.
  std::size_t first_since(model::ThreadId thread, std::uint64_t time_ns) const {
    const std::vector<std::uint32_t>& rows = of(thread);
    const auto at =
        std::ranges::lower_bound(rows, time_ns, {}, [&](std::uint32_t number) { return start_of(number); });
    return static_cast<std::size_t>(at - rows.begin());
  }

 private:
  std::uint64_t start_of(std::uint32_t number) const { return waits_.rows()[number].wait.start_ns; }

  const Waits& waits_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by thread
};

}  // namespace fathom::analysis
