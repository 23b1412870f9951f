#include "present/sentences/hot_spot_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/core/common_costs.h"
#include "analysis/core/generated_name.h"
#include "analysis/core/prose_name.h"
#include "analysis/core/rounding.h"
#include "analysis/core/words.h"
#include "analysis/summary/runtime_costs.h"
#include "base/stable_sort.h"
#include "base/text.h"
#include "model/exact_count.h"
#include "model/nameless_function.h"
#include "model/steps.h"
#include "present/sentences/activity_words.h"
#include "present/sentences/amount_words.h"
#include "present/sentences/ending_sentences.h"
#include "present/sentences/problem_sentences.h"
#include "present/sentences/quality_sentences.h"
#include "present/sentences/report_sentences.h"
#include "present/sentences/resource_sentences.h"

namespace fathom::present {

using namespace analysis;  // this folder puts into words what lies there

namespace {

// Where the name of the program begins in a command: "./slow 20000", "/home/a/my projects/slow 20000". A folder's name may have
// a space, so a name that the recording knows decides.
std::size_t program_in(const std::string& command, const model::Profile& profile) {
  for (const model::Process& process : profile.processes) {
    const std::string path = printable(profile.strings[process.executable]);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty()) continue;
    const std::size_t at = command.find("/" + name);
    const std::size_t end = at + 1 + name.size();
    if (at != command.npos && (end == command.size() || command[end] == ' ')) return at + 1;
  }
  const std::size_t end = std::min(command.find(' '), command.size());
  const std::size_t slash = command.rfind('/', end);
  return slash != command.npos && slash + 1 < end ? slash + 1 : 0;
}

std::string target_of(const model::Profile& profile) {
  std::string target = profile.meta.target.empty() ? "This profile" : target_without_folder(profile);
  constexpr std::size_t kLongest = 44;
  if (target.size() > kLongest) target = valid_utf8(target.substr(0, kLongest)) + "…";
  return target;
}

struct SubjectPart {
  std::string words;
  double share = 0;  // of the subject
};

constexpr double kWorthNaming = 0.1;  // of a subject

// The largest first. Different functions may do the same in words: malloc and operator new allocate memory. The parts are
// disjoint, so they add up.
std::vector<SubjectPart> parts_in_words(const HotSpot& spot, std::string_view own) {
  std::vector<SubjectPart> parts;
  if (spot.total <= 0) return parts;
  // Several functions without names of one file are one part: their addresses say nothing side by side.
  const double least = kWorthNaming * static_cast<double>(spot.total);
  std::map<std::string, int> nameless;  // by module: such functions
  for (const HotPart& part : spot.parts)
    if (const auto function = model::nameless_function(part.name);
        function && static_cast<double>(part.value) >= least)
      ++nameless[short_module(function->module)];
  std::unordered_map<std::string, std::size_t> rows;
  for (const HotPart& part : spot.parts) {
    std::string words = part.name.empty() ? std::string(own) : activity_of(part.name);
    if (const auto function = model::nameless_function(part.name))
      if (const std::string module = short_module(function->module); nameless[module] > 1)
        words = "in unnamed functions of " + module;
    if (part.name.starts_with("[jit+")) words = "in code generated at run time";
    const auto [row, is_new] = rows.try_emplace(words, parts.size());
    if (is_new) parts.push_back({words, 0});
    parts[row->second].share += static_cast<double>(part.value) / static_cast<double>(spot.total);
  }
  stable_sort_rows(parts, std::ranges::greater(), &SubjectPart::share);
  return parts;
}

constexpr double kAlmostAll = 0.9, kMostOfIt = 0.66;

// What no function that it calls takes. Only of time and of instructions it is said where that is: bytes and goroutines of another
// tool's file are in no instructions.
std::string_view own_part_in_words(const Report& report) {
  const std::string cost = lower_case(cost_in_words(report));
  const bool is_of_instructions = !model::counts_all(*report.profile) ||
                                  cost.find("instructions") != cost.npos || cost.find("cycles") != cost.npos;
  return is_of_instructions ? "in its own instructions" : "its own";
}

// ", almost all of it building std::basic_regex"
std::string inside_of(const Report& report, const HotSpot& spot) {
  const std::vector<SubjectPart> parts = parts_in_words(spot, own_part_in_words(report));
  if (parts.empty()) return "";
  if (parts[0].share >= kAlmostAll) return ", almost all of it " + parts[0].words;
  if (parts[0].share >= kMostOfIt) return ", most of it " + parts[0].words;
  std::string text;
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(kNamed, parts.size()); ++i)
    if (const auto& [what, share] = parts[i]; share >= kWorthNaming)
      text += fmt::format("{}{}{} {}", text.empty() ? ": " : ", ", rounded_percent(share),
                          text.empty() ? " of it" : "", what);
  constexpr double kWorthSaying = 0.03;
  if (text.empty() && parts[0].share >= kWorthSaying)
    text = fmt::format(", spread over many calls; the largest part is {} {}", rounded_percent(parts[0].share),
                       parts[0].words);
  return text;
}

