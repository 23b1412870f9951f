#include "formats/perf_script/perf_script_lines.h"

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"

namespace fathom::formats {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
constexpr std::size_t kPeriodColumn = 10;  // characters, as builtin-script.c prints it

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

std::string_view first_word(std::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), is_blank);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// Takes the next word of `text` when `parse` accepts it.
template <class Parse>
auto take_word(std::string_view& text, Parse parse) {
  std::string_view rest = text;
  skip_blanks(rest);
  const std::string_view word = first_word(rest);
  auto value = parse(word);
  if (value) text = rest.substr(word.size());
  return value;
}

template <class Integer>
std::optional<Integer> parse_number(std::string_view word) {
  return word.starts_with('-') ? std::nullopt : fathom::parse_number<Integer>(word);
}

struct Ids {
  std::int32_t pid = 0;
  std::int32_t tid = 0;
};
// "13" or "12/13"; perf prints -1 for a thread that it does not know.
std::optional<Ids> parse_ids(std::string_view word) {
  const auto id = [](std::string_view text) -> std::optional<std::int32_t> {
    if (text == "-1") return -1;
    return parse_number<std::int32_t>(text);
  };
  const std::size_t slash = word.find('/');
  if (slash == std::string_view::npos) {
    const auto tid = id(word);
    return tid ? std::optional(Ids{0, *tid}) : std::nullopt;
  }
  const auto pid = id(word.substr(0, slash));
  const auto tid = id(word.substr(slash + 1));
  return pid && tid ? std::optional(Ids{*pid, *tid}) : std::nullopt;
}

// "[001]"
std::optional<std::uint16_t> parse_cpu(std::string_view word) {
  if (word.size() < 3 || word.front() != '[' || word.back() != ']') return std::nullopt;
  return parse_number<std::uint16_t>(word.substr(1, word.size() - 2));
}

// "5.000123:" with 1 to 9 decimals, exactly.
std::optional<std::uint64_t> parse_time(std::string_view word) {
  if (word.empty() || word.back() != ':') return std::nullopt;
  word.remove_suffix(1);
  const std::size_t dot = word.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view decimals = word.substr(dot + 1);
  const auto seconds = parse_number<std::uint64_t>(word.substr(0, dot));
  auto part = parse_number<std::uint64_t>(decimals);
  if (!seconds || !part || decimals.size() > 9 || *seconds > UINT64_MAX / 1'000'000'000 - 1)
    return std::nullopt;
  for (std::size_t i = decimals.size(); i < 9; ++i) *part *= 10;
  return *seconds * 1'000'000'000 + *part;
}

// "cycles:ppp:" -> "cycles:ppp"; a time or a number is no event, nor is "minutes]:" of a goroutine that waits.
std::optional<std::string_view> parse_event(std::string_view word) {
  if (word.size() < 2 || word.back() != ':') return std::nullopt;
  word.remove_suffix(1);
  const bool is_number =
      std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '.' || c == ':'; });
  return is_number || word.find(']') != std::string_view::npos ? std::nullopt : std::optional(word);
}

// What stands behind the name and the ids. Its fields are those that -F asked for; without a time, a number behind the tid may be
// the period.
std::optional<PerfHeader> parse_fields(std::string_view rest) {
  PerfHeader header;
  header.cpu = take_word(rest, parse_cpu).value_or(0);
  header.time_ns = take_word(rest, parse_time);
  const std::size_t before_period = rest.size();
  header.period = take_word(rest, parse_number<std::int64_t>);
  // "desk 2 13861 cycles:" without a time: 13861 is the tid of "desk 2" and no period, as perf gives a
  // period a column of its own.
  if (header.period && !header.time_ns && before_period - rest.size() < kPeriodColumn) return std::nullopt;
  const std::optional<std::string_view> event = take_word(rest, parse_event);
  if (!event) return std::nullopt;
  header.event = *event;
  skip_blanks(rest);
  header.rest = rest;
  return header;
}

// "825432/825432 339457.445933440:       1 cycles:u:", with -F -comm. Only where a time shows that the first number is no name.
std::optional<PerfHeader> parse_without_name(std::string_view text) {
  const std::optional<Ids> ids = take_word(text, parse_ids);
  if (!ids) return std::nullopt;
  std::optional<PerfHeader> header = parse_fields(text);
  if (!header || !header->time_ns) return std::nullopt;
  header->pid = ids->pid;
  header->tid = ids->tid;
  return header;
}

}  // namespace

std::optional<PerfHeader> parse_perf_header(std::string_view line) {
  std::string_view text = line;
  skip_blanks(text);
  if (text.empty() || text.front() == '#') return std::nullopt;
  if (const auto nameless = parse_without_name(text)) return nameless;
  const std::string_view start = text;
  // The name may hold spaces and numbers: it ends before the first word from which everything else fits.
  for (;;) {
    text.remove_prefix(first_word(text).size());
    const std::size_t comm_size = start.size() - text.size();
    skip_blanks(text);
    if (text.empty()) return std::nullopt;
    std::string_view rest = text;
    const std::optional<Ids> ids = take_word(rest, parse_ids);
    std::optional<PerfHeader> header = parse_fields(rest);
    // With -F -pid,-tid only a time shows where the name ends. Lines of ftrace have fields behind the event, and no stacks.
    if (!header || (!ids && !(header->time_ns && header->rest.empty()))) continue;
    header->comm = start.substr(0, comm_size);
    if (ids) {
      header->pid = ids->pid;
      header->tid = ids->tid;
    }
    return header;
  }
}

std::optional<PerfFrame> parse_perf_frame(std::string_view line) {
  skip_blanks(line);
  while (!line.empty() && (is_blank(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  const std::string_view address = first_word(line);
  if (address.empty() || address.size() > 16 || !std::all_of(address.begin(), address.end(), is_hex_digit))
    return std::nullopt;
  line.remove_prefix(address.size());
  skip_blanks(line);
  if (line.empty()) return std::nullopt;

  PerfFrame frame;
  frame.symbol = line;
  if (line.back() == ')') {
    std::size_t open = line.rfind(" (");
    // "(/tmp/x (deleted))": the module's own bracket is the second from behind.
    if (open != std::string_view::npos && open != 0 && line.substr(open) == " (deleted))")
      open = line.rfind(" (", open - 1);
    if (open != std::string_view::npos) {
      frame.symbol = line.substr(0, open);
      frame.module = line.substr(open + 2, line.size() - open - 3);
    } else if (line.front() == '(') {  // no symbol printed
      frame.symbol = "[unknown]";
      frame.module = line.substr(1, line.size() - 2);
    }
  }
  const std::size_t plus = frame.symbol.rfind("+0x");
  if (plus != std::string_view::npos && plus != 0 &&
      std::all_of(frame.symbol.begin() + static_cast<std::ptrdiff_t>(plus) + 3, frame.symbol.end(),
                  is_hex_digit)) {
    frame.symbol = frame.symbol.substr(0, plus);
  }
  return frame;
}

}  // namespace fathom::formats
