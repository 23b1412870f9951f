// The mean distance of samples of a heap while it is recorded: it grows where samples come so often that they would
// cost the program too much, and shrinks again afterwards. What became of it is kept, as ± and what can be missed
// depend on it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fathom::session {

// Any thread.
class SamplingInterval {
 public:
  // Above it the interval grows: a sample costs about a microsecond.
  static constexpr std::uint64_t kMostPerSecond = 2000;
  static constexpr std::uint64_t kMostPerRound = 400;  // a burst is cut at once, not after a second

  // `fixed`: it stays as it is, whatever comes.
  SamplingInterval(std::uint32_t bytes, bool fixed) : chosen_(bytes), fixed_(fixed), now_(bytes) {}

  // So many samples came in one round of some 20 ms, or in a second. What is to be ordered, if that is another interval.
  std::optional<std::uint32_t> after_round(std::uint64_t samples, std::uint64_t at_ns);
  std::optional<std::uint32_t> after_second(std::uint64_t samples, std::uint64_t at_ns);

  std::uint64_t changes() const;
  // "the sampling interval was changed twice, as ...: 512 KiB, 1 MiB from 0.3 s on ..."; empty where it never was.
  std::string sentence(std::uint64_t start_ns) const;

 private:
  struct Change {
    std::uint64_t at_ns;
    std::uint32_t bytes;
  };
  static constexpr std::size_t kMostTold = 6;

  std::optional<std::uint32_t> change(std::uint32_t to, std::uint64_t at_ns);

  const std::uint32_t chosen_;
  const bool fixed_;
  mutable std::mutex lock_;
  std::uint32_t now_;
  std::uint64_t changes_ = 0;
  std::vector<Change> first_;  // kMostTold at most
  Change last_{};
};

}  // namespace fathom::session
