// Are the shares of the functions that take most known well enough to stop recording? Fed with samples as they come; the
// error is that of a comparison (estimate.h): from sampling, and from how the shares varied over time where that is more.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace fathom::analysis {

struct KnownShare {
  std::uint64_t function = 0;
  double share = 0;       // of all samples
  double half_width = 0;  // of its interval: with 95 % certainty those of all that are returned together hold
};

class StableShares {
 public:
  // A sample at `time_ns` after the start whose leaf is `leaf`: any number that stands for a place. Late ones are taken, too.
  void add(std::uint64_t time_ns, std::uint32_t leaf, std::int64_t value = 1);

  // The `most` functions that take most by themselves, largest first, of the pieces of time that are whole by `now_ns`.
  // `function_of` says which function a leaf belongs to; it may know more from one call to the next. Empty: less than
  // kLeastPieces pieces are whole, or there are less than kLeastSamples.
  std::vector<KnownShare> top(std::uint64_t now_ns, std::size_t most,
                              const std::function<std::uint64_t(std::uint32_t)>& function_of) const;

  static constexpr std::size_t kLeastPieces = 10;  // phases that are longer than the recording are not seen
  static constexpr std::int64_t kLeastSamples = 500;

 private:
  // Memory is bounded: once there are so many, two become one of twice the time.
  static constexpr std::size_t kMostPieces = 60;
  using Piece = std::unordered_map<std::uint32_t, std::int64_t>;
  void halve();

  std::vector<Piece> pieces_;
  std::uint64_t piece_ns_ = 1'000'000'000;
};

}  // namespace fathom::analysis
