#include "tools/doctor/present.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/core/printable_json.h"
#include "present/sentences/limit_sentences.h"
#include "present/sentences/symbol_words.h"
#include "tools/doctor/allocator_words.h"
#include "tools/doctor/lines.h"
#include "tools/doctor/memory_controller.h"
#include "tools/doctor/methods.h"

namespace fathom::doctor {
namespace {

using Json = nlohmann::ordered_json;  // keys in the order of the documentation

std::string_view word_of(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kObstacle:
      return "obstacle";
    case Finding::Severity::kLimit:
      return "limit";
    case Finding::Severity::kNote:
      return "note";
  }
  return "note";
}

std::string cgroup_word(const MachineFacts& machine) {
  if (machine.cgroup_version_1 && machine.cgroup_version_2) return "1 and 2";
  if (machine.cgroup_version_1) return "1";
  return machine.cgroup_version_2 ? "2" : "none";
}

std::string number_word(const std::optional<int>& number) {
  return number ? std::to_string(*number) : "-";
}

// What was tried, in the order in which it matters.
struct NamedTrial {
  const char* key;
  const char* what;
  const Trial& trial;
};

std::vector<NamedTrial> trials_of(const MachineFacts& machine) {
  return {{"record_bpf", "record with engine bpf", machine.record_bpf},
          {"record_perf", "record with engine perf", machine.record_perf},
          {"record_proc", "record with engine proc", machine.record_proc},
          {"bpf_program", "load a BPF program", machine.bpf_program},
          {"bpf_engine", "load fathom's programs", machine.bpf_engine},
          {"bpf_probes", "breakpoints of --probe", machine.bpf_probes},
          {"btf", "kernel types (BTF)", machine.btf},
          {"cpu_clock_all", "sample whole CPUs", machine.cpu_clock_all},
          {"side_band", "follow all processes", machine.side_band},
          {"cpu_clock_own", "sample own processes", machine.cpu_clock_own},
          {"cpu_clock_own_kernel", "... and their kernel side", machine.cpu_clock_own_kernel},
          {"cpu_clock_without_admin", "... without CAP_SYS_ADMIN", machine.cpu_clock_without_admin},
          {"cycles", "hardware cycle counter", machine.cycles},
          {"kernel_symbols", "names of kernel functions", machine.kernel_symbols},
          {"heap_counter", "order heap events by TSC", machine.heap_counter},
          {"name_cache", "keep names for next time", machine.name_cache}};
}

std::vector<NamedTrial> trials_of(const TargetFacts& target) {
  return {{"maps", "read its mappings", target.maps},
          {"memory", "read its memory", target.memory},
          {"map_files", "open replaced files", target.map_files},
          {"perf_event", "sample it by perf events", target.perf_event},
          {"perf_event_kernel", "... and its kernel side", target.perf_event_kernel}};
}

void append_trials(std::string& out, const std::vector<NamedTrial>& trials) {
  for (const NamedTrial& named : trials)
    append_line(out, "  {:<27}{}", named.what, named.trial.works ? "yes" : "no: " + named.trial.problem);
}

void append_findings(std::string& out, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    append_line(out, "");
    append_line(out, "{}: {}", word_of(finding.severity), finding.text);
    for (const Remedy& remedy : finding.remedies) {
      append_line(out, "  try: {}", remedy.command);
      append_line(out, "       side effects: {}", remedy.side_effects);
    }
  }
}

void append_target(std::string& out, const TargetFacts& target) {
  append_line(out, "");
  append_line(out, "Target: {}", process::describe(target.process, 110));
  append_trials(out, trials_of(target));
  std::vector<std::string> limits;
  for (const model::CountedLimit& limit : target.limits) limits.push_back(present::limit_text(limit));
  if (!limits.empty()) append_line(out, "  limits: {}", fmt::join(limits, ", "));
  constexpr std::size_t kMostListed = 20;
  if (target.modules.empty()) return;
  out += "\n  names     code KiB  build id      module\n";
  for (std::size_t i = 0; i < std::min(kMostListed, target.modules.size()); ++i) {
    const ModuleHealth& module = target.modules[i];
    append_line(out, "  {:<10}{:>8}  {:<12}  {}{}", present::to_string(module.symbols),
                module.code_bytes >> 10, module.build_id.empty() ? "none" : module.build_id.substr(0, 12),
                module.path, module.deleted ? " (replaced or removed)" : "");
    const std::string_view missing = present::missing_of(module.symbols);
    append_line(
        out, "  {:<34}names from {}{}{}{}", "", module.names_from.empty() ? "nowhere" : module.names_from,
        missing.empty() ? "" : "; missing: ", missing, module.problem.empty() ? "" : "; " + module.problem);
    if (!module.compilers.empty() && module.path == target.process.executable)
      append_line(out, "  {:<34}built by {}", "", module.compilers);
  }
  if (target.modules.size() > kMostListed)
    out += fmt::format("  ... and {} more, in --json\n", target.modules.size() - kMostListed);
  if (!target.allocators.empty()) out += "\n  allocator                 functions  module\n";
  for (const AllocatorFact& allocator : target.allocators)
    append_line(out, "  {:<26}{:>9}  {}", allocator.label, allocator.functions.size(), allocator.module);
  for (const AllocatorFact& allocator : target.allocators)
    if (!allocator.evidence.empty()) append_line(out, "  {}: {}", allocator.label, allocator.evidence);
  out += held_table(target);
}

