#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text_index.h"
#include "formats/folded/folded.h"
#include "formats/folded/line_stacks.h"
#include "formats/folded/parts.h"
#include "formats/folded/source_frame.h"
#include "formats/import/idle_cpus.h"
#include "formats/import/left_out_lines.h"
#include "formats/import/lines.h"
#include "model/exact_count.h"
#include "model/facts.h"
#include "model/rare_stacks.h"

namespace fathom::formats {
namespace {

constexpr int kDecimals = 3;  // what is kept of fractions
// How much of the text tells what kind of folded text it is.
constexpr std::size_t kLookedAt = 64 * 1024;
// What is kept of one text. The rest becomes one thread. Of functions see line_stacks.h, of stacks model/rare_stacks.h.
constexpr std::size_t kMostThreads = 100'000;
constexpr std::string_view kOtherThreads = "(other threads)";
// How many lines are between the two steps of line_stacks.h: what they wait for fits into the processor's nearest caches.
constexpr std::size_t kLinesAtOnce = 64;
constexpr std::size_t kMostSamples = 16'000'000;  // lines, until those of equal stacks are added up

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

// "12", "12.5": whole part and thousandths. nullopt if it is anything else or does not fit.
struct Count {
  std::int64_t whole = 0;
  std::int64_t thousandths = 0;
  bool fraction = false;
};
std::optional<Count> parse_count(std::string_view text) {
  Count count;
  if (text.empty() || !is_decimal(text[0])) return std::nullopt;
  std::size_t i = 0;
  for (; i < text.size() && is_decimal(text[i]); ++i) {
    const int digit = text[i] - '0';
    if (count.whole > (INT64_MAX - digit) / 10) return std::nullopt;
    count.whole = count.whole * 10 + digit;
  }
  if (i == text.size()) return count;
  if (text[i++] != '.') return std::nullopt;
  count.fraction = true;
  int decimals = 0;
  for (; i < text.size(); ++i) {
    if (!is_decimal(text[i])) return std::nullopt;
    if (decimals++ < kDecimals) count.thousandths = count.thousandths * 10 + (text[i] - '0');
  }
  for (; decimals < kDecimals; ++decimals) count.thousandths *= 10;
  return count;
}

// "300,0,-10": what austin writes with --full, of which the first is the time.
std::optional<Count> parse_first_of_three(std::string_view text) {
  const std::size_t first = text.find(','), second = text.find(',', first + 1);
  if (first == text.npos || second == text.npos) return std::nullopt;
  std::string_view memory = text.substr(second + 1);
  if (memory.starts_with('-')) memory.remove_prefix(1);
  if (!parse_count(text.substr(first + 1, second - first - 1)) || !parse_count(memory)) return std::nullopt;
  return parse_count(text.substr(0, first));
}

// Cuts the last word off when it is a count.
std::optional<Count> take_count(std::string_view& line, bool* of_three = nullptr) {
  std::size_t begin = line.size();
  while (begin > 0 && line[begin - 1] != ' ' && line[begin - 1] != '\t') --begin;
  if (begin == 0) return std::nullopt;
  std::optional<Count> count = parse_count(line.substr(begin));
  if (!count && (count = parse_first_of_three(line.substr(begin))) && of_three != nullptr) *of_three = true;
  if (count) line = line.substr(0, begin - 1);
  return count;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// A message between stacks, which may end in a number: "  File "a.py", line 10", "WARNING: lost 12", "[INFO] took 5".
// Stacks with a single frame look like it, so this is asked only where others have several. `line`: without its count.
bool is_message(std::string_view line) {
  if (line.empty() || is_blank(line.front())) return true;
  if (line.find(';') != std::string_view::npos) return false;
  if (line.front() == '[' && line.find("] ") != std::string_view::npos) return true;
  const std::size_t colon = line.find(": ");
  return line.back() == ':' || (colon != std::string_view::npos && line.find('(') > colon);
}

// "# mode: wall", "#!..." and lines of '#' alone. A thread's name may begin so, and has a stack behind it. "// ...", as speedscope
// and others allow.
bool is_comment(std::string_view line) {
  if (line.starts_with("//") && line.find(';') == std::string_view::npos) return true;
  if (!line.starts_with('#')) return false;
  const char next = line.size() > 1 ? line[1] : ' ';
  return next == ' ' || next == '#' || next == '!' || next == '\t' ||
         line.find(';') == std::string_view::npos;
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

// Windows' editors put it in front of text.
std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

// Every whole line of `text` that is not empty: visit(line). What is behind the last line's end comes back.
template <class Visit>
std::string_view for_each_line(std::string_view text, Visit visit) {
  for (;;) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return text;
    visit(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

// Who ran, by how the lines begin.
class Threads {
 public:
  Threads(model::Profile& profile, model::Builder& builder) : profile_(profile), builder_(builder) {}

  struct Place {
    model::ThreadId thread;
    std::size_t first_frame = 1;
  };
  bool left_some_out() const { return other_.has_value(); }
  // `parts`: always the same one, cut at each line.
  Place place_of(const Parts& parts) {
    if (!has_last_ || parts.kept() < 2) last_ = find_place_of(parts);
    has_last_ = true;
    return last_;
  }

 private:
  Place find_place_of(const Parts& parts) {
    if (parts.size() > 1 && parts[0].starts_with('P'))
      if (const auto pid = number_behind('P', parts[0]))
        if (const auto tid = number_behind('T', parts[1])) return {thread(*pid, *tid, parts[1]), 2};
    const auto known = first_parts_.find(parts[0]);
    if (known) return places_[*known];
    const bool is_frame = source_frame(parts[0]).has_value();
    const Place place{thread(0, 0, is_frame ? std::string_view() : parts[0]), is_frame ? 0U : 1U};
    if (places_.size() >= kMostThreads) return place;
    first_parts_.number_of(parts[0]);
    places_.push_back(place);
    return place;
  }

  // "P42", "T7", "T0:7": the last number.
  static std::optional<std::int32_t> number_behind(char letter, std::string_view part) {
    if (!part.starts_with(letter)) return std::nullopt;
    const std::size_t colon = part.rfind(':');
    const char* begin = part.data() + (colon == std::string_view::npos ? 1 : colon + 1);
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(begin, part.data() + part.size(), number);
    const bool whole = error == std::errc() && end == part.data() + part.size() && number >= 0;
    return whole ? std::optional(number) : std::nullopt;
  }

  model::ThreadId thread(std::int32_t pid, std::int32_t tid, std::string_view name) {
    if (profile_.threads.size() >= kMostThreads) {
      const auto there = threads_.find(std::tuple(pid, tid, std::string(name)));
      if (there != threads_.end()) return there->second;
      if (!other_) other_ = new_thread(0, 0, kOtherThreads);
      return *other_;
    }
    return new_thread(pid, tid, name);
  }

  model::ThreadId new_thread(std::int32_t pid, std::int32_t tid, std::string_view name) {
    const auto [known, added] =
        threads_.try_emplace(std::tuple(pid, tid, std::string(name)),
                             model::ThreadId{static_cast<std::uint32_t>(profile_.threads.size())});
    if (!added) return known->second;
    const auto [process, is_new] =
        processes_.try_emplace(pid, model::ProcessId{static_cast<std::uint32_t>(profile_.processes.size())});
    if (is_new) {
      model::Process row;
      row.pid = pid;
      profile_.processes.push_back(row);
    }
    model::Thread row;
    row.process = process->second;
    row.tid = tid;
    row.name = builder_.string(name);
    profile_.threads.push_back(row);
    return known->second;
  }

  model::Profile& profile_;
  model::Builder& builder_;
  Place last_{};
  bool has_last_ = false;
  TextIndex first_parts_;
  std::vector<Place> places_;             // by number of first_parts_
  std::optional<model::ThreadId> other_;  // beyond what is kept
  std::map<std::tuple<std::int32_t, std::int32_t, std::string>, model::ThreadId> threads_;
  std::map<std::int32_t, model::ProcessId> processes_;
};

// How many lines of the beginning of a text are of which kind.
struct LineKinds {
  std::size_t stacks = 0, deep = 0;  // deep: of several frames
  std::size_t cut = 0, others = 0;   // cut: frames and no count
};
LineKinds lines_of(std::string_view text, bool whole) {
  LineKinds lines;
  const auto look = [&](std::string_view line) {
    line = without_end(line);
    if (line.empty() || is_comment(line)) return;
    const bool is_stack = take_count(line).has_value() && !line.empty();
    const bool is_deep = line.find(';') != std::string_view::npos && !is_message(line);
    if (is_stack && is_deep) ++lines.deep;
    ++(is_stack ? lines.stacks : is_deep ? lines.cut : lines.others);
  };
  const std::string_view last = for_each_line(text, look);
  if (whole) look(last);
  return lines;
}

}  // namespace

bool is_folded(std::string_view text) {
  const bool whole = text.size() <= kLookedAt;
  text = without_byte_order_mark(text.substr(0, kLookedAt));
  if (text.find('\0') != std::string_view::npos) return false;
  const LineKinds lines = lines_of(text, whole);
  if (lines.deep == 0) return lines.stacks != 0 && lines.others + lines.cut == 0;
  // Of stacks most have a second frame; a log has a line here and there that ends in a number.
  return lines.stacks >= lines.others && lines.deep * 4 >= lines.stacks + lines.cut;
}

struct FoldedReader::State {
  explicit State(std::string file)
      : name(std::move(file)), builder(profile), stacks(profile, builder), threads(profile, builder) {
    profile.meta.engine = "import";
    model::put_facts(model::OriginFacts{.format = "folded"}, profile.meta);
  }

  // What the first lines say of all of them: "stack BEFORE AFTER" in every one. One without makes the number part of a name
  // ("thread 12").
  void decide() {
    decided = true;
    head = without_byte_order_mark(head);
    has_deep = lines_of(head, head.size() < kLookedAt).deep != 0;
    bool any = false;
    difference = true;
    const auto look = [&](std::string_view line) {
      line = without_end(line);
      if (line.empty() || is_comment(line) || !take_count(line)) return;
      any = true;
      difference = difference && take_count(line).has_value();
    };
    const std::string_view last = for_each_line(head, look);
    if (head.size() < kLookedAt) look(last);
    difference = difference && any;
  }

  void take_comment(std::string_view line) {
    constexpr std::size_t kMostFacts = 20;
    const std::size_t begin = std::min(line.find_first_not_of("# \t"), line.size());
    if (line.find(": ", begin) != std::string_view::npos && facts.size() < kMostFacts)
      facts.emplace_back(line.substr(begin));
  }

  void take(std::string_view line) {
    ++lines;
    line = without_end(line);
    if (line.empty()) return;
    if (is_comment(line)) return take_comment(line);
    std::string_view stack = line;
    const std::optional<Count> count = take_count(stack, &of_three);
    if (!count || (has_deep && is_message(stack))) return left_out.add(lines, line);
    if (profile.stacks.size() > model::kMostStacks || profile.samples.size() >= kMostSamples) {
      find_stacks();
      fold();
    }
    if (difference) (void)take_count(stack);
    parts.cut(stack);
    const Threads::Place place = threads.place_of(parts);
    model::Sample sample;
    sample.thread = place.thread;
    sample.value = value_of(*count);
    profile.samples.push_back(sample);
    stacks.add(stack, parts, place.first_frame);
    if (stacks.added() == kLinesAtOnce) find_stacks();
    ++taken;
  }

  // Of the last samples, which have none yet.
  void find_stacks() {
    auto sample = profile.samples.end() - static_cast<std::ptrdiff_t>(stacks.added());
    stacks.find([&](model::StackId stack) { (sample++)->stack = stack; });
  }

  // All values become thousandths once one has a fraction.
  std::int64_t value_of(const Count& count) {
    if (count.fraction && !has_fractions) {
      has_fractions = true;
      for (model::Sample& sample : profile.samples) sample.value = in_thousandths(sample.value, 0);
    }
    return has_fractions ? in_thousandths(count.whole, count.thousandths) : count.whole;
  }
  std::int64_t in_thousandths(std::int64_t whole, std::int64_t thousandths) {
    if (whole > (INT64_MAX - 999) / 1000) {
      is_too_large = true;
      return 0;
    }
    return whole * 1000 + thousandths;
  }

  // Down to half of what is kept, so that it is seldom.
  void fold() {
    model::add_up_equal_samples(profile);
    if (profile.stacks.size() > model::kMostStacks)
      model::fold_rare_stacks(profile, model::kMostStacks / 2, rare);
    while (profile.samples.size() > kMostSamples / 2 && profile.stacks.size() > 1)
      model::fold_rare_stacks(profile, (profile.stacks.size() - 1) / 2, rare);
    stacks.find_again();
  }

  void process(std::string_view piece) {
    text.add(piece, [this](std::string_view line) { take(line); });
    find_stacks();
  }

  std::string name, head;  // head: what was not looked at yet
  Lines text;
  bool decided = false, difference = false, has_deep = false, of_three = false;
  bool has_fractions = false, is_too_large = false;
  std::uint64_t lines = 0, taken = 0;  // taken: lines with a stack
  model::Profile profile;
  model::Builder builder;
  LineStacks stacks;
  Threads threads;
  LeftOutLines left_out;
  std::vector<std::string> facts;
  Parts parts;  // of the line
  model::RareStacks rare;
};

FoldedReader::FoldedReader(std::string name) : state_(std::make_unique<State>(std::move(name))) {}
FoldedReader::~FoldedReader() = default;

void FoldedReader::add(std::string_view piece) {
  State& state = *state_;
  if (state.decided) return state.process(piece);
  const std::size_t more = std::min(piece.size(), kLookedAt - state.head.size());
  state.head.append(piece.substr(0, more));
  if (state.head.size() < kLookedAt) return;
  state.decide();
  state.process(std::exchange(state.head, {}));
  state.process(piece.substr(more));
}

std::uint64_t FoldedReader::samples() const {
  return state_->taken;
}

Result<model::Profile> FoldedReader::finish() {
  State& state = *state_;
  if (!state.decided) {
    state.decide();
    state.process(std::exchange(state.head, {}));
  }
  state.text.finish([&](std::string_view line) { state.take(line); });
  state.find_stacks();
  model::Profile& profile = state.profile;
  if (profile.samples.empty())
    return fail(ErrorKind::kMalformed, fmt::format("{}: no stack with a count in it", state.name));
  const auto note = [&](std::string text) { profile.quality.notes.push_back(std::move(text)); };
  if (state.difference) note("The file has two counts per line; the second is taken.");
  if (state.of_three)
    note("The file has three counts per line (time, idle time, memory); the first is taken.");
  if (state.left_out.count() != 0) note(state.left_out.note(state.lines, "no stack with a count at the end"));
  if (!state.facts.empty()) note(fmt::format("The file's comments: {}.", fmt::join(state.facts, ", ")));
  std::int64_t total = 0;
  for (const model::Sample& sample : profile.samples)
    if (__builtin_add_overflow(total, sample.value, &total)) total = INT64_MAX;
  if (state.rare.stacks != 0) note(state.rare.note(total));
  if (state.stacks.functions_left_out() != 0)
    note(fmt::format(
        "The file has more functions than fathom keeps ({} million): {} calls of others are shown as \"{}\".",
        LineStacks::kMostFunctions / 1'000'000, state.stacks.functions_left_out(),
        LineStacks::kOtherFunctions));
  if (state.threads.left_some_out())
    note(fmt::format("The file has more threads than fathom keeps ({}): the others are shown as \"{}\".",
                     kMostThreads, kOtherThreads));
  if (state.is_too_large)
    return fail(ErrorKind::kMalformed,
                fmt::format("{}: counts with fractions that are too large", state.name));
  if (state.has_fractions) model::put_facts(model::ImportFacts{.unit = "thousandths"}, profile.meta);
  if (std::ranges::find(state.facts, "mode: wall") != state.facts.end()) {
    model::put_facts(model::ImportFacts{.unit = "units of wall-clock time"}, profile.meta);
    model::put_facts(model::ImportFacts{.counts_all = true}, profile.meta);
    note("The values are units of wall-clock time and no CPU time.");
  }
  leave_out_idle_cpus(profile);
  profile.quality.samples = profile.samples.size();
  return std::move(profile);
}

Result<model::Profile> read_folded(std::string_view text, const std::string& name) {
  FoldedReader reader(name);
  reader.add(text);
  return reader.finish();
}

}  // namespace fathom::formats
