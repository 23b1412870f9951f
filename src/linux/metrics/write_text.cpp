#include "linux/metrics/write_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/parse.h"
#include "base/text.h"

namespace fathom::metrics {
namespace {

// Bytes of the character that `text` begins with; 0: it is no UTF-8.
std::size_t character_size(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  // Longer than it has to be, half of a pair, beyond the last character.
  if (first == 0xe0 && at(1) < 0xa0) return 0;
  if (first == 0xed && at(1) > 0x9f) return 0;
  if (first == 0xf0 && at(1) < 0x90) return 0;
  if (first == 0xf4 && at(1) > 0x8f) return 0;
  return size;
}

// In HELP of Prometheus' format a quote stands for itself; everywhere else it is escaped.
void put_escaped(std::string& out, std::string_view text, bool quotes) {
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else if (text[0] == '\n') {
      out += "\\n";
    } else if (text[0] == '\\') {
      out += "\\\\";
    } else if (text[0] == '"' && quotes) {
      out += "\\\"";
    } else if (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f) {
      out += '?';  // lines are also looked at on terminals
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

void put_value(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else if (value == std::trunc(value) && std::fabs(value) < 1e15) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void put_sample(std::string& out, const Sample& sample) {
  out += sample.name;
  char before = '{';
  for (const Label& label : sample.labels) {
    out += before;
    out += label.name;
    out += "=\"";
    put_escaped(out, label.value, true);
    out += '"';
    before = ',';
  }
  if (before == ',') out += '}';
  out += ' ';
  put_value(out, sample.value);
  out += '\n';
}

}  // namespace

std::string_view to_string(Type type) {
  static constexpr std::array<std::string_view, 7> kNames{"unknown", "gauge", "counter", "histogram",
                                                          "summary", "info",  "stateset"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string write_text(std::span<const Family> families, Format format) {
  const bool open = format == Format::kOpenMetrics;
  std::string out;
  for (const Family& family : families) {
    if (family.samples.empty()) continue;
    // The older format knows a counter by the name that its samples have, and types that came later not at all.
    const std::string name = family.name + (!open && family.type == Type::kCounter ? "_total"
                                            : family.type == Type::kInfo && !open  ? "_info"
                                                                                   : "");
    std::string_view type = to_string(family.type);
    if (!open && family.type == Type::kUnknown) type = "untyped";
    if (!open && (family.type == Type::kInfo || family.type == Type::kStateSet)) type = "gauge";
    out += "# HELP " + name + " ";
    put_escaped(out, family.help, open);
    out += "\n# TYPE " + name + " " + std::string(type) + "\n";
    if (open && !family.unit.empty()) out += "# UNIT " + name + " " + family.unit + "\n";
    for (const Sample& sample : family.samples) put_sample(out, sample);
  }
  if (open) out += "# EOF\n";
  return out;
}

std::string_view content_type(Format format) {
  return format == Format::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                        : "text/plain; version=0.0.4; charset=utf-8";
}

Format choose_format(std::string_view accept) {
  double best_open = 0, best_text = 0;
  while (!accept.empty()) {
    std::string_view entry = take_until(accept, ',');
    double quality = 1;
    bool known_version = true;
    const std::size_t first = entry.find(';');
    std::string_view type = entry.substr(0, first);
    std::string_view rest = first == entry.npos ? std::string_view() : entry.substr(first + 1);
    type = trimmed(type, " \t");
    while (!rest.empty()) {
      const std::string_view parameter = trimmed(take_until(rest, ';'), " \t");
      if (parameter.starts_with("q=")) {
        quality = parse_number<double>(parameter.substr(2)).value_or(0);
      } else if (parameter.starts_with("version=")) {
        known_version = parameter == "version=1.0.0" || parameter == "version=0.0.1";
      }
    }
    if (type == "application/openmetrics-text" && known_version) best_open = std::max(best_open, quality);
    if (type == "text/plain" || type == "text/*" || type == "*/*") best_text = std::max(best_text, quality);
  }
  return best_open > 0 && best_open >= best_text ? Format::kOpenMetrics : Format::kPrometheus;
}

}  // namespace fathom::metrics
