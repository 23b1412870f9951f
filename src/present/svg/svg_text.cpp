#include "present/svg/svg_text.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "present/svg/flame_graph_text.h"

namespace fathom::present {

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = take_until(text, ' ');
    if (!line.empty() && text_columns(line) + 1 + text_columns(word) > columns)
      lines.push_back(std::move(line)), line.clear();
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string base64(std::string_view hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : hex) {
    bits = bits << 4 | value(c);
    for (count += 4; count >= 6; count -= 6) out += kDigits[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kDigits[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string svg_prologue(std::string_view picture, std::string_view script_sha256) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- fathom {}. A Content-Security-Policy that allows its script: script-src 'sha256-{}'; style-src 'unsafe-inline' -->\n",
      picture, base64(script_sha256));
}

}  // namespace fathom::present
