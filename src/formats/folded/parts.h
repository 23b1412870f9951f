// A line of folded text cut at ";".
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace fathom::formats {

class Parts {
 public:
  // `line`: without its count. It outlives the parts.
  void cut(std::string_view line) {
    line_ = line;
    ends_.clear();
    for (std::size_t at = 0; at <= line.size(); at = ends_.back() + 1)
      ends_.push_back(std::min(line.find(';', at), line.size()));
  }

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const { return between(i, i + 1); }
  // The parts [first, end) with what is between them.
  std::string_view between(std::size_t first, std::size_t end) const {
    const std::size_t begin = first == 0 ? 0 : ends_[first - 1] + 1;
    return line_.substr(begin, ends_[end - 1] - begin);
  }

 private:
  std::string_view line_;
  std::vector<std::size_t> ends_;
};

}  // namespace fathom::formats
