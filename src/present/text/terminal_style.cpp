#include "present/text/terminal_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fathom::present {
namespace {

constexpr std::string_view kBold = "\x1b[1m", kColor = "\x1b[36m", kPlain = "\x1b[0m";
constexpr std::string_view kLink = "\x1b]8;;", kLinkEnd = "\x1b\\", kScheme = "file://";

bool is_plain_in_link(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
         c == '-' || c == '_';
}

std::size_t color_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

std::size_t link_length(std::string_view text) {
  if (!text.starts_with(kLink)) return 0;
  std::size_t end = kLink.size();
  if (text.substr(end).starts_with(kScheme)) {
    end += kScheme.size();
    while (end < text.size() && (is_plain_in_link(text[end]) || text[end] == '%')) ++end;
  }
  return text.substr(end).starts_with(kLinkEnd) ? end + kLinkEnd.size() : 0;
}

}  // namespace

std::size_t style_length(std::string_view text) {
  const std::size_t color = color_length(text);
  return color != 0 ? color : link_length(text);
}

std::string in_bold(std::string_view text) {
  return fmt::format("{}{}{}", kBold, text, kPlain);
}

std::string with_bold_names(std::string text, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::size_t at = name.empty() ? text.npos : text.find(name);
    if (at != text.npos) text.replace(at, name.size(), in_bold(name));
  }
  return text;
}

std::string linked_place(std::string_view text, std::string_view path) {
  if (text.empty() || !path.starts_with('/')) return std::string(text);
  std::string link;
  for (const char c : path)
    link += is_plain_in_link(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return fmt::format("{}{}{}{}{}{}{}", kLink, kScheme, link, kLinkEnd, text, kLink, kLinkEnd);
}

std::string share_bar(double share, std::size_t columns) {
  constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(share > 0)) return "";
  const auto steps = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::lround(std::min(share, 1.0) * static_cast<double>(8 * columns))));
  std::string bar(kColor);
  for (std::size_t i = 0; i < steps / 8; ++i) bar += "█";
  bar += kParts[steps % 8];
  return bar += kPlain;
}

}  // namespace fathom::present
