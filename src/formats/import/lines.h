// Lines of a text that comes in pieces: only a line whose end has not come is kept.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fathom::formats {

class Lines {
 public:
  // Every line that ends in `piece`, without its "\n" -> visit(line).
  template <class Visit>
  void add(std::string_view piece, Visit visit) {
    if (!begun_.empty()) {
      const std::size_t end = piece.find('\n');
      keep(piece.substr(0, end));
      if (end == std::string_view::npos) return;
      visit(std::string_view(begun_));
      begun_.clear();
      piece.remove_prefix(end + 1);
    }
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1))
      visit(piece.substr(0, end));
    keep(piece);
  }
  // The last line, where it does not end in "\n".
  template <class Visit>
  void finish(Visit visit) {
    if (!begun_.empty()) visit(std::string_view(begun_));
    begun_.clear();
  }

 private:
  // No line of a profile is longer; a file without lines would fill the memory.
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;
  void keep(std::string_view part) {
    begun_.append(part.substr(0, kLongestLine - std::min(kLongestLine, begun_.size())));
  }
  std::string begun_;
};

}  // namespace fathom::formats