Json json_of(const std::vector<NamedTrial>& trials) {
  Json json = Json::object();
  for (const NamedTrial& named : trials)
    json[named.key] = {{"works", named.trial.works}, {"problem", named.trial.problem}};
  return json;
}

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::optional<process::Container>& container) {
  return container ? Json{{"runtime", container->runtime}, {"id", container->id}} : Json();
}

Json json_of(const MachineFacts& machine) {
  Json json;
  json["kernel"] = machine.kernel;
  json["architecture"] = machine.architecture;
  json["cpus"] = machine.cpus;
  json["uid"] = machine.uid;
  json["capabilities"] = fmt::format("{:016x}", machine.capabilities);
  json["container"] = json_of(machine.container);
  json["initial_pid_namespace"] = machine.initial_pid_namespace;
  json["seccomp"] = machine.seccomp;
  json["lockdown"] = machine.lockdown.empty() ? Json() : Json(machine.lockdown);
  json["cgroup_versions"] = Json::array();
  if (machine.cgroup_version_1) json["cgroup_versions"].push_back(1);
  if (machine.cgroup_version_2) json["cgroup_versions"].push_back(2);
  json["memory_controller"] = {
      {"works", machine.memory_controller.state == MemoryController::State::kUsable},
      {"version", machine.memory_controller.version == 0 ? Json() : Json(machine.memory_controller.version)},
      {"counts_swap", machine.memory_controller.counts_swap}};
  json["swap"] = {{"bytes", machine.swap.bytes},
                  {"used_bytes", machine.swap.used_bytes},
                  {"swappiness", json_of(machine.swap.swappiness)}};
  json["memlock_limit_bytes"] = json_of(machine.memlock_limit_bytes);
  json["open_files_limit"] = machine.open_files_limit;
  json["ring_bytes"] = machine.ring_bytes;
  json["sysctl"] = {{"kernel.perf_event_paranoid", json_of(machine.perf_event_paranoid)},
                    {"kernel.perf_event_max_sample_rate", json_of(machine.perf_event_max_sample_rate)},
                    {"kernel.perf_event_mlock_kb", json_of(machine.perf_event_mlock_kb)},
                    {"kernel.kptr_restrict", json_of(machine.kptr_restrict)},
                    {"kernel.unprivileged_bpf_disabled", json_of(machine.unprivileged_bpf_disabled)},
                    {"kernel.yama.ptrace_scope", json_of(machine.ptrace_scope)}};
  json["trials"] = json_of(trials_of(machine));
  return json;
}

