#include "present/svg/flame_graph_text.h"

#include <array>
#include <vector>

#include "analysis/core/generated_name.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/words.h"

namespace fathom::present {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::size_t kFewestColumns = 5;  // "…cute" may be recognised, "…te" is noise

// The code point at `at`, which moves behind it. A byte that starts nothing valid is one U+FFFD.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at++);
  if (lead < 0x80) return lead;
  const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < more) return kReplacement;
  char32_t point = lead & (0x3Fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    if ((byte(at + i) & 0xC0u) != 0x80u) return kReplacement;
    point = point << 6 | (byte(at + i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 4> kSmallest = {0, 0x80, 0x800,
                                                 0x10000};  // anything less is an overlong form
  if (point < kSmallest[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return kReplacement;
  at += more;
  return point;
}

bool is_printable(char32_t point) {
  if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return false;
  if (point == 0x2028 || point == 0x2029 || point == 0x200E || point == 0x200F || point == 0x061C)
    return false;
  if ((point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069)) return false;
  return (point & 0xFFFE) != 0xFFFE;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

std::size_t columns_of(char32_t point) {
  const bool wide = (point >= 0x1100 && point < 0x1160) || (point >= 0x2E80 && point < 0xA4D0) ||
                    (point >= 0xAC00 && point < 0xD7A4) || (point >= 0xF900 && point < 0xFB00) ||
                    (point >= 0xFE30 && point < 0xFE70) || (point >= 0xFF00 && point < 0xFF61) ||
                    point >= 0x1F300;
  return wide ? 2 : 1;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// The position behind the bracket that closes the one at `open`; the end of the text if none does.
std::size_t skip_brackets(std::string_view name, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' && name[i - 1] != '-') || c == ')' || c == ']' || c == '}') {
      if (--depth == 0) return i + 1;
    }
  }
  return name.size();
}

// `path` without generic arguments, call arguments and what stands before its last blank.
std::string plain_path(std::string_view path) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  constexpr std::string_view kOperator = "operator";
  std::string out;
  for (std::size_t i = 0; i < path.size();) {
    const std::string_view rest = path.substr(i);
    const bool starts_word = out.empty() || !is_word(out.back());
    if (starts_word && rest.substr(0, kOperator.size()) == kOperator &&
        (rest.size() == kOperator.size() || !is_word(rest[kOperator.size()]))) {
      // The name goes on to its arguments: "operator<<(", "operator()(", "operator new(", "operator bool(".
      std::size_t end = path.find('(', i + kOperator.size());
      if (end == i + kOperator.size()) end = path.find('(', end + 1);
      return out + std::string(path.substr(i, end == std::string_view::npos ? end : end - i));
    }
    if (rest.substr(0, kAnonymous.size()) == kAnonymous) {
      i += kAnonymous.size();
      if (path.substr(i, 2) == "::") i += 2;
    } else if (path[i] == '<' && !out.empty() && out.back() != ' ') {
      i = skip_brackets(path, i);
    } else if (path[i] == '(' && !out.empty()) {
      break;
    } else if (path[i] == '{') {
      const std::size_t end = skip_brackets(path, i);
      out += path.substr(i, end - i);
      i = end;
    } else if (path[i] == ' ') {
      out.clear();
      ++i;
    } else {
      out += path[i++];
    }
  }
  // "Vec<T>::push" is "Vec::push", and Rust's "Vec::<T>::push" must not become "Vec::::push".
  for (std::size_t at = out.find("::::"); at != std::string::npos; at = out.find("::::")) out.erase(at, 2);
  while (out.size() > 2 && out.substr(out.size() - 2) == "::") out.resize(out.size() - 2);
  return out;
}

// "net/http.(*conn).serve" without its first part: "(*conn).serve" of "http.(*conn).serve" of all. "" behind the last.
// Parts end at "/" and, outside of brackets, at ".".
std::string_view without_first_part(std::string_view name) {
  const std::size_t path_end = name.find_first_of("( ");
  if (const std::size_t slash = name.find('/'); slash < path_end) return name.substr(slash + 1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' && i != 0 && name[i - 1] != ' ') return {};  // the arguments of the last part
    if (name[i] == '(' || name[i] == '<' || name[i] == '[') i = skip_brackets(name, i) - 1;
    if (i < name.size() && name[i] == '.') return name.substr(i + 1);
  }
  return {};
}

// "serve(order: Int) -> ()" -> "serve"; "<module> (app.py:3)" -> "<module>".
std::string_view without_dotted_arguments(std::string_view name) {
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (name[i - 1] == '<' || name[i - 1] == '[') i = skip_brackets(name, i - 1);
    if (i < name.size() && name[i] == '(' && name[i - 1] != '.')
      return name.substr(0, i - (name[i - 1] == ' '));
  }
  return name;
}

