#include "analysis/core/shown_name.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/core/common_costs.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::analysis {
namespace {

constexpr std::string_view kEllipsis = "…";

std::string_view without_end(std::string_view text, std::string_view end) {
  if (text.ends_with(end)) text.remove_suffix(end.size());
  return text;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// "<..>" may have been cut where a name was too long: "<.…".
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with(kEllipsis)) {
      while (pieces.back().ends_with('.')) pieces.back().pop_back();
      pieces.emplace_back();
      i += kEllipsis.size();
      while (i < text.size() && text[i] == '.') ++i;
    } else if (rest.starts_with("<..>")) {
      pieces.back() += '<';
      pieces.emplace_back(">");
      i += 4;
    } else {
      pieces.back() += text[i++];
    }
  }
  return pieces;
}

// The longest run of letters, which no view changes.
std::string longest_word(const std::vector<std::string>& pieces) {
  std::string longest;
  for (const std::string& piece : pieces)
    for (std::size_t i = 0; i < piece.size();) {
      std::size_t end = i;
      while (end < piece.size() && is_word(piece[end])) ++end;
      if (end - i > longest.size()) longest = piece.substr(i, end - i);
      i = std::max(end, i + 1);
    }
  return longest;
}

// Of what sentences call a function: the part that is of its name.
std::string_view spoken_part(std::string_view text) {
  constexpr std::string_view kUnnamed = "an unnamed function of ";
  if (text.starts_with(kUnnamed) && text.ends_with(')') && text.rfind("(0x") != text.npos) {
    text.remove_prefix(text.rfind("(0x") + 3);
    return text.substr(0, text.size() - 1);
  }
  for (const std::string_view words : {"a lambda in ", "the system call "})
    if (text.starts_with(words)) return text.substr(words.size());
  return text == "page faults" ? "page_fault" : text;
}

std::string joined_path(std::string_view name) {
  std::string path;
  for (const std::string& part : name_parts(name)) path += "::" + part;
  return path;
}

// "::f::{{closure}}" -> "::f"
std::string_view without_closures(std::string_view path) {
  for (std::size_t at; (at = path.rfind("::{")) != path.npos;) path = path.substr(0, at);
  return path;
}

// Of the name of a wait that a function ended: the function.
std::string_view inner_of(std::string_view text) {
  for (const auto& [start, end] :
       {std::pair<std::string_view, std::string_view>{"(woken by ", ")"}, {"woken by ", ""}})
    if (text.size() > start.size() + end.size() && text.starts_with(start) && text.ends_with(end))
      return text.substr(start.size(), text.size() - start.size() - end.size());
  return {};
}

}  // namespace

ShownName::ShownName(std::string_view text) {
  text = without_end(text, " (inlined)");
  if (const std::string_view inner = inner_of(text); !inner.empty()) text = inner;
  text_ = text;
  pieces_ = pieces_of(text);
  key_ = longest_word(pieces_of(spoken_part(text)));
  const bool cut = text.find(kEllipsis) != text.npos && text.find("(…)") == text.npos;
  if (!cut && !text.empty() && !text.ends_with("::")) path_ = joined_path(text);
}

NameFit ShownName::fit(std::string_view name) const {
  if (text_.empty()) return NameFit::kNone;
  if (name == text_) return NameFit::kName;
  if (!key_.empty() && name.find(key_) == name.npos) return NameFit::kNone;
  NameFit best = fit_of_function(name, text_);
  if (const std::string_view inner = inner_of(name); !inner.empty())
    best = std::max(best, fit_of_function(inner, text_));
  return best;
}

NameFit ShownName::fit_of_function(std::string_view name, std::string_view text) const {
  const std::string clean = printable(name), prose = prose_name(name);
  if (clean == text || prose == text || spoken_name(name) == text || spoken_kernel_work(name) == text ||
      valid_utf8(std::string(name)) == text)
    return NameFit::kName;
  const std::string path = joined_path(name);
  if (pieces_.size() > 1) {
    if (fits_gaps(clean, true) || fits_gaps(prose, true) || fits_gaps(without_qualifiers(clean), true) ||
        fits_gaps(without_arguments(clean), true))
      return NameFit::kName;
  }
  if (!path_.empty() && (path.ends_with(path_) || without_closures(path).ends_with(path_)))
    return NameFit::kLike;
  if (pieces_.size() > 1 ? fits_gaps(clean, false) || fits_gaps(prose, false)
                         : clean.find(text) != clean.npos || prose.find(text) != prose.npos)
    return NameFit::kPart;
  return NameFit::kNone;
}

// `whole`: from the start of a part of the path to the end.
bool ShownName::fits_gaps(std::string_view shown, bool whole) const {
  const auto fits_at = [&](std::size_t at) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const std::string& piece = pieces_[i];
      if (whole && i + 1 == pieces_.size()) {
        return shown.size() - at >= piece.size() && shown.ends_with(piece);
      }
      const std::size_t found =
          i == 0 ? (shown.substr(at).starts_with(piece) ? at : shown.npos) : shown.find(piece, at);
      if (found == shown.npos) return false;
      at = found + piece.size();
    }
    return true;
  };
  for (std::size_t at = 0; at <= shown.size();) {
    if (fits_at(at)) return true;
    if (whole) {
      const std::size_t next = shown.find("::", at);
      if (next == shown.npos) return false;
      at = next + 2;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace fathom::analysis
