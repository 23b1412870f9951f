// A line of folded text cut at ";".
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::formats {

class Parts {
 public:
  // `line`: without its count. It is kept: lines of a sorted text mostly begin as the one before, and of such a line only the rest is
  // searched and copied.
  void cut(std::string_view line) {
    const std::size_t common = common_beginning(line);
    line_.resize(common);
    line_.append(line.substr(common));
    const auto end = std::lower_bound(ends_.begin(), ends_.end(), common);
    ends_.erase(end, ends_.end());  // only those whose ";" is in what is common
    kept_ = ends_.size();
    for (std::size_t at = kept_ == 0 ? 0 : ends_.back() + 1; at <= line_.size(); at = ends_.back() + 1)
      ends_.push_back(std::min(line_.find(';', at), line_.size()));
  }
  // The first parts, with a ";" behind each, that are those of the line before.
  std::size_t kept() const { return kept_; }

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const { return between(i, i + 1); }
  // The parts [first, end) with what is between them.
  std::string_view between(std::size_t first, std::size_t end) const {
    const std::size_t begin = first == 0 ? 0 : ends_[first - 1] + 1;
    return std::string_view(line_).substr(begin, ends_[end - 1] - begin);
  }

 private:
  // Eight bytes at a time.
  std::size_t common_beginning(std::string_view line) const {
    const std::size_t most = std::min(line_.size(), line.size());
    std::size_t at = 0;
    for (std::uint64_t a, b; at + 8 <= most; at += 8) {
      std::memcpy(&a, line_.data() + at, 8);
      std::memcpy(&b, line.data() + at, 8);
      if (a != b) break;
    }
    while (at < most && line_[at] == line[at]) ++at;
    return at;
  }

  std::string line_;
  std::vector<std::size_t> ends_;
  std::size_t kept_ = 0;
};

}  // namespace fathom::formats