std::string cut_in_front(std::string_view name, std::size_t columns) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < name.size();) {
    starts.push_back(at);
    next_code_point(name, at);
  }
  std::size_t used = 1;
  std::size_t from = name.size();
  for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
    std::size_t at = *start;
    used += columns_of(next_code_point(name, at));
    if (used > columns) break;
    from = *start;
  }
  return "…" + std::string(name.substr(from));
}

// Of a closure in `function`: what is cut behind the function is marked, too.
std::string closure_label(std::string_view function, bool whole, std::size_t columns) {
  const std::string name = (whole ? "" : "…") + std::string(function);
  constexpr std::string_view kClosure = "::{…}";
  if (text_columns(name) + text_columns(kClosure) <= columns) return name + std::string(kClosure);
  if (text_columns(name) + 1 <= columns) return name + "…";
  return cut_in_front(function, columns - 1) + "…";
}

// Of a language that has dots between the parts of its names (Go, Swift, D, Java, Python).
std::string dotted_label(std::string_view clean, std::size_t columns) {
  const std::string_view plain = without_dotted_arguments(clean);
  if (text_columns(plain) <= columns) return std::string(plain);
  for (std::string_view rest = without_first_part(plain); !rest.empty(); rest = without_first_part(rest))
    if (text_columns(rest) + 1 <= columns) return "…" + std::string(rest);
  return cut_in_front(plain, columns);
}

}  // namespace

std::string clean_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t point = next_code_point(bytes, at);
    append_utf8(out, is_printable(point) ? point : kReplacement);
  }
  return out;
}

std::string escape_xml(std::string_view clean) {
  std::string out;
  out.reserve(clean.size());
  for (const char c : clean) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>' && out.ends_with(']')) {  // "]]>" must not stand in text; elsewhere ">" is a letter
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string json_string(std::string_view clean) {
  std::string out = "\"";
  for (const char c : clean) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::size_t text_columns(std::string_view clean) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < clean.size();) columns += columns_of(next_code_point(clean, at));
  return columns;
}

std::string short_name(std::string_view clean) {
  if (analysis::is_dotted_name(clean)) return std::string(without_dotted_arguments(clean));
  std::string out;
  if (!clean.empty() && clean.front() == '<') {
    const std::size_t end = skip_brackets(clean, 0);
    const bool closed = end >= 2 && clean[end - 1] == '>';
    std::string_view type = clean.substr(1, end - (closed ? 2 : 1));
    if (const std::size_t as = type.find(" as "); as != std::string_view::npos) type = type.substr(0, as);
    const std::string path = plain_path(type);
    const std::size_t last = path.rfind("::");
    out = (last == std::string::npos ? path : path.substr(last + 2)) + plain_path(clean.substr(end));
  } else if (!clean.empty() && clean.front() != '[') {
    out = plain_path(clean);
  }
  return out.empty() ? std::string(clean) : out;
}

std::string frame_label(std::string_view clean, std::size_t columns) {
  if (text_columns(clean) <= columns) return std::string(clean);
  if (columns < kFewestColumns) return "";
  if (analysis::is_dotted_name(clean)) return dotted_label(clean, columns);
  if (const auto made = analysis::generated_name(clean); made && !made->function.empty()) {
    const std::string full = made->function + " " + made->place;
    return text_columns(full) <= columns             ? full
           : text_columns(made->function) <= columns ? made->function
                                                     : cut_in_front(made->function, columns);
  }
  const std::string plain = short_name(clean);
  if (text_columns(plain) <= columns) return plain;
  std::string_view rest = plain, named = plain;
  for (std::size_t at = rest.find("::"); at != std::string_view::npos; at = rest.find("::")) {
    rest = rest.substr(at + 2);
    if (rest.empty() || rest.front() == '{') continue;  // a closure says nothing without its function
    named = rest;
    if (text_columns(rest) + 1 <= columns) return "…" + std::string(rest);
  }
  const std::size_t closure = named.find("::{");
  return closure == std::string_view::npos
             ? cut_in_front(plain, columns)
             : closure_label(named.substr(0, closure), named.size() == plain.size(), columns);
}

std::string quantity(std::int64_t value, std::string_view unit, std::string_view count_name) {
  if (!count_name.empty()) return analysis::with_commas(value) + " " + std::string(count_name);
  if (unit == "samples" && value == 1) return "1 sample";
  return analysis::amount(static_cast<double>(value), unit);
}

std::string short_target(std::string_view target) {
  constexpr std::string_view kPid = " (pid ", kNext = "), ";
  constexpr std::size_t kMost = 3;
  std::size_t count = 0;
  for (std::size_t at = target.find(kPid); at != target.npos; at = target.find(kPid, at + 1)) ++count;
  const std::size_t first_end = target.find(kNext);
  if (count <= kMost || first_end == target.npos) return std::string(target);
  return std::string(target.substr(0, first_end + 1)) + " and " + std::to_string(count - 1) + " more";
}

}  // namespace fathom::present
