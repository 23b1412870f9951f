#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "base/text_index.h"
#include "formats/import/idle_cpus.h"
#include "formats/import/lines.h"
#include "formats/import/source_names.h"
#include "formats/perf_script/perf_script.h"
#include "formats/perf_script/perf_script_lines.h"
#include "model/facts.h"
#include "model/rare_stacks.h"
#include "model/stack_paths.h"

namespace fathom::formats {
namespace {

constexpr std::string_view kRemedy = "the output of 'perf script -F +pid', not perf.data itself";

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

// Side-band records that --show-task-events and --show-mmap-events mix in: "... 5.1: PERF_RECORD_MMAP2 12/12:
// [0x..". What follows their name may look like an event.
bool is_record_line(std::string_view line) {
  return line.find(" PERF_RECORD_") != line.npos;
}

// A frame behind an event. The address, the source and the weight of a memory access stand there too, in
// numbers: "ffff8881 68100142 |OP LOAD|LVL L1 hit| 7".
bool is_frame_of_header(std::string_view text) {
  const std::optional<PerfFrame> frame = parse_perf_frame(text);
  return frame && !(frame->module.empty() && frame->symbol.front() >= '0' && frame->symbol.front() <= '9');
}

struct ModuleWords {
  model::ModuleKind kind;
  std::string_view name;
};

ModuleWords module_words(std::string_view module) {
  using model::ModuleKind;
  if (module.empty() || module == "[unknown]") return {ModuleKind::kNames, ""};
  const std::size_t slash = module.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? module : module.substr(slash + 1);
  if (module == "[vdso]" || module == "[vsyscall]") return {ModuleKind::kVdso, module};
  if (module.starts_with("[kernel") || module.starts_with("[guest.kernel") || file == "vmlinux" ||
      file.starts_with("vmlinux-")) {
    return {ModuleKind::kKernel, "[kernel]"};
  }
  // Kernel modules are printed as "[ext4]" or by their file.
  const bool is_anonymous = module == "[heap]" || module == "[stack]" || module == "[anon]" ||
                            module == "//anon" || module.starts_with("[JIT]") ||
                            module.starts_with("/memfd:");
  if (is_anonymous || (module.starts_with("/tmp/perf-") && module.ends_with(".map")) ||
      file.starts_with("jitted-")) {
    return {ModuleKind::kAnonymous, "[jit]"};
  }
  if (module.front() == '[' || file.find(".ko") != std::string_view::npos) {
    const std::size_t dot = file.rfind(".ko");
    const bool is_ko =
        dot != std::string_view::npos && file.find_first_not_of(".kogxzst", dot) == std::string_view::npos;
    if (module.front() == '[' || is_ko) return {ModuleKind::kKernel, file};
  }
  return {ModuleKind::kNames, file};
}

}  // namespace

struct PerfScriptReader::State {
 public:
  explicit State(std::string name) : name_(std::move(name)) {
    profile_.meta.engine = "import";
    model::put_facts(model::OriginFacts{.format = "perf script"}, profile_.meta);
    profile_.processes.push_back({});  // of threads whose pid is not printed
    processes_[0] = {0};
  }

  void add(std::string_view piece) {
    text_.add(piece, [this](std::string_view line) { take(line); });
  }

  std::uint64_t samples() const { return profile_.samples.size() + left_out_; }

  Result<model::Profile> finish() {
    text_.finish([this](std::string_view line) { take(line); });
    end_sample();
    if (profile_.samples.empty()) {
      return fail(ErrorKind::kMalformed, fmt::format("{}: no event of perf script in it", name_),
                  std::string(kRemedy));
    }
    if (left_out_ != 0)
      return fail(ErrorKind::kUnsupported,
                  fmt::format("{}: more than {} million samples", name_, kMostSamples / 1'000'000),
                  "a part of it: perf script --time FROM,TO");
    conclude();
    return std::move(profile_);
  }

 private:
  void take(std::string_view line) {
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    read_line(line);
  }

  void read_line(std::string_view line) {
    if (is_blank_line(line)) {
      end_sample();
    } else if (line.front() == '#') {
      read_comment(line.substr(1));
    } else {
      // A name like "cafe" looks like an address, so a line that is not indented is first taken for a header.
      const bool outside = !in_sample_ || (line.front() != ' ' && line.front() != '\t');
      if (outside && begin_sample(line)) return;
      // Names of threads stand at the right of their column, so a sample without a stack may be indented, too.
      if (!(in_sample_ && read_frame(line)) && !begin_sample(line)) unread();
    }
  }

