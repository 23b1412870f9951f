// Facts about a recording as a whole, as typed rows. A file has them as pairs of texts (Meta::facts, docs/format.md), because each
// tool and version knows others; the keys, and what their texts mean, are here and nowhere else:
//
//   const auto origin = facts_of<OriginFacts>(profile.meta);
//   put_facts(CostFacts{.start_us = 12}, profile.meta);
//
// Facts come from files: a text that is no value of its field counts as absent. An empty text is absent, too.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/fields/field.h"
#include "model/profile.h"

namespace fathom::model {

using Facts = std::map<std::string, std::string>;

// Where and of what it was made.
struct OriginFacts {
  std::string host = {}, kernel = {}, machine = {}, cpu = {};
  std::optional<std::uint32_t> cpus = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::string command = {};
  std::string format = {};  // of a file of another tool
  std::string probes = {};
  std::string tags = {};                          // words of who recorded it, separated by ", "
  std::optional<std::int32_t> recorder_pid = {};  // of fathom while it recorded
};

// What a file of another tool counts and does not know, and what reading and joining made of it. A recording has none of these.
struct ImportFacts {
  std::string unit = {};  // of metric cpu; empty: samples
  // The values of metric cpu count each thing there was: no sampling error, and no CPU time.
  bool counts_all = false;
  // What a second stands for, if the file has an order and no times: "dump", "snapshot".
  std::string steps = {};
  std::optional<std::uint64_t> idle_samples = {};
  std::string heap_source = {};  // "dump": one moment, "dumps": several; empty: a recording
  std::string block_choice = {}, block_choice_by = {};  // the blocks that a filter chose; "place" or "fate"
  std::string meaning = {};                  // of several dumps: what they were made into, in a sentence
  std::string result_name = {};              // the path after which results are named
  std::optional<std::uint64_t> merged = {};  // number of recordings that were joined
  std::string heap_lives = {};               // "temporary only", "not known"; empty: known
  bool no_allocated = false, no_live = false, no_block_counts = false;  // the file does not count them
};

// What fathom cost. CPU time in microseconds.
struct CostFacts {
  std::optional<std::uint64_t> start_us = {}, recording_us = {}, naming_us = {};
  std::optional<std::uint64_t> probe_hits = {}, probe_ns = {}, heap_probe_hits = {}, heap_probe_ns = {};
};

// What is known about the CPU time that samples should have covered.
struct SamplingFacts {
  // Why nothing or not everything could be sampled, and the remedy.
  std::string not_sampled = {}, not_sampled_try = {};
  std::optional<std::uint64_t> not_sampled_cpu_ms = {};
  std::optional<std::uint64_t> cpu_wait_ms = {}, cpu_runs = {}, ended_threads = {};
  std::optional<double> others_percent = {}, stolen_percent = {};
  std::optional<std::uint64_t> unrecorded_ns = {};  // of merged recordings: between them
};

// How the target ended. analysis/core/ending.h has the rules for several processes.
struct EndingFacts {
  std::optional<std::int32_t> exit = {}, signal = {};
  std::optional<std::int32_t> ended_pid = {}, command_pid = {};
  std::string oom_cgroup = {};
  std::optional<std::uint64_t> oom_limit_bytes = {};
};

// The progress of the program's own work: --baseline.
struct WorkFacts {
  std::string name = {};
  std::optional<double> before = {}, during = {},
                        error = {};  // per second; half of the 95 % interval of the difference
};

// A fact that is there with one text, or not there.
struct Flag {
  bool& value;
  std::string_view text;
};
struct ConstFlag {
  const bool& value;
  std::string_view text;
};
inline Flag flag(bool& value, std::string_view text) {
  return {value, text};
}
inline ConstFlag flag(const bool& value, std::string_view text) {
  return {value, text};
}

// The fields of these rows, as of all others (fields/field.h): the name is the key, and Storage::number the decimals of a double.
template <class Visitor, RowOf<OriginFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"host", "from `uname`"}, row.host...);
  field({"kernel", "from `uname`"}, row.kernel...);
  field({"machine", "from `uname`"}, row.machine...);
  field({"cpu", "model name"}, row.cpu...);
  field({"cpus", "number of online CPUs"}, row.cpus...);
  field({"memory_bytes", "of the machine"}, row.memory_bytes...);
  field({"command", "the launched command line, or the one that recorded an imported file"}, row.command...);
  field({"format", "of an imported file: `perf script`, `pprof`, `jemalloc heap dump`, ..."}, row.format...);
  field({"probes", "names of the probed functions and static probes, separated by a comma and a space"},
        row.probes...);
  field({"tags", "what `record --tag` was given, separated by a comma and a space"}, row.tags...);
  field({"recorder_pid", "pid of fathom, which stops threads of the target for moments and wakes them again"},
        row.recorder_pid...);
}
template <class Visitor, RowOf<ImportFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"unit", "of metric cpu, if it is not samples: `ns`, `switches`, ..."}, row.unit...);
  field({"counted", "`all`: the values of metric cpu count each thing there was, without sampling"},
        flag(row.counts_all, "all")...);
  field({"a second stands for",
         "for inputs with an order and no times: what each second is, `dump` or `snapshot`"},
        row.steps...);
  field({"idle_samples", "number of samples of idle CPUs, which are left out"}, row.idle_samples...);
  field({"heap source", "`dump`: one moment of a heap, `dumps`: several; absent: a recording"},
        row.heap_source...);
  field({"heap lives", "what is known about lifetimes: `temporary only`, `not known`; absent: everything"},
        row.heap_lives...);
  field({"heap blocks", "the blocks that a filter chose while the file was read, in words"},
        row.block_choice...);
  field({"heap blocks by", "`place`: by size and address, `fate`: by what became of them"},
        row.block_choice_by...);
  field({"merge", "what several dumps were made into, in a sentence"}, row.meaning...);
  field({"result name", "the path after which results are named"}, row.result_name...);
  field({"merged", "number of recordings that were joined"}, row.merged...);
  field({"heap allocated", "`not counted`"}, flag(row.no_allocated, "not counted")...);
  field({"heap live", "`not counted`"}, flag(row.no_live, "not counted")...);
  field({"heap block counts", "`not counted`"}, flag(row.no_block_counts, "not counted")...);
}
template <class Visitor, RowOf<CostFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  constexpr Storage kSum{.joined = Joined::kSum};
  field({"own_start_us", "CPU time of the profiler until the first recorded moment, in microseconds", kSum},
        row.start_us...);
  field({"own_recording_us", "from then to the end, without names", kSum}, row.recording_us...);
  field({"own_naming_us", "for names; the rest of `profiler_cpu_ns` completed the file", kSum},
        row.naming_us...);
  field({"probe_hits", "breakpoints that the target hit", kSum}, row.probe_hits...);
  field({"probe_ns", "time in fathom's programs there", kSum}, row.probe_ns...);
  field({"heap_probe_hits", "the same for static probes by which a program reports its heap", kSum},
        row.heap_probe_hits...);
  field({"heap_probe_ns", "their time", kSum}, row.heap_probe_ns...);
}
template <class Visitor, RowOf<SamplingFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  constexpr Storage kSum{.joined = Joined::kSum};
  constexpr Storage kPercent{.number = 1};
  field({"not_sampled", "why nothing, or not everything, could be sampled; absent if everything could be"},
        row.not_sampled...);
  field({"not_sampled_try", "the remedy"}, row.not_sampled_try...);
  field({"not_sampled_cpu_ms", "the CPU time of the processes concerned"}, row.not_sampled_cpu_ms...);
  field(
      {"cpu_wait_ms", "total time in which the threads with expected samples could run and waited for a CPU"},
      row.cpu_wait_ms...);
  field({"cpu_runs", "how often these threads were put on a CPU, as far as seen", kSum}, row.cpu_runs...);
  field({"ended_threads",
         "how many of them ended, each without its last milliseconds in the kernel's account", kSum},
        row.ended_threads...);
  field({"others_percent", "share of the machine's CPU time that neither the targets nor fathom used",
         kPercent},
        row.others_percent...);
  field({"stolen_percent", "share of this virtual machine's busy CPU time that its host took", kPercent},
        row.stolen_percent...);
  field({"unrecorded_ns",
         "of merged recordings: time between the first start and the last end in which none recorded"},
        row.unrecorded_ns...);
}
template <class Visitor, RowOf<EndingFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  field({"exit", "exit status of a launched target, as in a shell"}, row.exit...);
  field({"signal", "signal that ended the target; absent if none did"}, row.signal...);
  field({"ended_pid",
         "the attached target that `exit` and `signal` describe: of several the first that a signal ended"},
        row.ended_pid...);
  field({"command_pid", "pid of a launched target that has ended"}, row.command_pid...);
  field({"oom_cgroup",
         "the kernel killed a process because memory ran out, in this cgroup of a recorded process"},
        row.oom_cgroup...);
  field({"oom_limit_bytes", "the smallest limit from there up, absent if there is none"},
        row.oom_limit_bytes...);
}
template <class Visitor, RowOf<WorkFacts>... Row>
constexpr void fields_of(Visitor&& field, Row&... row) {
  constexpr Storage kRate{.number = 3};
  field({"work_name", "what `--baseline` counted"}, row.name...);
  field({"work_before", "its rate per second before the recording", kRate}, row.before...);
  field({"work_during", "and during it", kRate}, row.during...);
  field({"work_error", "half of the 95 % interval of their difference", kRate}, row.error...);
}

