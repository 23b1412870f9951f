#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/parse.h"
#include "base/text.h"
#include "formats/import/import.h"
#include "formats/import/left_out_lines.h"
#include "formats/valgrind/call_paths.h"
#include "formats/valgrind/callgrind.h"
#include "model/exact_count.h"
#include "model/facts.h"

namespace fathom::formats {
namespace {

constexpr std::uint64_t kMostCost = std::uint64_t{1} << 53;
constexpr std::size_t kMostNames = 16'000'000;

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}
std::optional<std::uint64_t> number_in(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  return parse_number(digits, base);
}

class CallgrindReader {
 public:
  CallgrindReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<model::Profile> read() {
    while (!rest_.empty()) {
      ++line_;
      const std::string_view line = take_line(rest_);
      if (!take(line)) left_out_.add(line_, line);
    }
    if (event_.empty()) return fail(ErrorKind::kMalformed, name_ + ": no line 'events:' of callgrind");
    return finish();
  }

 private:
  // Names are written once with a number, "(3) main", and then by it, "(3)".
  class Names {
   public:
    std::optional<std::string_view> of(std::string_view text) {
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      const std::string_view whole = text;
      if (!text.starts_with('(')) return text;
      const std::size_t close = text.find(')');
      if (close == std::string_view::npos) return text;
      const auto number = number_in(text.substr(1, close - 1));
      if (!number) return text;  // "(below main)"
      text.remove_prefix(close + 1);
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      if (!text.empty()) {
        if (names_.size() >= kMostNames) return std::nullopt;
        names_[*number] = text;
        return text;
      }
      // A line that had it may be damaged or left out.
      const auto known = names_.find(*number);
      return known == names_.end() ? whole : known->second;
    }

   private:
    std::unordered_map<std::uint64_t, std::string_view> names_;
  };

  bool take(std::string_view line) {
    if (line.empty() || line.front() == '#') return true;
    const char first = line.front();
    if ((first >= '0' && first <= '9') || first == '+' || first == '-' || first == '*')
      return take_cost(line);
    const std::size_t colon = line.find(':'), equals = line.find('=');
    if (equals < colon) return take_name(line.substr(0, equals), line.substr(equals + 1));
    if (colon == std::string_view::npos) return line.find_first_not_of(" \t") == std::string_view::npos;
    return take_head(line.substr(0, colon), line.substr(colon + 1));
  }

  bool take_head(std::string_view key, std::string_view value) {
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (key == "events" && event_.empty()) {
      events_ = value;
      event_ = take_word(value);
    }
    // "cpu : CPU (samples)": what fathom itself wrote says its unit.
    if (key == "event" && from_fathom_ && value.ends_with(')'))
      if (const std::size_t open = value.rfind('('); open != std::string_view::npos) {
        const std::string_view unit = value.substr(open + 1, value.size() - open - 2);
        own_units_.try_emplace(take_word(value), unit);
      }
    if (key == "creator") from_fathom_ = value.starts_with("fathom");
    if (key == "positions") {
      positions_ = 0;
      while (!take_word(value).empty()) ++positions_;
    }
    if (key == "cmd") command_ = value;
    if (key == "pid")
      if (const auto pid = number_in(value); pid && *pid <= INT32_MAX) pid_ = static_cast<std::int32_t>(*pid);
    return true;
  }

  bool take_name(std::string_view key, std::string_view value) {
    if (key == "calls") {
      in_call_ = true;
      return number_in(take_word(value)).has_value();
    }
    // "cfn": of a call; "jfn": of a jump, and "frfn": of who called, which cost nothing here, and may be the first to say what a
    // number stands for.
    const bool of_call = key.starts_with('c') && key.size() == 3,
               is_aside = key.starts_with('j') || key == "frfn";
    const std::string_view what = key == "frfn" ? key.substr(2) : key.size() == 3 ? key.substr(1) : key;
    Names* const names = what == "fn"                                   ? &functions_named_
                         : what == "fl" || what == "fi" || what == "fe" ? &files_named_
                         : what == "ob"                                 ? &objects_named_
                                                                        : nullptr;
    if (names == nullptr) return true;  // jumps and what newer versions add cost nothing
    const std::optional<std::string_view> name = names->of(value);
    if (!name) return false;
    if (is_aside) return true;
    if (what == "fn") {
      if (of_call) {
        callee_ = function_of(*name, callee_file_.value_or(last_file_), callee_object_.value_or(object_));
        callee_file_.reset();
        callee_object_.reset();
      } else {
        function_ = function_of(*name, file_, object_);
        place_ = last_file_ = file_;
      }
    } else if (what == "ob") {
      (of_call ? callee_object_.emplace() : object_) = *name;
    } else if (of_call) {
      callee_file_ = name;
    } else {
      if (what == "fl") file_ = last_file_ = *name;
      place_ = *name;  // "fi" and "fe": of files that are included into the function
    }
    return true;
  }

  // "+3 120 5": where, and the cost of each event.
  bool take_cost(std::string_view line) {
    for (std::size_t i = 0; i < positions_; ++i)
      if (take_word(line).empty()) return false;
    const std::string_view word = take_word(line);
    const std::optional<std::uint64_t> cost = word.empty() ? std::uint64_t{0} : number_in(word);
    if (!cost || *cost > kMostCost || !function_) return false;
    const bool call = std::exchange(in_call_, false);
    if (call && !callee_) return false;
    std::uint64_t& sum = call ? costs_.of_calls[{*function_, *callee_}] : costs_.self[*function_];
    sum = std::min(kMostCost, sum + *cost);
    if (!call) {
      add_to_place(*function_, *cost);
      last_file_ = place_;
    }
    return true;
  }