// Where the names are that the sentence about the subject lacks; empty if it lacks none worth a word.
std::string remedy_for_names(const Report& report, const HotSpot& spot) {
  if (spot.grouped && spot.rank != CodeRank::kNone) return "";  // generated code has no file
  std::string file;
  if (spot.grouped) {
    // Only of an ELF file it is known where functions begin; an image of compiled Lisp has no debug file.
    const bool is_elf = std::ranges::any_of(report.functions, [&](const FunctionRow& row) {
      return report.tree.modules[row.module].name == spot.module &&
             model::nameless_function(report.tree.names[row.name]);
    });
    if (is_elf) file = short_module(spot.module);
  } else {
    std::map<std::string, std::int64_t> nameless;  // by file
    for (const HotPart& part : spot.parts)
      if (const auto function = model::nameless_function(part.name))
        nameless[short_module(function->module)] += part.value;
    const auto most = std::ranges::max_element(
        nameless, {}, [](const auto& file_and_value) { return file_and_value.second; });
    constexpr double kWorthSaying = 0.25;
    if (most == nameless.end() ||
        static_cast<double>(most->second) < kWorthSaying * static_cast<double>(spot.total))
      return "";
    file = most->first;
  }
  return file.empty() ? ""
                      : fmt::format(" {} is stripped: its debug file has the names (--symbols DIR).", file);
}

constexpr std::size_t kMostOthers = 2;

// Two instances of a template, or the same method of two types with one name, look alike; an operator does
// not show whose work it does. Callers are more informative.
bool says_little(const Report& report, const std::string& name) {
  const std::string spoken = spoken_name(name);
  if (spoken.starts_with("operator") || spoken.find("::operator") != spoken.npos) return true;
  const HotPath& path = report.hot_path;
  int alike = path.spot && spoken_name(path.spot->name) == spoken ? 1 : 0;
  for (std::size_t i = 0; i < std::min(kMostOthers, path.others.size()); ++i)
    alike += spoken_name(path.others[i].name) == spoken ? 1 : 0;
  return alike > 1;
}

// Other code is named with its file; its caller in the program's own code says what it works for.
std::string subject_name(const Report& report, const std::string& name, const std::string& module,
                         CodeRank rank, bool grouped, const std::string& caller) {
  if (grouped && rank == CodeRank::kNone) return "code without names in " + short_module(module);
  if (grouped) return "code generated at run time";
  if (rank == CodeRank::kKernel) return spoken_kernel_work(name);
  std::string text = spoken_name(name);
  if (const auto cost = common_cost(name)) text += fmt::format(" ({})", *cost);
  if (rank != CodeRank::kOwn && rank != CodeRank::kStart && !module.empty())
    text += " in " + short_module(module);
  if (!caller.empty() && (rank < CodeRank::kStart || says_little(report, name)))
    text += ", called by " + spoken_name(caller) + ",";
  return text;
}

