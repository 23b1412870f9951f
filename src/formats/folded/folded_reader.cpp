#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text_index.h"
#include "formats/folded/folded.h"
#include "formats/folded/line_block.h"
#include "formats/folded/line_stacks.h"
#include "formats/folded/preparing_thread.h"
#include "formats/folded/text_lines.h"
#include "formats/import/idle_cpus.h"
#include "formats/import/left_out_lines.h"
#include "formats/import/lines.h"
#include "model/exact_count.h"
#include "model/facts.h"
#include "model/rare_stacks.h"

namespace fathom::formats {
namespace {

using folded_text::Count;
using folded_text::for_each_line;
using folded_text::is_comment;
using folded_text::is_message;
using folded_text::take_count;
using folded_text::without_end;

// How much of the text shows what kind of folded text it is.
constexpr std::size_t kLookedAt = 64 * 1024;
// What is kept of one text. The rest becomes one thread. Of functions see line_stacks.h, of stacks model/rare_stacks.h.
constexpr std::size_t kMostThreads = 100'000;
constexpr std::string_view kOtherThreads = "(other threads)";
// How many lines are between the two steps of line_stacks.h: what they wait for fits into the processor's nearest caches.
constexpr std::size_t kLinesAtOnce = 64;
constexpr std::size_t kLinesInBlock = 1024;       // whose calls are kept meanwhile
constexpr std::size_t kMostSamples = 16'000'000;  // lines, until those of equal stacks are added up

// Windows' editors put it in front of text.
std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

// Who ran, by how the lines begin.
class Threads {
 public:
  Threads(model::Profile& profile, model::Builder& builder) : profile_(profile), builder_(builder) {}

  bool left_some_out() const { return other_.has_value(); }
  model::ThreadId of(const PreparedLine& line) {
    if (!line.same_thread) last_ = find(line);
    return last_;
  }

 private:
  model::ThreadId find(const PreparedLine& line) {
    if (line.first_frame == 2)
      return thread(number_behind('P', line.first).value_or(0), number_behind('T', line.second).value_or(0),
                    line.second);
    const auto known = first_parts_.find(line.first);
    if (known) return of_first_parts_[*known];
    const model::ThreadId found = thread(0, 0, line.first_frame == 0 ? std::string_view() : line.first);
    if (of_first_parts_.size() >= kMostThreads) return found;
    first_parts_.number_of(line.first);
    of_first_parts_.push_back(found);
    return found;
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
  model::ThreadId last_{};
  TextIndex first_parts_;
  std::vector<model::ThreadId> of_first_parts_;  // by number of first_parts_
  std::optional<model::ThreadId> other_;         // beyond what is kept
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

  // What the first lines show about all of them: "stack BEFORE AFTER" in every one. One without makes the number part of a name
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
    preparer.emplace(difference, has_deep);
  }

  void take_comment(std::string_view line) {
    constexpr std::size_t kMostFacts = 20;
    const std::size_t begin = std::min(line.find_first_not_of("# \t"), line.size());
    if (line.find(": ", begin) != std::string_view::npos && facts.size() < kMostFacts)
      facts.emplace_back(line.substr(begin));
  }

  void take(const LineBlock& block) {
    of_three = of_three || block.of_three;
    for (const PreparedLine& line : block.lines) {
      if (line.kind == PreparedLine::Kind::kComment)
        take_comment(line.text);
      else if (line.kind == PreparedLine::Kind::kOther)
        left_out.add(lines + line.number, line.text);
      else
        take_stack(line, block);
    }
    lines += block.all;
    find_stacks();
  }

  void take_stack(const PreparedLine& line, const LineBlock& block) {
    if (profile.stacks.size() > model::kMostStacks || profile.samples.size() >= kMostSamples) {
      find_stacks();
      fold();
    }
    model::Sample sample;
    sample.thread = threads.of(line);
    sample.value = value_of(line.count);
    profile.samples.push_back(sample);
    const auto calls = [&](const std::vector<std::uint64_t>& of_block) {
      return std::span(of_block).subspan(line.begin, line.end - line.begin);
    };
    stacks.add(line.text, line.first_frame, calls(block.hashes), calls(block.paths));
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

  void take_block() {
    take(block);
    block.clear();
  }

  void take_line(std::string_view line) {
    preparer->add(line, block);
    if (block.lines.size() == kLinesInBlock) take_block();
  }

  void process(std::string_view piece) {
    text.add(piece, [this](std::string_view line) { take_line(line); });
    take_block();
  }

  // Of a text that stays valid. Its last line may be cut, and is prepared with the next piece.
  void process_lasting(std::string_view piece) {
    if (waiting.empty())
      waiting = piece;
    else
      waiting = {waiting.data(), waiting.size() + piece.size()};
    const std::size_t end = piece.rfind('\n');
    if (end == std::string_view::npos) return;
    const std::size_t whole = waiting.size() - piece.size() + end + 1;
    if (preparing->under_way() == PreparingThread::kMostUnderWay) take(preparing->take());
    preparing->put(waiting.substr(0, whole));
    waiting.remove_prefix(whole);
  }

  void finish_lasting() {
    while (preparing->under_way() != 0) take(preparing->take());
    preparing.reset();
    process(waiting);
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
  std::optional<LinePreparer> preparer;  // once it is decided
  LineBlock block;                       // of lines that are prepared in this thread
  std::optional<PreparingThread> preparing;
  std::string_view waiting;  // the end of a lasting text that is not prepared yet
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

void FoldedReader::add_lasting(std::string_view piece) {
  State& state = *state_;
  if (state.preparing) return state.process_lasting(piece);
  const bool begins = !state.decided && state.head.empty();
  if (!begins || piece.size() < kLookedAt || std::thread::hardware_concurrency() < 2) return add(piece);
  state.head = piece.substr(0, kLookedAt);
  state.decide();
  const std::size_t mark = kLookedAt - std::exchange(state.head, {}).size();
  try {
    state.preparing.emplace(*state.preparer);
  } catch (const std::system_error&) {  // too many threads already
    return state.process(piece.substr(mark));
  }
  state.process_lasting(piece.substr(mark));
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
  if (state.preparing) state.finish_lasting();
  state.text.finish([&](std::string_view line) { state.take_line(line); });
  state.take_block();
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
