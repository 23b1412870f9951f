// The search for the smallest limit with which a command works: a state machine that gets the result of each
// try. Pure. The caller defines "works". The predicate need not be monotonic (page cache, races), so the last
// step is repeated: a limit that fails a repetition is replaced by the next larger one that worked.
#pragma once

#include <cstdint>
#include <optional>

namespace fathom::limit {

class Bisection {
 public:
  // From `largest` down, until works and fails are at most `resolution` apart; `page`: limits are multiples of it.
  Bisection(std::uint64_t largest, std::uint64_t resolution, std::uint64_t page, int repeats);

  // The limit to try next; nullopt: the search is over.
  std::optional<std::uint64_t> next() const;
  // How that try went. `peak`: what was used of it, if it worked: nothing between it and the limit needs a try.
  void tried(bool works, std::uint64_t peak);

  // The smallest limit that worked each time; nullopt: not even the largest did.
  std::optional<std::uint64_t> smallest() const { return failed_ ? std::nullopt : std::optional(works_); }
  std::uint64_t largest_failure() const { return fails_; }  // 0: none was tried

 private:
  bool narrow() const;
  std::uint64_t rounded(std::uint64_t bytes) const;

  std::uint64_t largest_, resolution_, page_;
  int repeats_;
  std::uint64_t fails_ = 0, works_ = 0;  // works_ 0: the largest is not tried yet
  std::uint64_t guess_ = 0;              // a first try below the largest
  int repeated_ = 0;                     // how often works_ worked again
  bool failed_ = false;
};

}  // namespace fathom::limit
