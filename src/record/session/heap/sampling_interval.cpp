#include "record/session/heap/sampling_interval.h"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::session {
namespace {

constexpr std::uint32_t kMost = 1u << 30;

std::string size_text(std::uint32_t bytes) {
  if (bytes >= 1u << 20) return fmt::format("{:.4g} MiB", bytes / 1048576.0);
  if (bytes >= 1u << 10) return fmt::format("{:.4g} KiB", bytes / 1024.0);
  return fmt::format("{} bytes", bytes);
}

}  // namespace

std::optional<std::uint32_t> SamplingInterval::after_round(std::uint64_t samples, std::uint64_t at_ns) {
  const std::lock_guard guard(lock_);
  return samples > kMostPerRound && now_ < kMost ? change(now_ * 2, at_ns) : std::nullopt;
}

std::optional<std::uint32_t> SamplingInterval::after_second(std::uint64_t samples, std::uint64_t at_ns) {
  const std::lock_guard guard(lock_);
  if (samples > kMostPerSecond && now_ < kMost) return change(now_ * 2, at_ns);
  if (samples < kMostPerSecond / 4 && now_ > chosen_) return change(std::max(now_ / 2, chosen_), at_ns);
  return std::nullopt;
}

std::optional<std::uint32_t> SamplingInterval::change(std::uint32_t to, std::uint64_t at_ns) {
  if (fixed_) return std::nullopt;
  now_ = to;
  last_ = {at_ns, to};
  ++changes_;
  if (first_.size() < kMostTold) first_.push_back(last_);
  return to;
}

std::uint64_t SamplingInterval::changes() const {
  const std::lock_guard guard(lock_);
  return changes_;
}

std::string SamplingInterval::sentence(std::uint64_t start_ns) const {
  const std::lock_guard guard(lock_);
  if (changes_ == 0) return "";
  const auto text_of = [start_ns](const Change& change) {
    const std::uint64_t after_ns = change.at_ns > start_ns ? change.at_ns - start_ns : 0;
    return fmt::format(", {} from {:.1f} s on", size_text(change.bytes),
                       static_cast<double>(after_ns) * 1e-9);
  };
  std::string text = fmt::format(
      "the sampling interval changed {}, as samples came too often for it (more than {} a second cost too much) or came rarely again: {}",
      changes_ == 1 ? std::string("once") : fmt::format("{} times", changes_), kMostPerSecond,
      size_text(chosen_));
  for (const Change& change : first_) text += text_of(change);
  if (changes_ > kMostTold + 1) text += fmt::format(" ... ({} more)", changes_ - kMostTold - 1);
  if (changes_ > kMostTold) text += text_of(last_);
  return text + "; --heap-fixed-interval forbids it";
}

}  // namespace fathom::session
