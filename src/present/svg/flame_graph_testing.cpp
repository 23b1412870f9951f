#include "present/svg/flame_graph_testing.h"

#include <array>

#include "analysis/core/words.h"

namespace fathom::present {
namespace {

constexpr std::string_view kNameEnd = " \t\n/>=\"'<&";

std::optional<std::string> text_mistake(std::string_view text) {
  if (analysis::valid_utf8(text) != text) return "bytes that are no UTF-8";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') return "a control character";
    if (text.substr(i).starts_with("\xEF\xBF\xBE") || text.substr(i).starts_with("\xEF\xBF\xBF"))
      return "a noncharacter";
    if (text[i] == '<') return "< in text";
    if (text.substr(i).starts_with("]]>")) return "]]> in text";
    if (text[i] != '&') continue;
    bool known = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      known = known || text.substr(i).starts_with(entity);
    }
    if (!known) return "& without an entity";
  }
  return std::nullopt;
}

// One tag without its brackets; its name goes into `name`.
std::optional<std::string> tag_mistake(std::string_view tag, std::string& name) {
  std::size_t at = std::min(tag.find_first_of(kNameEnd), tag.size());
  name = tag.substr(0, at);
  if (name.empty()) return "a tag without name";
  std::vector<std::string> seen;
  while (true) {
    const std::size_t start = tag.find_first_not_of(" \t\n", at);
    if (start == std::string_view::npos) return std::nullopt;
    const std::size_t equals = tag.find_first_of(kNameEnd, start);
    if (equals == std::string_view::npos || tag[equals] != '=' || tag.substr(equals, 2) != "=\"")
      return "an odd attribute";
    const std::size_t close = tag.find('"', equals + 2);
    if (close == std::string_view::npos) return "an open attribute";
    if (auto mistake = text_mistake(tag.substr(equals + 2, close - equals - 2))) return mistake;
    for (const std::string& other : seen) {
      if (other == tag.substr(start, equals - start)) return "an attribute twice";
    }
    seen.emplace_back(tag.substr(start, equals - start));
    at = close + 1;
  }
}

}  // namespace

std::optional<std::string> xml_mistake(std::string_view text) {
  const auto at_line = [&](std::size_t at, const std::string& what) {
    std::size_t line = 1;
    for (const char c : text.substr(0, at)) line += c == '\n' ? 1 : 0;
    return "line " + std::to_string(line) + ": " + what;
  };
  std::vector<std::string> open;
  std::size_t roots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto skip = [&](std::string_view from, std::string_view to) {
      if (!rest.starts_with(from)) return false;
      const std::size_t end = rest.find(to, from.size());
      at = end == std::string_view::npos ? text.size() + 1 : at + end + to.size();
      return true;
    };
    if (skip("<?xml ", "?>") || skip("<!--", "-->") || skip("<![CDATA[", "]]>")) {
      if (at > text.size()) return at_line(text.size(), "the end is missing");
      continue;
    }
    if (rest[0] != '<') {
      const std::size_t end = std::min(rest.find('<'), rest.size());
      if (auto mistake = text_mistake(rest.substr(0, end))) return at_line(at, *mistake);
      if (open.empty() && rest.substr(0, end).find_first_not_of(" \n\t") != std::string_view::npos) {
        return at_line(at, "text outside of the root");
      }
      at += end;
      continue;
    }
    const std::size_t end = rest.find('>');
    if (end == std::string_view::npos) return at_line(at, "a tag without end");
    std::string_view tag = rest.substr(1, end - 1);
    std::string name;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1))
        return at_line(at, "closes what is not open: " + std::string(tag));
      open.pop_back();
    } else {
      const bool closed = tag.ends_with('/');
      if (closed) tag.remove_suffix(1);
      if (auto mistake = tag_mistake(tag, name)) return at_line(at, *mistake);
      if (open.empty() && ++roots > 1) return at_line(at, "a second root");
      if (!closed) open.push_back(name);
    }
    at += end + 1;
  }
  if (!open.empty()) return at_line(text.size(), "not closed: " + open.back());
  if (roots != 1) return "no root";
  return std::nullopt;
}

}  // namespace fathom::present
