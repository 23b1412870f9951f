#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/parse.h"
#include "base/text.h"
#include "formats/heaptrack/heap_course.h"
#include "formats/heaptrack/heaptrack.h"
#include "formats/import/left_out_lines.h"
#include "formats/import/source_names.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kRemedy = "a file of heaptrack, raw or interpreted, as it was written";
constexpr std::uint64_t kLatestVersion = 3;
constexpr std::uint64_t kMillisecond = 1'000'000, kMostMilliseconds = std::uint64_t{1} << 40;
constexpr std::uint64_t kSlices = 200;
constexpr std::size_t kMostDepth = 512;  // heaptrack has 64

class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  // A number in hexadecimal; nothing at the end or where there is none.
  std::optional<std::uint64_t> hex() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    std::uint64_t value = 0;
    std::size_t i = 0;
    for (; i < rest_.size() && rest_[i] != ' '; ++i) {
      const char c = rest_[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0 || value >> 60 != 0) return std::nullopt;
      value = value << 4 | static_cast<std::uint64_t>(digit);
    }
    if (i == 0) return std::nullopt;
    rest_.remove_prefix(i);
    return value;
  }
  std::string_view rest() const { return rest_.starts_with(' ') ? rest_.substr(1) : rest_; }
  void skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }

 private:
  std::string_view rest_;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : rest_(text), text_(text), name_(name) {}

  Result<model::Profile> read() {
    if (const Result<> first = read_version(); !first) return tl::unexpected(first.error());
    slice_ms_ = std::max<std::uint64_t>(1, last_time() / kSlices);
    while (!rest_.empty()) {
      ++line_;
      const std::string_view line = take_line();
      if (line.empty() || take(line)) continue;
      // The last line of a file that was cut is cut, too.
      if (rest_.empty()) {
        import_.note("The file ends within a line: it was cut short.");
        break;
      }
      // Places, stacks and texts are known by their number: without one of them all that follow would be others.
      if (constexpr std::string_view kNumbered = "ait";
          kNumbered.find(line.front()) != std::string_view::npos)
        return fail(ErrorKind::kMalformed,
                    fmt::format("{}: line {}: {}", name_, line_, "not a record of heaptrack"),
                    std::string(kRemedy));
      left_out_.add(line_, line);
    }
    return finish();
  }

 private:
  std::string_view take_line() { return take_until(rest_, '\n'); }

  Result<> read_version() {
    ++line_;
    Words words(take_line().substr(1));
    const auto tool = words.hex();
    const auto file = words.hex();
    if (!tool) return fail(ErrorKind::kMalformed, name_ + ": line 1: no version", std::string(kRemedy));
    version_ = file ? *file : *tool == 0x10200 ? 1 : 0;
    if (version_ > kLatestVersion)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: heaptrack's file version {}, and {} is the latest that is read", name_,
                              version_, kLatestVersion));
    return {};
  }

  // The length of a slice follows from the time at the end.
  std::uint64_t last_time() const {
    const std::size_t at = text_.rfind("\nc ");
    if (at == std::string_view::npos) return 0;
    const std::size_t end = std::min(text_.find('\n', at + 3), text_.size());
    return std::min(Words(text_.substr(at + 3, end - at - 3)).hex().value_or(0), kMostMilliseconds);
  }

  // False: no such record.
  bool take(std::string_view line) {
    Words words(line.substr(1));
    switch (line.front()) {
      case '+':
        return allocate(words);
      case '-':
        return free(words);
      case 'a': {
        const auto size = words.hex(), trace = words.hex();
        return size && trace && add_kind(*size, *trace) != HeapCourse::kNoKind;
      }
      case 't':
        return add_trace(words);
      case 'i':
        return add_place(words);
      case 's':
        texts_.push_back(text_of(words));
        return true;
      case 'c':
        return tick(words.hex());
      case 'R':
        return resident(words.hex());
      case 'X':
        model::put_facts(model::OriginFacts{.command = std::string(words.rest())}, import_.profile.meta);
        return true;
      case 'x':
        executable_ = text_of(words);
        return true;
      case 'I':
        page_bytes_ = std::min(words.hex().value_or(page_bytes_), std::uint64_t{1} << 30);
        return true;
      case 'm':
        raw_ = true;
        return add_module(words);
      case 'A':
        attached_ = true;
        return true;
      case 'S':
      case '#':
        return true;
      default:
        return false;
    }
  }

  // "L TEXT" since version 3, where the text may hold blanks.
  std::string_view text_of(Words& words) const {
    if (version_ < 3) return words.rest();
    const auto length = words.hex();
    return length ? words.rest().substr(0, static_cast<std::size_t>(*length)) : std::string_view();
  }
  std::string_view text(std::uint64_t number) const {
    return number == 0 || number > texts_.size() ? std::string_view()
                                                 : texts_[static_cast<std::size_t>(number - 1)];
  }

  struct Segment {
    std::uint64_t start, end, bias;
    model::ModuleId module;
  };
  // "- " clears the list; "L NAME BIAS {VADDR SIZE}*".
  bool add_module(Words words) {
    std::string_view name = version_ < 3 ? words.rest().substr(0, words.rest().find(' ')) : text_of(words);
    if (version_ >= 3) words.skip(1);
    if (name == "-") {
      segments_.clear();
      return true;
    }
    words.skip(name.size() + (version_ < 3 ? 1 : 0));
    const auto bias = words.hex();
    if (!bias) return false;
    if (name == "x") name = executable_;
    const model::ModuleId module = import_.module(name, {}, model::SymbolSource::kNone);
    for (;;) {
      const auto start = words.hex(), size = words.hex();
      if (!start || !size) return true;
      segments_[*bias + *start] = {*bias + *start, *bias + *start + *size, *bias, module};
    }
  }

  // An address of a raw file: a place in what was mapped then.
  model::FrameId frame_at(std::uint64_t address) {
    auto segment = segments_.upper_bound(address);
    if (segment != segments_.begin() && address < (--segment)->second.end)
      return import_.builder.frame(segment->second.module, {address - segment->second.bias});
    return import_.builder.frame({0}, {address});
  }

  bool add_place(Words words) {
    const auto address = words.hex(), module_text = words.hex();
    if (!address || !module_text) return false;
    const std::string_view path = text(*module_text);
    std::vector<model::Builder::NamedLine> lines;
    for (;;) {
      const auto function = words.hex();
      if (!function) break;
      const auto file = words.hex(), number = words.hex();
      if (lines.size() < kMostInlinedLines)
        lines.push_back(
            {text(*function), file ? text(*file) : std::string_view(),
             static_cast<std::uint32_t>(std::min<std::uint64_t>(number.value_or(0), UINT32_MAX))});
    }
    std::string unnamed = fmt::format("{:#x}", *address);
    if (!path.empty()) unnamed = fmt::format("[{} at {:#x}]", base_name(path), *address);
    if (lines.empty()) lines.push_back({"", "", 0});
    for (model::Builder::NamedLine& line : lines)
      if (line.function.empty()) line.function = unnamed;
    SourceNames names;
    names.replace_in(lines);
    places_.push_back(import_.builder.frame_with_lines(import_.module(path), {}, lines));
    return true;
  }

  // "PLACE PARENT", and of raw files the address itself.
  bool add_trace(Words& words) {
    const auto place = words.hex(), parent = words.hex();
    if (!place || !parent || *parent > traces_.size()) return false;
    model::FrameId frame;
    if (places_.empty()) {
      frame = frame_at(*place);
    } else if (*place == 0 || *place > places_.size()) {
      return false;
    } else {
      frame = places_[static_cast<std::size_t>(*place - 1)];
    }
    const Trace above = *parent == 0 ? Trace{} : traces_[static_cast<std::size_t>(*parent - 1)];
    deep_ = deep_ || above.depth == kMostDepth;
    traces_.push_back(above.depth == kMostDepth
                          ? above
                          : Trace{import_.builder.stack(above.stack, frame), above.depth + 1});
    return true;
  }

  HeapCourse::Kind add_kind(std::uint64_t size, std::uint64_t trace) {
    if (trace > traces_.size()) return HeapCourse::kNoKind;
    return course_.kind(size,
                        trace == 0 ? model::StackId{0} : traces_[static_cast<std::size_t>(trace - 1)].stack);
  }

  bool allocate(Words& words) {
    const auto first = words.hex();
    if (!first) return false;
    const auto trace = words.hex(), pointer = words.hex();
    HeapCourse::Kind kind = HeapCourse::kNoKind;
    if (trace) {
      if (!pointer) return false;
      const auto [known, added] = raw_kinds_.try_emplace({*first, *trace}, HeapCourse::kNoKind);
      if (added) known->second = add_kind(*first, *trace);
      kind = known->second;
      if (kind == HeapCourse::kNoKind) return false;
      // The address was handed out again, so its earlier block has been freed.
      const auto [block, is_new] = blocks_.insert_or_assign(*pointer, kind);
      (void)block;
      if (!is_new) ++reused_;
    } else {
      if (*first >= course_.kinds()) return false;
      kind = static_cast<HeapCourse::Kind>(*first);
    }
    return course_.allocate(kind);
  }

  bool free(Words& words) {
    const auto first = words.hex();
    if (!first) return false;
    if (!blocks_.empty() || raw_) {
      const auto block = blocks_.find(*first);
      if (block == blocks_.end()) {
        ++unseen_;
        return true;
      }
      (void)course_.free(block->second);
      blocks_.erase(block);
      return true;
    }
    if (*first >= course_.kinds()) return version_ == 0;
    if (!course_.free(static_cast<HeapCourse::Kind>(*first))) ++unseen_;
    return true;
  }

  bool tick(std::optional<std::uint64_t> milliseconds) {
    if (!milliseconds) return false;
    if (*milliseconds > kMostMilliseconds) return true;
    const std::uint64_t time_ns = kImportStart + *milliseconds * kMillisecond;
    if (time_ns <= now_ns_) return true;  // readers of heaptrack drop them, too
    now_ns_ = time_ns;
    course_.now(time_ns);
    if (time_ns - slice_start_ns_ < slice_ms_ * kMillisecond) return true;
    course_.end_slice(time_ns);
    slice_start_ns_ = time_ns;
    return true;
  }

  bool resident(std::optional<std::uint64_t> pages) {
    if (!pages) return false;
    points_.push_back({now_ns_, static_cast<double>(*pages) * static_cast<double>(page_bytes_)});
    return true;
  }

  Result<model::Profile> finish() {
    course_.finish(now_ns_);
    model::Profile& profile = import_.profile;
    model::Heap& heap = profile.heap.heaps[0];
    heap.from_start = !attached_;
    heap.earlier_frees = attached_ ? unseen_ : 0;
    heap.unseen_frees = reused_;
    profile.meta.start_ns = kImportStart;
    profile.meta.end_ns = now_ns_;
    // "./ledger 1 2"
    const std::string command = model::facts_of<model::OriginFacts>(profile.meta).command;
    std::string program(executable_);
    if (program.empty()) program = command.substr(0, command.find(' '));
    model::Process& process = profile.processes[0];
    // A program that heaptrack launched is recorded to its end.
    if (!attached_) process.end_ns = now_ns_;
    process.name = import_.builder.string(base_name(program));
    if (!program.empty()) process.executable = import_.builder.string(program);
    if (!points_.empty())
      profile.series.push_back(
          {import_.builder.string("memory.rss"), import_.builder.string("bytes"), 0, std::move(points_)});
    if (left_out_.count() != 0) import_.note(left_out_.note(line_, "no records of heaptrack"));
    if (!attached_ && unseen_ != 0)
      import_.note(fmt::format("{} frees are of blocks that were never allocated.", unseen_));
    if (raw_)
      import_.note("This is a raw file, which has no names: heaptrack_interpret < FILE makes one that has.");
    if (deep_)
      import_.note(fmt::format("Stacks with more than {} frames lose their innermost frames.", kMostDepth));
    model::put_facts(model::ImportFacts{.heap_lives = "temporary only"}, profile.meta);
    import_.note("heaptrack has times of 10 ms, so how long blocks lived is not known.");
    profile.quality.samples = 0;
    return import_.finish(name_);
  }

  struct Trace {
    model::StackId stack{0};
    std::size_t depth = 0;
  };
  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& key) const noexcept {
      return std::hash<std::uint64_t>{}(key.first * 0x9e3779b97f4a7c15u ^ key.second);
    }
  };

  std::string_view rest_, text_;
  const std::string& name_;
  Import import_{"heaptrack"};
  HeapCourse course_{import_, import_.process(0, "")};
  std::uint64_t version_ = 0, line_ = 0, page_bytes_ = 4096;
  std::string_view executable_;
  std::vector<std::string_view> texts_;
  std::vector<model::FrameId> places_;
  std::vector<Trace> traces_;
  std::map<std::uint64_t, Segment> segments_;  // by start
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, HeapCourse::Kind, PairHash> raw_kinds_;
  std::unordered_map<std::uint64_t, HeapCourse::Kind> blocks_;  // of raw files, by address
  std::vector<model::Point> points_;
  std::uint64_t now_ns_ = kImportStart, slice_start_ns_ = kImportStart, slice_ms_ = 1;
  std::uint64_t unseen_ = 0, reused_ = 0;
  LeftOutLines left_out_;
  bool raw_ = false, attached_ = false, deep_ = false;
};

}  // namespace

bool is_heaptrack(std::string_view text) {
  if (!text.starts_with("v ")) return false;
  const std::string_view line = text.substr(2, std::min(text.find('\n'), text.size()) - 2);
  Words words(line);
  const auto tool = words.hex();
  // "v 10400 3". Folded stacks of a thread "v" end in a number, too, and have a stack before it.
  return tool && *tool >= 0x10000 && *tool < 0x1000000 && line.find(';') == std::string_view::npos;
}

Result<model::Profile> read_heaptrack(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace fathom::formats