  // "# nrcpus online : 8"
  void read_comment(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    model::OriginFacts origin;
    if (key == "hostname") origin.host = value;
    if (key == "os release") origin.kernel = value;
    if (key == "nrcpus online") origin.cpus = parse_number<std::uint32_t>(value);
    if (key == "cpudesc") origin.cpu = value;
    if (key == "cmdline") origin.command = value;
    model::put_facts(origin, profile_.meta);
  }

  bool begin_sample(std::string_view line) {
    if (is_record_line(line)) {
      end_sample();
      return true;
    }
    const std::optional<PerfHeader> header = parse_perf_header(line);
    if (!header) return false;
    end_sample();
    in_sample_ = true;
    sample_ = {};
    sample_.value = std::max<std::int64_t>(header->period.value_or(1), 0);
    sample_.thread = thread(*header);
    sample_.cpu = header->cpu;
    if (header->time_ns) {
      sample_.time_ns = *header->time_ns;
      first_ns_ = std::min(first_ns_, *header->time_ns);
      last_ns_ = std::max(last_ns_, *header->time_ns);
    }
    const auto known = events_.find(header->event);
    ++(known != events_.end() ? known->second : events_[std::string(header->event)]);
    has_period_ = has_period_ || header->period.has_value();
    // Without call chains the whole sample is one line; otherwise `rest` holds the fields of a tracepoint or
    // of a memory access, if any.
    if (is_frame_of_header(header->rest) && read_frame(header->rest)) end_sample();
    return true;
  }

  bool read_frame(std::string_view line) {
    const std::optional<PerfFrame> frame = parse_perf_frame(line);
    if (!frame) return false;
    if (frame->module == "inlined") {
      inlined_.emplace_back(frame->symbol);  // innermost first; the real frame of the same address follows
      return true;
    }
    frames_.push_back(place(*frame));
    inlined_.clear();
    return true;
  }

  // Also the end of a sample that never began.
  void end_sample() {
    if (!in_sample_) return;
    in_sample_ = false;
    if (!inlined_.empty()) {
      const std::string outermost = std::move(inlined_.back());
      inlined_.pop_back();
      frames_.push_back(place({outermost, ""}));
      inlined_.clear();
    }
    calls_.clear();
    for (std::size_t i = frames_.size(); i-- > 0;) calls_.push_back(frames_[i].value);
    sample_.stack = *stacks_.find_or_add_calls(calls_, [&](std::size_t at) {
      return std::optional(model::FrameId{static_cast<std::uint32_t>(calls_[at])});
    });
    frames_.clear();
    if (profile_.samples.size() == kMostSamples) return void(++left_out_);
    profile_.samples.push_back(sample_);
    if (profile_.stacks.size() > model::kMostStacks) {
      model::fold_rare_stacks(profile_, model::kMostStacks / 2, rare_);
      stacks_.find_again([](model::FrameId frame) { return frame.value; });
    }
  }

  void unread() {
    if (unread_++ == 0) first_unread_ = number_;
  }

  model::FrameId place(const PerfFrame& frame) {
    // Nearly all frames have been seen before, with the same texts.
    key_.assign(frame.module);
    for (const std::string& part : inlined_) key_.append(1, '\n').append(part);
    key_.append(1, '\n').append(frame.symbol);
    const std::uint32_t number = places_.number_of(key_);
    if (number < frame_of_place_.size()) return frame_of_place_[number];

    const model::ModuleId module = module_of(frame.module);
    std::vector<model::Builder::NamedLine> lines;
    for (const std::string& part : inlined_) lines.push_back({part, "", 0});
    std::string name(frame.symbol);
    const std::string_view module_name = profile_.strings[profile_.modules[module.value].name];
    if (name == "[unknown]" && !module_name.empty()) {
      name = module_name.front() == '[' ? std::string(module_name) : fmt::format("[{}]", module_name);
    }
    lines.push_back({name, "", 0});
    SourceNames names;
    names.replace_in(lines);
    const model::FrameId id = builder_.frame_with_lines(module, {}, lines);
    frame_of_place_.push_back(id);
    return id;
  }

  model::ModuleId module_of(std::string_view path) {
    const std::uint32_t number = module_paths_.number_of(path);
    if (number == modules_.size()) {
      const ModuleWords words = module_words(path);
      model::Module row;
      row.kind = words.kind;
      row.name = builder_.string(words.name);
      row.path = builder_.string(path == "[unknown]" ? "" : path);
      if (words.kind == model::ModuleKind::kAnonymous) row.symbols = model::SymbolSource::kPerfMap;
      if (words.kind == model::ModuleKind::kKernel) row.symbols = model::SymbolSource::kKallsyms;
      modules_.push_back(builder_.module(row));
    }
    return modules_[number];
  }