// The place belongs to the name: "encode (codec.cpp:12), called by serve,".
std::string with_place(const std::string& name, const std::string& place) {
  if (place.empty()) return name;
  const std::size_t end = std::min(name.find(", called by "), name.size());
  return name.substr(0, end) + " (" + place + ")" + name.substr(end);
}

// "; next is encode with 20 %"; "; next are encode with 20 % and serve with 12 %"
std::string others_of(const Report& report) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(kMostOthers, report.hot_path.others.size()); ++i) {
    const HotOther& other = report.hot_path.others[i];
    const std::string name =
        subject_name(report, other.name, other.module, other.rank, other.grouped, other.caller);
    parts.push_back(fmt::format("{}{} with {}", name, other.itself ? " itself" : "",
                                rounded_percent(share(report.tree, other.value))));
  }
  if (parts.empty()) return "";
  return fmt::format("; next {} {}", parts.size() == 1 ? "is" : "are", fmt::join(parts, " and "));
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string module_in_words(const TreeModule& module) {
  return module.kind == model::ModuleKind::kKernel ? "the kernel"
         : module.name.empty()                     ? "code outside all known files"
                                                   : short_module(module.name);
}

// The file that most of the time is in, and its share of code without names.
struct WidestModule {
  const TreeModule* module = nullptr;
  std::int64_t self = 0, unnamed = 0;
  const FunctionRow* widest = nullptr;  // of its functions without a name
};
WidestModule widest_module(const Report& report) {
  WidestModule widest;
  if (report.functions.empty() || report.modules.empty()) return widest;
  const ModuleRow& most =
      *std::max_element(report.modules.begin(), report.modules.end(),
                        [](const ModuleRow& a, const ModuleRow& b) { return a.self < b.self; });
  widest.module = &report.tree.modules[most.module];
  widest.self = most.self;
  for (const FunctionRow& row : report.functions) {
    if (row.module != most.module || !is_unnamed(report.tree.names[row.name])) continue;
    widest.unnamed += row.self;
    if (widest.widest == nullptr || row.self > widest.widest->self) widest.widest = &row;
  }
  return widest;
}

// Without a function to name.
std::string sentence_of_module(const Report& report, const WidestModule& most) {
  if (most.module == nullptr) return "No sample has a stack.";
  const bool nameless = most.module->kind == model::ModuleKind::kFile && most.unnamed * 2 > most.self;
  std::string text = fmt::format(
      "{} of {} is in {}{}.", rounded_percent(share(report.tree, most.self)), cost_in_words(report),
      module_in_words(*most.module),
      nameless ? ", which is stripped: without its debug file (--symbols DIR) its functions have no names"
               : "");
  if (most.widest != nullptr && share(report.tree, most.widest->self) >= kSubjectShare)
    text += fmt::format(" {} is in {}.", rounded_percent(share(report.tree, most.widest->self)),
                        spoken_name(report.tree.names[most.widest->name]));
  return text;
}

}  // namespace

std::string cost_in_words(const Report& report) {
  const std::string& unit = report.tree.unit;
  if (report.unsampled) return "the CPU time that could be sampled";
  return unit == "samples" || unit == "ns" || unit == "thousandths" ? "CPU time" : "all " + printable(unit);
}

std::string rounded_percent(double share) {
  return share >= 0.0995 || share <= 0 ? fmt::format("{:.0f} %", share * 100) : percent(share);
}

std::string place_text(const SourcePlace& place, std::string_view name) {
  if (place.file.empty()) {
    const auto generated = generated_name(name);
    return generated && !generated->function.empty() ? generated->place : "";
  }
  return place.line == 0 ? printable(place.file) : fmt::format("{}:{}", printable(place.file), place.line);
}

std::string target_without_folder(const model::Profile& profile) {
  std::string target = printable(profile.meta.target);
  target.erase(0, program_in(target, profile));
  return target;
}

