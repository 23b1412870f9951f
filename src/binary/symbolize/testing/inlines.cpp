// A program whose functions are inlined into one another in all the ways that names have to survive:
// templates, lambdas, namespaces, local classes, constructors, recursion, cold paths. It is a fixture: tests
// ask for the names of its addresses, and addr2line is asked the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" std::uint64_t plain_mix(std::uint64_t value, unsigned rounds);  // plain.c

namespace store {

namespace {
inline std::uint64_t rotate(std::uint64_t value, unsigned by) {
  return (value << by) | (value >> (64 - by));
}
}  // namespace

template <class Key, unsigned kRounds>
struct Hasher {
  std::uint64_t operator()(const Key& key) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const auto each : key) hash = mix(hash, static_cast<std::uint64_t>(each));
    return hash;
  }
  static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    for (unsigned i = 0; i < kRounds; ++i) hash = rotate(hash ^ value, 13) * 31;
    return hash;
  }
};

class Bucket {
 public:
  explicit Bucket(std::size_t size) : slots_(size, 1) { seed(size); }
  std::uint64_t sum() const {
    std::uint64_t total = 0;
    std::for_each(slots_.begin(), slots_.end(), [&total](std::uint64_t slot) { total += rotate(slot, 7); });
    return total;
  }
  bool operator<(const Bucket& other) const { return sum() < other.sum(); }
  template <class Function>
  void visit(Function&& function) {
    for (auto& slot : slots_) slot = function(slot);
  }

 private:
  void seed(std::size_t size) {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      slots_[i] = Hasher<std::array<int, 2>, 2>{}({int(i), int(size)});
  }
  std::vector<std::uint64_t> slots_;
};

[[gnu::noinline]] std::uint64_t fill(Bucket& bucket, unsigned rounds) {
  bucket.visit([rounds](std::uint64_t slot) { return plain_mix(slot, rounds); });
  return bucket.sum();
}

[[gnu::noinline]] std::uint64_t checked(std::uint64_t value) {
  if (value == 42) throw std::runtime_error("value " + std::to_string(value));
  struct Local {
    static std::uint64_t twice(std::uint64_t of) {
      return rotate(of, 1) + Hasher<std::string, 1>{}(std::to_string(of));
    }
  };
  return Local::twice(value);
}

template <class T>
[[gnu::noinline]] T reduce(const std::vector<T>& values) {
  T total{};
  for (const auto& value : values) total += value;
  return total;
}

}  // namespace store

namespace {
[[gnu::noinline]] std::uint64_t descend(unsigned depth, std::map<std::string, std::uint64_t>& seen) {
  if (depth == 0) return seen.size();
  seen["depth " + std::to_string(depth)] += depth;
  return descend(depth - 1, seen) + store::Hasher<std::string, 3>{}(seen.begin()->first);
}
}  // namespace

int main(int argc, char**) {
  std::vector<store::Bucket> buckets;
  for (int i = 1; i < 8; ++i) buckets.emplace_back(static_cast<std::size_t>(i * argc));
  std::sort(buckets.begin(), buckets.end());
  std::uint64_t total = 0;
  for (auto& bucket : buckets) total += store::fill(bucket, 3) + store::checked(total);
  std::map<std::string, std::uint64_t> seen;
  total += descend(5, seen) + store::reduce(std::vector<std::uint64_t>{1, 2, total});
  total += static_cast<std::uint64_t>(store::reduce(std::vector<double>{1.5, 2.5}));
  auto owner = std::make_unique<std::string>(std::to_string(total));
  std::puts(owner->c_str());
  return std::getenv("NO_SUCH_VARIABLE") != nullptr ? 1 : 0;
}