Json json_of(const TargetFacts& target) {
  Json json;
  json["pid"] = target.process.pid;
  json["name"] = target.process.name;
  json["executable"] = target.process.executable;
  json["executable_replaced"] = target.process.executable_deleted;
  json["uid"] = target.status.uid;
  json["threads"] = target.status.threads;
  json["container"] = json_of(target.container);
  json["memory_limit_bytes"] = json_of(target.memory_limit_bytes);
  json["swap_limit_bytes"] = json_of(target.swap_limit_bytes);
  json["limits"] = Json::array();
  for (const model::CountedLimit& limit : target.limits)
    json["limits"].push_back({{"kind", to_string(limit.kind)}, {"used", limit.used}, {"limit", limit.limit}});
  json["run_time_code_bytes"] = target.anonymous_code_bytes;
  json["perf_map"] = target.perf_map.works;
  json["trials"] = json_of(trials_of(target));
  json["modules"] = Json::array();
  for (const ModuleHealth& module : target.modules) {
    json["modules"].push_back({{"path", module.path},
                               {"code_bytes", module.code_bytes},
                               {"replaced", module.deleted},
                               {"symbols", present::to_string(module.symbols)},
                               {"symbols_path", module.symbols_path},
                               {"build_id", module.build_id.empty() ? Json(nullptr) : Json(module.build_id)},
                               {"names_from", module.names_from},
                               {"compilers", module.compilers},
                               {"missing", present::missing_of(module.symbols)},
                               {"unwind_table", json_of(module.unwind_table)},
                               {"problem", module.problem}});
  }
  json["heap_probes"] = target.heap_probes;
  json["allocators"] = Json::array();
  for (const AllocatorFact& allocator : target.allocators) {
    json["allocators"].push_back(
        {{"label", allocator.label}, {"module", allocator.module}, {"functions", allocator.functions}});
    if (!allocator.evidence.empty()) json["allocators"].back()["evidence"] = allocator.evidence;
  }
  json["unseen_allocators"] = Json::array();
  for (const UnseenFact& unseen : target.unseen_allocators) {
    json["unseen_allocators"].push_back(
        {{"label", unseen.label}, {"module", unseen.module}, {"why", unseen.why}, {"remedy", unseen.remedy}});
  }
  json["allocators_hold"] = held_json(target);
  json["heap"] = {{"works", target.heap.works},
                  {"problem", target.heap.problem},
                  {"notes", target.allocator_notes},
                  {"tracer_of", target.heap_tracer_of ? Json(*target.heap_tracer_of) : Json(nullptr)}};
  return json;
}

}  // namespace

std::string to_text(const Diagnosis& diagnosis, const MachineFacts& machine, const TargetFacts* target) {
  std::string out;
  for (const std::string& sentence : diagnosis.sentences) append_line(out, "{}", sentence);
  append_findings(out, diagnosis.findings);
  out += "\nEngines, best first\n";
  for (const EngineVerdict& engine : diagnosis.engines) {
    append_line(out, "  {:<6}{:<5}{}", engine.name, engine.works ? "yes" : "no", engine.buys);
    if (!engine.works) append_line(out, "  {:<11}{}", "", engine.problem);
  }
  out += methods_table(methods_of(machine, target, diagnosis.engine));
  append_line(out, "");
  append_line(out, "Machine: Linux {} {}, {} CPUs; user {}{}", machine.kernel, machine.architecture,
              machine.cpus, machine.uid,
              machine.container ? ", with the marks of a " + machine.container->runtime + " container" : "");
  append_trials(out, trials_of(machine));
  append_line(out,
              "  perf_event_paranoid {}, kptr_restrict {}, ptrace_scope {}, lockdown {}, cgroup version {}",
              number_word(machine.perf_event_paranoid), number_word(machine.kptr_restrict),
              number_word(machine.ptrace_scope), machine.lockdown.empty() ? "-" : machine.lockdown,
              cgroup_word(machine));
  append_line(out, "  {}; {}", to_text(machine.memory_controller), to_text(machine.swap));
  append_line(
      out, "  locked memory {}, open files {}, perf ring {} KiB",
      machine.memlock_limit_bytes ? fmt::format("{} KiB", *machine.memlock_limit_bytes >> 10) : "unlimited",
      machine.open_files_limit, machine.ring_bytes >> 10);
  if (target != nullptr) append_target(out, *target);
  return out;
}

std::string to_json(const Diagnosis& diagnosis, const MachineFacts& machine, const TargetFacts* target) {
  Json json;
  json["engine"] = diagnosis.engine.empty() ? Json() : Json(diagnosis.engine);
  json["sentences"] = diagnosis.sentences;
  json["engines"] = Json::array();
  for (const EngineVerdict& engine : diagnosis.engines)
    json["engines"].push_back(
        {{"name", engine.name}, {"works", engine.works}, {"buys", engine.buys}, {"problem", engine.problem}});
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    Json remedies = Json::array();
    for (const Remedy& remedy : finding.remedies)
      remedies.push_back({{"command", remedy.command}, {"side_effects", remedy.side_effects}});
    json["findings"].push_back(
        {{"severity", word_of(finding.severity)}, {"text", finding.text}, {"remedies", std::move(remedies)}});
  }
  json["methods"] = Json::array();
  for (const Method& method : methods_of(machine, target, diagnosis.engine))
    json["methods"].push_back({{"command", method.command},
                               {"works", method.works},
                               {"problem", method.problem},
                               {"cost", method.cost},
                               {"shows", method.shows}});
  json["machine"] = json_of(machine);
  json["target"] = target != nullptr ? json_of(*target) : Json();
  // Names of files and processes may be no UTF-8.
  return analysis::printable_json(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace fathom::doctor