std::string headline_of(const Report& report) {
  std::vector<std::string> parts{target_of(*report.profile)};
  const Activity& activity = report.activity;
  if (std::string end = endings_text(report); !end.empty()) parts.push_back(std::move(end));
  const auto steps = report.profile->meta.facts.find(model::kStepsFact);
  if (activity.duration_s > 0)
    parts.push_back(
        steps == report.profile->meta.facts.end()
            ? seconds(activity.duration_s)
            : fmt::format("{:.0f} {}s, times unknown", activity.duration_s, printable(steps->second)));
  std::string busy = activity.watched ? threads_in_words(report) : "";
  // The name of an attached target has its children.
  const std::uint64_t processes = number_of_processes(report);
  if (!busy.empty() && processes > 1 &&
      report.profile->meta.target.find(" child process") == std::string::npos)
    busy += " in " + counted(processes, "process", "processes");
  if (const auto used = activity.cpus_used())
    busy += fmt::format("{}{:.2f}{} CPUs", busy.empty() ? "" : ", ", *used,
                        activity.cpus == 0 ? "" : fmt::format(" of {}", activity.cpus));
  if (!busy.empty()) parts.push_back(busy);
  const std::uint64_t samples = samples_in(report.tree);
  if (samples == 0 && report.tree.waits != 0)
    parts.push_back(counted(report.tree.waits, "wait"));
  else if (model::counts_all(*report.profile))
    parts.push_back(fmt::format("{} {}", with_commas(report.tree.total), printable(report.tree.unit)));
  else if (!(report.unsampled && report.unsampled->all) && !model::is_heap(report.tree.metric) &&
           activity.watched)
    parts.push_back(counted(samples, "sample"));
  if (report.unsampled && report.unsampled->all) parts.emplace_back("could not be sampled");
  std::string kind = short_words(classify(report));
  for (const std::string& growth : short_words_of_resources(report))
    kind += (kind.empty() ? "" : ", ") + growth;
  if (!kind.empty()) parts.push_back(kind);
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string sentence_of_little_cpu(const Report& report) {
  constexpr double kLittle = 0.03;  // of one core
  const Activity& activity = report.activity;
  const auto used = activity.cpus_used();
  if (!used || *used >= kLittle) return "";
  return fmt::format("It ran for {} only, {} of one core.", seconds(*activity.cpu_s), percent(*used));
}

std::string sentence_of_hot_spot(const Report& report) {
  const CallTree& tree = report.tree;
  if (tree.metric != model::Metric::kCpu) return "";
  if (tree.total <= 0)
    return report.unsampled ? unsampled_sentence(*report.unsampled, false) : sentence_of_nothing(report);
  const auto& spot = report.hot_path.spot;
  const WidestModule module = widest_module(report);
  if (!spot) return sentence_of_module(report, module);
  // More of the time is in code without names that no named function calls: the named one is not the answer. A function of the C library
  // or of a runtime is none as soon as less is in it.
  const bool is_answer = !spot->spread && spot->rank != CodeRank::kPlumbing;
  if (module.unnamed / (is_answer ? 2 : 1) > spot->total) {
    std::string text = sentence_of_module(report, module);
    if (!spot->spread)
      text += fmt::format(" The largest function with a name is {} with {}.",
                          subject_name(report, spot->name, spot->module, spot->rank, spot->grouped, ""),
                          rounded_percent(share(tree, spot->total)));
    return text;
  }
  const std::string place = place_text(spot->place, spot->name);
  const std::string name =
      subject_name(report, spot->name, spot->module, spot->rank, spot->grouped, spot->own_caller);
  const double error = share_interval(tree, spot->total).half_width();
  const std::string how_much =
      rounded_percent(share(tree, spot->total)) + (error >= 0.02 ? fmt::format(" ±{:.0f}", error * 100) : "");
  const std::string where = with_place(name, place);
  const bool is_words =
      spot->grouped || spot->rank == CodeRank::kKernel;  // and no name, which keeps its letters
  if (spot->spread)
    return fmt::format("{} is spread over many functions; the largest is {} with {}.",
                       capitalized(cost_in_words(report)), where, how_much);
  // "Page faults account for", "The system call read accounts for".
  const bool is_plural = spot->rank == CodeRank::kKernel && where.starts_with("page faults");
  const std::string text = fmt::format("{} {} for {} of {}{}", is_words ? capitalized(where) : where,
                                       is_plural ? "account" : "accounts", how_much, cost_in_words(report),
                                       inside_of(report, *spot));
  // Functions with names call it and are called by it, so their time is no further part.
  if (spot->grouped && spot->rank == CodeRank::kNone && !report.hot_path.others.empty()) {
    const HotOther& other = report.hot_path.others.front();
    return text + fmt::format(".{} The largest function with a name is {} with {}.",
                              remedy_for_names(report, *spot),
                              subject_name(report, other.name, other.module, other.rank, other.grouped, ""),
                              rounded_percent(share(tree, other.value)));
  }
  return text + others_of(report) + "." + remedy_for_names(report, *spot);
}

std::vector<std::string> subjects_of_hot_spot(const Report& report) {
  std::vector<std::string> subjects;
  const auto add = [&](const std::string& name, CodeRank rank, bool grouped) {
    if (!grouped && rank != CodeRank::kKernel) subjects.push_back(spoken_name(name));
  };
  const HotPath& path = report.hot_path;
  if (path.spot) add(path.spot->name, path.spot->rank, path.spot->grouped);
  for (std::size_t i = 0; i < std::min(kMostOthers, path.others.size()); ++i)
    add(path.others[i].name, path.others[i].rank, path.others[i].grouped);
  return subjects;
}

HotName hot_name_of(const Report& report) {
  const auto& spot = report.hot_path.spot;
  if (!spot || (spot->grouped && spot->rank == CodeRank::kNone) || model::nameless_function(spot->name))
    return {};
  return {subject_name(report, spot->name, spot->module, spot->rank, spot->grouped, ""),
          rounded_percent(share(report.tree, spot->total))};
}

std::string modules_line(const Report& report) {
  const CallTree& tree = report.tree;
  if (tree.total <= 0 || report.modules.empty()) return "";
  std::vector<std::string> parts;
  if (report.hot_path.spot && report.hot_path.own_self > 0)
    parts.push_back("own code " + rounded_percent(share(tree, report.hot_path.own_self)));
  for (const ModuleRow& row : report.modules) {
    if (parts.size() == 5 || share(tree, row.self) < 0.01) break;
    const TreeModule& module = tree.modules[row.module];
    // Own code is listed above, whatever its module.
    const auto own = report.hot_path.own_self_of.find(module.name);
    const bool of_own = report.hot_path.spot && own != report.hot_path.own_self_of.end() && own->second > 0;
    const std::int64_t value = row.self - (of_own ? own->second : 0);
    if (share(tree, value) < 0.01) continue;
    const std::string name = of_own && module.name.empty() ? "other code"
                             : of_own                      ? "other code in " + short_module(module.name)
                             : module.kind == model::ModuleKind::kKernel ? "kernel"
                             : module.name.empty()                       ? "no module"
                                                                         : short_module(module.name);
    parts.push_back(name + " " + rounded_percent(share(tree, value)));
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

std::string sentence_of_runtime_costs(const Report& report) {
  constexpr double kMuch = 0.2;         // of CPU time
  constexpr std::int64_t kEnough = 20;  // samples
  const std::vector<RuntimeCost> costs = find_runtime_costs(report.tree);
  if (costs.empty() || costs[0].value < kEnough || share(report.tree, costs[0].value) < kMuch) return "";
  if (sentence_of_hot_spot(report).find("(" + costs[0].words + ")") != std::string::npos) return "";
  return fmt::format("{} takes {} of {}.", capitalized(costs[0].words),
                     rounded_percent(share(report.tree, costs[0].value)), cost_in_words(report));
}

}  // namespace fathom::present
