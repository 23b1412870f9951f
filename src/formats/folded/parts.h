// A line of folded text cut at ";". Text that was sorted begins as the line before: what is equal is not cut again.
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
  // `line`: without its count.
  void cut(std::string_view line) {
    std::size_t equal = equal_bytes(line, 0);
    // A thread's name that is as long as the one before.
    const bool is_other_first = !ends_.empty() && equal < ends_[0] && line.size() > ends_[0] &&
                                line[ends_[0]] == ';' &&
                                line.substr(equal, ends_[0] - equal).find(';') == line.npos;
    if (is_other_first) {
      text_.replace(equal, ends_[0] - equal, line.substr(equal, ends_[0] - equal));
      equal = equal_bytes(line, ends_[0]);
    }
    equal_ = 0;
    while (equal_ < ends_.size() && (ends_[equal_] < equal || (ends_[equal_] == equal &&
                                                               (equal == line.size() || line[equal] == ';'))))
      ++equal_;
    first_is_equal_ = equal_ > 0 && !is_other_first;
    ends_.resize(equal_);
    text_.resize(equal);
    text_.append(line.substr(equal));
    for (std::size_t at = equal_ == 0 ? 0 : ends_.back() + 1; at <= line.size(); at = ends_.back() + 1)
      ends_.push_back(std::min(line.find(';', at), line.size()));
  }

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const { return between(i, i + 1); }
  // The parts [first, end) with what is between them.
  std::string_view between(std::size_t first, std::size_t end) const {
    const std::size_t begin = first == 0 ? 0 : ends_[first - 1] + 1;
    return std::string_view(text_).substr(begin, ends_[end - 1] - begin);
  }
  bool first_is_equal() const { return first_is_equal_; }
  // So many parts are those of the line before; the first one counts too where it is only as long.
  std::size_t equal() const { return equal_; }

 private:
  std::size_t equal_bytes(std::string_view line, std::size_t from) const {
    const std::size_t most = std::min(line.size(), text_.size());
    std::size_t at = from;
    for (; at + sizeof(std::uint64_t) <= most; at += sizeof(std::uint64_t)) {
      std::uint64_t a, b;
      std::memcpy(&a, line.data() + at, sizeof(a));
      std::memcpy(&b, text_.data() + at, sizeof(b));
      if (a != b) break;
    }
    while (at < most && line[at] == text_[at]) ++at;
    return at;
  }

  std::string text_;
  std::vector<std::size_t> ends_;
  std::size_t equal_ = 0;
  bool first_is_equal_ = false;
};

}  // namespace fathom::formats
