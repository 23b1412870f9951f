// Lines of a text that comes in pieces: only a line whose end has not come is kept.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fathom::formats {

class Lines {
 public:
  // Every line that ends in `piece`, without its "\n" -> visit(line). All of them stay valid until the next call.
  template <class Visit>
  void add(std::string_view piece, Visit visit) {
    if (!begun_.empty()) {
      const std::size_t end = piece.find('\n');
      keep(piece.substr(0, end));
      if (end == std::string_view::npos) return;
      take_begun();
      visit(std::string_view(whole_));
      piece.remove_prefix(end + 1);
    }
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1))
      visit(piece.substr(0, end));
    keep(piece);
  }
  // The last line, where it does not end in "\n".
  template <class Visit>
  void finish(Visit visit) {
    take_begun();
    if (!whole_.empty()) visit(std::string_view(whole_));
  }

 private:
  // No line of a profile is longer; a file without lines would fill the memory.
  static constexpr std::size_t kLongestLine = std::size_t{64} << 20;
  void keep(std::string_view part) {
    begun_.append(part.substr(0, kLongestLine - std::min(kLongestLine, begun_.size())));
  }
  void take_begun() {
    whole_.swap(begun_);
    begun_.clear();
  }
  std::string begun_, whole_;
};

}  // namespace fathom::formats
