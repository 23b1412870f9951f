#include "tools/limit/bisection.h"

#include <algorithm>

namespace fathom::limit {

Bisection::Bisection(std::uint64_t largest, std::uint64_t resolution, std::uint64_t page, int repeats)
    : largest_(largest), resolution_(std::max(resolution, page)), page_(page), repeats_(repeats) {}

std::uint64_t Bisection::rounded(std::uint64_t bytes) const {
  return (bytes + page_ - 1) / page_ * page_;
}

bool Bisection::narrow() const {
  return works_ != 0 && works_ - fails_ <= resolution_;
}

std::optional<std::uint64_t> Bisection::next() const {
  if (failed_) return std::nullopt;
  if (works_ == 0) return largest_;
  if (narrow()) return repeated_ < repeats_ ? std::optional(works_) : std::nullopt;
  // What it used is where a program without page cache fails: just below and just above it first.
  if (guess_ > fails_ && guess_ < works_) return guess_;
  return std::min(rounded(fails_ + (works_ - fails_) / 2), works_ - page_);
}

void Bisection::tried(bool works, std::uint64_t peak) {
  const auto limit = next();
  if (!limit) return;
  if (works_ == 0) {
    if (!works) {
      failed_ = true;
      return;
    }
    works_ = *limit;
    // A little more than it used: kernel memory is charged in batches.
    constexpr std::uint64_t kBatches = 64;
    guess_ = std::min(rounded(peak) + kBatches * page_, works_);
    return;
  }
  if (*limit == works_) {  // a repetition
    if (works) {
      ++repeated_;
      return;
    }
    // It worked by luck. The next try is above it, and it counts as what fails.
    fails_ = works_;
    works_ = std::min(works_ + resolution_, largest_);
    repeated_ = 0;
    if (works_ == fails_) failed_ = true;
    return;
  }
  (works ? works_ : fails_) = *limit;
  repeated_ = 0;
  if (*limit == guess_) guess_ = works ? (guess_ > resolution_ ? guess_ - resolution_ : 0) : 0;
}

}  // namespace fathom::limit