  // What of a function's own cost is in lines of another file, which was included into it.
  void add_to_place(std::uint32_t function, std::uint64_t cost) {
    if (cost == 0 || place_ == functions_file_[function]) return;
    std::uint64_t& sum = elsewhere_[function][place_];
    sum = std::min(kMostCost, sum + cost);
  }

  // The frames of a function's own cost with their parts of `value`, in whole numbers that add up.
  template <class Visit>
  void for_each_place(std::uint32_t function, std::int64_t value, Visit visit) {
    std::int64_t left = value;
    if (const auto places = elsewhere_.find(function);
        places != elsewhere_.end() && costs_.self[function] != 0)
      for (const auto& [file, cost] : places->second) {
        const double share = static_cast<double>(cost) / static_cast<double>(costs_.self[function]);
        const auto part = std::min<std::int64_t>(left, std::llround(static_cast<double>(value) * share));
        left -= part;
        const model::Frame& frame = import_.profile.frames[frames_[function].value];
        if (part != 0) visit(import_.frame(frame.module, names_[function], file), part);
      }
    if (left != 0) visit(frames_[function], left);
  }

  // The same name in two files is two functions.
  std::uint32_t function_of(std::string_view name, std::string_view file, std::string_view object) {
    std::string key(name);
    key.append(1, '\n').append(file).append(1, '\n').append(object);
    const auto [known, added] =
        functions_.try_emplace(std::move(key), static_cast<std::uint32_t>(frames_.size()));
    if (added) {
      const auto given = [](std::string_view text) { return text == "???" ? std::string_view() : text; };
      frames_.push_back(import_.frame(import_.module(given(object)), name, given(file)));
      names_.push_back(name);
      functions_file_.push_back(file);
      costs_.self.push_back(0);
    }
    return known->second;
  }

  Result<model::Profile> finish() {
    model::Profile& profile = import_.profile;
    const std::string_view program = command_.substr(0, command_.find(' '));
    const model::ProcessId process = import_.process(pid_, program);
    const model::ThreadId thread = import_.thread(process, pid_, base_name(program));
    std::vector<model::StackId> stacks;
    for (const CallPath& path : paths_of(costs_)) {
      const model::StackId above = path.caller == CallPath::kNone ? model::StackId{0} : stacks[path.caller];
      stacks.push_back(import_.builder.stack(above, frames_[path.function]));
      for_each_place(path.function, path.value, [&](model::FrameId frame, std::int64_t value) {
        model::Sample row;
        row.stack = import_.builder.stack(above, frame);
        row.thread = thread;
        row.value = value;
        profile.samples.push_back(row);
      });
    }
    if (profile.samples.empty())
      return fail(ErrorKind::kMalformed,
                  fmt::format("{}: no cost of {} in a file of callgrind", name_, event_));
    if (!command_.empty())
      model::put_facts(model::OriginFacts{.command = std::string(command_)}, profile.meta);
    profile.meta.event = event_;
    const auto own = own_units_.find(event_);
    const bool sampled = own != own_units_.end();
    if (!sampled || own->second != "samples")
      model::put_facts(
          model::ImportFacts{.unit = event_ == "Ir" ? "instructions"
                                                    : std::string(sampled ? own->second : event_)},
          profile.meta);
    if (!sampled) model::put_facts(model::ImportFacts{.counts_all = true}, profile.meta);
    if (!costs_.of_calls.empty())
      import_.note(
          "callgrind records pairs of caller and callee: self costs are exact, and costs of longer paths are divided in proportion.");
    if (left_out_.count() != 0) import_.note(left_out_.note(line_, "none of callgrind's"));
    if (events_ != event_)
      import_.note(fmt::format("The file has the events {}; the first one is shown.", events_));
    return import_.finish(name_);
  }

  std::string_view rest_, events_, event_, command_;
  bool from_fathom_ = false;
  std::map<std::string_view, std::string_view> own_units_;  // by event
  const std::string& name_;
  Import import_{"callgrind"};
  LeftOutLines left_out_;
  std::uint64_t line_ = 0;
  std::size_t positions_ = 1;
  std::int32_t pid_ = 0;
  Names functions_named_, files_named_, objects_named_;
  std::string_view file_, object_, place_;  // place_: the file that lines of costs are of
  // The file of the function's last cost, at first its own. callgrind leaves "cfi=" out where it would say this one, also when
  // it came from "fi=" of an included file; a "fi=" before a call that has no cost in front of it does not count.
  std::string_view last_file_;
  std::optional<std::string_view> callee_file_, callee_object_;
  std::optional<std::uint32_t> function_, callee_;
  bool in_call_ = false;  // the next cost is what a call took
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<model::FrameId> frames_;  // of functions, and what follows, too
  std::vector<std::string_view> names_, functions_file_;
  std::unordered_map<std::uint32_t, std::map<std::string_view, std::uint64_t>> elsewhere_;
  CallCosts costs_;
};

}  // namespace

bool is_callgrind(std::string_view text) {
  if (text.starts_with("# callgrind format")) return true;
  // cachegrind writes the same without calls; "desc:" of massif has no functions behind it.
  const bool of_cachegrind =
      text.starts_with("desc:") && text.substr(0, 64 * 1024).find("\nfn=") != text.npos;
  if (!of_cachegrind && !text.starts_with("version:") && !text.starts_with("creator:") &&
      !text.starts_with("events:") && !text.starts_with("positions:"))
    return false;
  const std::string_view head = text.substr(0, 64 * 1024);
  return text.starts_with("events:") || head.find("\nevents:") != std::string_view::npos;
}

Result<model::Profile> read_callgrind(std::string_view text, const std::string& name) {
  return CallgrindReader(text, name).read();
}

}  // namespace fathom::formats