// visitor(Row{}) for each kind of row.
template <class Visitor>
constexpr void each_kind_of_fact(Visitor&& visitor) {
  visitor(OriginFacts{});
  visitor(ImportFacts{});
  visitor(CostFacts{});
  visitor(SamplingFacts{});
  visitor(EndingFacts{});
  visitor(WorkFacts{});
}

// --- one fact ---
void read_fact(const Facts& facts, const Field& field, std::string& value);
void read_fact(const Facts& facts, const Field& field, std::optional<std::uint32_t>& value);
void read_fact(const Facts& facts, const Field& field, std::optional<std::int32_t>& value);
void read_fact(const Facts& facts, const Field& field, std::optional<std::uint64_t>& value);
void read_fact(const Facts& facts, const Field& field, std::optional<double>& value);
void read_fact(const Facts& facts, const Field& field, Flag flag);
void put_fact(Facts& facts, const Field& field, const std::string& value);
void put_fact(Facts& facts, const Field& field, const std::optional<std::uint32_t>& value);
void put_fact(Facts& facts, const Field& field, const std::optional<std::int32_t>& value);
void put_fact(Facts& facts, const Field& field, const std::optional<std::uint64_t>& value);
void put_fact(Facts& facts, const Field& field, const std::optional<double>& value);
void put_fact(Facts& facts, const Field& field, ConstFlag flag);

// --- a row ---
template <class Row>
Row facts_of(const Meta& meta) {
  Row row;
  fields_of([&](const Field& field, auto&& value) { read_fact(meta.facts, field, value); }, row);
  return row;
}
// Sets the facts that `row` has, and leaves the others as they are.
template <class Row>
void put_facts(const Row& row, Facts& facts) {
  fields_of([&](const Field& field, const auto& value) { put_fact(facts, field, value); }, row);
}
template <class Row>
void put_facts(const Row& row, Meta& meta) {
  put_facts(row, meta.facts);
}
// The same, and erases the facts that `row` does not have.
template <class Row>
void replace_facts(const Row& row, Meta& meta) {
  fields_of([&](const Field& field, const auto&) { meta.facts.erase(std::string(field.name)); }, row);
  put_facts(row, meta);
}

// Joins the facts of two recordings: the first that has one wins; sums are unknown where one does not know its part.
void join_facts(Facts& into, const Facts& from);

}  // namespace fathom::model