  model::ThreadId thread(const PerfHeader& header) {
    key_.clear();
    fmt::format_to(std::back_inserter(key_), "{}/{}/{}", header.pid, header.tid, header.comm);
    const auto [known, added] = threads_.try_emplace(key_);
    if (added) {
      const auto [process, new_process] = processes_.try_emplace(header.pid);
      if (new_process) {
        process->second = {static_cast<std::uint32_t>(profile_.processes.size())};
        model::Process row;
        row.pid = header.pid;
        row.name = builder_.string(header.comm);
        profile_.processes.push_back(row);
      }
      model::Thread row;
      row.process = process->second;
      row.tid = header.tid;
      row.name = builder_.string(header.comm);
      known->second = {static_cast<std::uint32_t>(profile_.threads.size())};
      profile_.threads.push_back(row);
    }
    return known->second;
  }

  void conclude() {
    model::Meta& meta = profile_.meta;
    if (last_ns_ != 0) {
      meta.start_ns = first_ns_;
      meta.end_ns = last_ns_;
    }
    std::string names;
    for (const auto& [event, count] : events_) names += (names.empty() ? "" : ", ") + std::string(event);
    meta.event = names;
    if (events_.size() > 1) {
      profile_.quality.notes.push_back(
          fmt::format("The file has several events ({}); they are added up.", names));
    }
    if (has_period_) {
      const bool clocks = std::all_of(events_.begin(), events_.end(), [](const auto& event) {
        return event.first.starts_with("cpu-clock") || event.first.starts_with("task-clock");
      });
      model::put_facts(model::ImportFacts{.unit = clocks               ? "ns"
                                                  : events_.size() > 1 ? "events"
                                                                       : std::string(events_.begin()->first)},
                       meta);
    }
    if (unread_ != 0) {
      profile_.quality.notes.push_back(fmt::format("{} of the text could not be read, the first is line {}.",
                                                   unread_ == 1 ? "1 line" : fmt::format("{} lines", unread_),
                                                   first_unread_));
    }
    std::int64_t total = 0;
    for (const model::Sample& sample : profile_.samples)
      if (__builtin_add_overflow(total, sample.value, &total)) total = INT64_MAX;
    if (rare_.stacks != 0) profile_.quality.notes.push_back(rare_.note(total));
    leave_out_idle_cpus(profile_);
    profile_.quality.samples = profile_.samples.size();
  }

  static constexpr std::size_t kMostSamples = 64'000'000;

  std::string name_;
  Lines text_;
  model::Profile profile_;
  model::Builder builder_{profile_};  // of all but stacks
  model::StackPaths stacks_{profile_.stacks};
  model::RareStacks rare_;
  std::uint64_t left_out_ = 0;
  std::size_t number_ = 0;  // of the present line
  std::size_t unread_ = 0;
  std::size_t first_unread_ = 0;

  bool in_sample_ = false;
  model::Sample sample_;
  std::vector<model::FrameId> frames_;  // leaf first
  std::vector<std::uint64_t> calls_;    // the same, root first
  std::vector<std::string> inlined_;    // waiting for the frame that they were inlined into

  std::uint64_t first_ns_ = UINT64_MAX;
  std::uint64_t last_ns_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> events_;
  bool has_period_ = false;

  std::string key_;
  TextIndex places_;
  std::vector<model::FrameId> frame_of_place_;  // by number of places_
  TextIndex module_paths_;
  std::vector<model::ModuleId> modules_;  // by number of module_paths_
  std::unordered_map<std::string, model::ThreadId> threads_;
  std::unordered_map<std::int32_t, model::ProcessId> processes_;
};

PerfScriptReader::PerfScriptReader(std::string name) : state_(std::make_unique<State>(std::move(name))) {}
PerfScriptReader::~PerfScriptReader() = default;
void PerfScriptReader::add(std::string_view piece) {
  state_->add(piece);
}
std::uint64_t PerfScriptReader::samples() const {
  return state_->samples();
}
Result<model::Profile> PerfScriptReader::finish() {
  return state_->finish();
}

bool is_perf_script(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (is_blank_line(line)) continue;
    if (line.starts_with("# ========")) return true;
    if (line.front() != '#') return is_record_line(line) || parse_perf_header(line).has_value();
  }
  return false;
}

Result<model::Profile> read_perf_script(std::string_view text, const std::string& name) {
  PerfScriptReader reader(name);
  reader.add(text);
  return reader.finish();
}

}  // namespace fathom::formats
