#include "linux/metrics/read_text.h"

#include <array>
#include <limits>
#include <optional>
#include <unordered_map>

#include "base/parse.h"
#include "base/text.h"

namespace fathom::metrics {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
// One line, from left to right.
class Line {
 public:
  Line(std::string_view text, const ReadBounds& bounds) : rest_(text), bounds_(bounds) {}

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    skip_blanks();
    std::size_t size = 0;
    while (size < rest_.size() && !is_blank(rest_[size])) ++size;
    return take_front(size);
  }
  std::string_view rest() {
    skip_blanks();
    return rest_;
  }
  // Empty: there is none, or it is too long.
  std::string_view name(bool colons) {
    std::size_t size = 0;
    while (size < rest_.size() &&
           (is_letter(rest_[size]) || (size > 0 && is_digit(rest_[size])) || (colons && rest_[size] == ':')))
      ++size;
    return size > bounds_.text_bytes ? std::string_view() : take_front(size);
  }
  std::optional<std::string> quoted() {
    if (!take('"')) return std::nullopt;
    std::string out;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return out;
      }
      if (rest_[i] == '\\') {
        if (++i == rest_.size()) return std::nullopt;
        const char escaped = rest_[i];
        if (escaped == 'n')
          out += '\n';
        else if (escaped == '\\' || escaped == '"')
          out += escaped;
        else
          (out += '\\') += escaped;  // as Prometheus takes it
      } else {
        out += rest_[i];
      }
      if (out.size() > bounds_.text_bytes) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::string_view take_front(std::size_t size) {
    const std::string_view front = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return front;
  }
  std::string_view rest_;
  const ReadBounds& bounds_;
};

std::optional<double> parse_value(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with("-+")) return std::nullopt;
  return parse_number<double>(
      text);  // also "inf", "infinity" and "nan" in any case, as the formats have them
}

std::optional<Type> parse_type(std::string_view word) {
  for (const Type type : {Type::kUnknown, Type::kGauge, Type::kCounter, Type::kHistogram, Type::kSummary,
                          Type::kInfo, Type::kStateSet})
    if (word == to_string(type)) return type;
  if (word == "untyped") return Type::kUnknown;
  if (word == "gaugehistogram") return Type::kHistogram;
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const ReadBounds& bounds) : bounds_(bounds) {}

  ReadMetrics read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line == "# EOF") break;
      if (!take_line(line)) ++out_.malformed_lines;
    }
    std::erase_if(out_.families, [](const Family& family) { return family.samples.empty(); });
    return std::move(out_);
  }

 private:
  bool take_line(std::string_view text) {
    Line line(text, bounds_);
    line.skip_blanks();
    if (line.at_end()) return true;
    if (line.take('#')) return take_comment(line);
    return take_sample(line);
  }

  bool take_comment(Line line) {
    const std::string_view what = line.word();
    if (what != "HELP" && what != "TYPE" && what != "UNIT") return true;  // a remark
    line.skip_blanks();
    const std::string_view name = line.name(true);
    if (name.empty()) return false;
    Family* family = family_of(name);
    if (family == nullptr) return true;  // beyond the bounds
    if (what == "HELP") {
      family->help = line.rest().substr(0, bounds_.text_bytes);
    } else if (what == "UNIT") {
      family->unit = line.word().substr(0, bounds_.text_bytes);
    } else {
      const auto type = parse_type(line.word());
      if (!type) return false;
      family->type = *type;
      if (*type == Type::kCounter && family->name.ends_with("_total") && family->name.size() > 6)
        family->name.resize(family->name.size() - 6);
    }
    return true;
  }

  bool take_sample(Line line) {
    Sample sample;
    sample.name = line.name(true);
    if (sample.name.empty()) return false;
    line.skip_blanks();
    if (line.take('{')) {
      for (;;) {
        line.skip_blanks();
        if (line.take('}')) break;
        Label label;
        label.name = line.name(false);
        line.skip_blanks();
        if (label.name.empty() || !line.take('=')) return false;
        line.skip_blanks();
        auto value = line.quoted();
        if (!value || sample.labels.size() >= bounds_.labels) return false;
        label.value = std::move(*value);
        sample.labels.push_back(std::move(label));
        line.skip_blanks();
        if (line.take(',')) continue;
        if (!line.take('}')) return false;
        break;
      }
    }
    const auto value = parse_value(line.word());
    if (!value) return false;
    sample.value = *value;
    // A time stamp, and an exemplar, may follow.
    const std::string_view stamp = line.word();
    if (!stamp.empty() && stamp != "#" && !parse_value(stamp)) return false;
    if (samples_ >= bounds_.samples) {
      ++out_.dropped_samples;
      return true;
    }
    Family* family = family_of_sample(sample.name);
    if (family == nullptr) {
      ++out_.dropped_samples;
      return true;
    }
    ++samples_;
    family->samples.push_back(std::move(sample));
    return true;
  }

  // Of the name as it was declared, or of the samples' own.
  Family* family_of(std::string_view name) {
    const auto [row, is_new] = index_.try_emplace(std::string(name), out_.families.size());
    if (is_new) {
      if (out_.families.size() >= bounds_.families) {
        index_.erase(row);
        return nullptr;
      }
      out_.families.push_back({.name = std::string(name), .unit = {}, .help = {}, .samples = {}});
    }
    return &out_.families[row->second];
  }

  Family* family_of_sample(const std::string& name) {
    if (const auto known = index_.find(name); known != index_.end()) return &out_.families[known->second];
    static constexpr std::array<std::string_view, 8> kSuffixes{"_total", "_created", "_bucket", "_count",
                                                               "_sum",   "_info",    "_gcount", "_gsum"};
    for (const std::string_view suffix : kSuffixes) {
      if (!name.ends_with(suffix) || name.size() == suffix.size()) continue;
      const auto known = index_.find(name.substr(0, name.size() - suffix.size()));
      if (known != index_.end() && out_.families[known->second].type != Type::kGauge)
        return &out_.families[known->second];
    }
    return family_of(name);
  }

  const ReadBounds bounds_;
  ReadMetrics out_;
  std::size_t samples_ = 0;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

ReadMetrics read_text(std::string_view text, ReadBounds bounds) {
  return Reader(bounds).read(text);
}

}  // namespace fathom::metrics
