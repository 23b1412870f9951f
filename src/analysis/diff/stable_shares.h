// Are the shares of the top functions known well enough to stop recording? Takes samples as they arrive. The
// error is that of a comparison (estimate.h): from sampling, or from the variation of the shares over time if
// that is larger.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace fathom::analysis {

struct KnownShare {
  std::uint64_t function = 0;
  double share = 0;       // of all samples
  double half_width = 0;  // of its interval: with 95 % certainty all returned intervals hold at once
};

class StableShares {
 public:
  // A sample at `time_ns` after the start with the leaf `leaf`: any number that identifies a place. Late
  // samples count, too.
  void add(std::uint64_t time_ns, std::uint32_t leaf, std::int64_t value = 1);

  // The `most` functions with the largest self time, largest first, from the pieces of time that are complete
  // by `now_ns`. `function_of` maps a leaf to its function; it may know more from one call to the next.
  // Empty: fewer than kLeastPieces pieces are complete, or there are fewer than kLeastSamples samples.
  std::vector<KnownShare> top(std::uint64_t now_ns, std::size_t most,
                              const std::function<std::uint64_t(std::uint32_t)>& function_of) const;

  static constexpr std::size_t kLeastPieces = 10;  // phases longer than the recording stay hidden
  static constexpr std::int64_t kLeastSamples = 500;

 private:
  // Bounds the memory: with this many pieces, two are merged into one of twice the time.
  static constexpr std::size_t kMostPieces = 60;
  using Piece = std::unordered_map<std::uint32_t, std::int64_t>;
  void halve();

  std::vector<Piece> pieces_;
  std::uint64_t piece_ns_ = 1'000'000'000;
};

}  // namespace fathom::analysis
