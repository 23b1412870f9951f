#include "formats/valgrind/call_paths.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace fathom::formats {
namespace {

constexpr std::size_t kMostPaths = 200'000, kMostDepth = 256;
constexpr double kLeastShare = 1e-5;

struct Calls {
  std::uint32_t callee;
  double cost;
};

class Finder {
 public:
  explicit Finder(const CallCosts& costs) : costs_(costs), calls_(costs.self.size()) {
    std::vector<double> called(costs.self.size());
    for (const std::uint64_t self : costs.self) whole_.push_back(static_cast<double>(self));
    for (const auto& [pair, cost] : costs.of_calls) {
      const auto value = static_cast<double>(cost);
      calls_[pair.first].push_back({pair.second, value});
      if (pair.first == pair.second) continue;
      whole_[pair.first] += value;
      called[pair.second] += value;
    }
    // Costs that no call accounts for began in the function itself.
    for (std::uint32_t i = 0; i < whole_.size(); ++i) {
      if (whole_[i] > called[i] * (1 + 1e-9)) add(CallPath::kNone, i, whole_[i] - called[i]);
      all_ += static_cast<double>(costs.self[i]);
    }
  }

  std::vector<CallPath> find() {
    // The largest first, so that a limit cuts off what matters least.
    while (!open_.empty()) {
      const std::uint32_t row = open_.top().second;
      open_.pop();
      const std::uint32_t function = paths_[row].function;
      const double share = parts_[row] / whole_[function];
      if (depths_[row] >= kMostDepth) continue;
      for (const Calls& call : calls_[function])
        if (call.cost * share >= all_ * kLeastShare && paths_.size() < kMostPaths && !is_on(row, call.callee))
          add(row, call.callee, call.cost * share);
    }
    share_out();
    return std::move(paths_);
  }

 private:
  void add(std::uint32_t caller, std::uint32_t function, double part) {
    const auto row = static_cast<std::uint32_t>(paths_.size());
    paths_.push_back({caller, function, 0});
    parts_.push_back(part);
    depths_.push_back(caller == CallPath::kNone ? 1 : depths_[caller] + 1);
    open_.emplace(part, row);
  }

  bool is_on(std::uint32_t row, std::uint32_t function) const {
    for (; row != CallPath::kNone; row = paths_[row].caller)
      if (paths_[row].function == function) return true;
    return false;
  }

  // Of each function's own cost by what its paths are of it, whole numbers that add up to it.
  void share_out() {
    std::vector<double> found(whole_.size()), given(whole_.size());
    for (std::size_t i = 0; i < paths_.size(); ++i) found[paths_[i].function] += parts_[i];
    for (std::uint32_t i = 0; i < whole_.size(); ++i)
      if (costs_.self[i] != 0 && !(found[i] > 0)) {  // on no path that was followed
        paths_.push_back({CallPath::kNone, i, 0});
        parts_.push_back(1);
        found[i] = 1;
      }
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const std::uint32_t function = paths_[i].function;
      if (costs_.self[function] == 0) continue;
      const auto self = static_cast<double>(costs_.self[function]);
      const double before = std::floor(given[function] / found[function] * self + 0.5);
      given[function] += parts_[i];
      // Rounding the sums up to here, and not the parts, loses nothing.
      const double here = std::min(self, std::floor(given[function] / found[function] * self + 0.5));
      paths_[i].value = static_cast<std::int64_t>(here - std::min(before, here));
    }
  }

  const CallCosts& costs_;
  std::vector<std::vector<Calls>> calls_;
  std::vector<double> whole_;  // of each function with all that it called
  double all_ = 0;
  std::vector<CallPath> paths_;
  std::vector<double> parts_;  // of each path with all below it
  std::vector<std::size_t> depths_;
  std::priority_queue<std::pair<double, std::uint32_t>> open_;
};

}  // namespace

std::vector<CallPath> paths_of(const CallCosts& costs) {
  return Finder(costs).find();
}

}  // namespace fathom::formats
