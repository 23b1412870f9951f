#include "tools/oom/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/core/words.h"
#include "base/shell_word.h"
#include "base/stable_sort.h"

namespace fathom::oom {
namespace {

using analysis::bytes;
using analysis::percent;
using analysis::printable;

std::string size(std::uint64_t value) {
  return bytes(static_cast<double>(value));
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t of(const Record& record, std::string_view name) {
  return value_of(record.group_bytes, name).value_or(0);
}

const Task* task_of(const Record& record, std::int64_t pid) {
  const auto found = std::ranges::find(record.tasks, pid, &Task::pid);
  return found == record.tasks.end() ? nullptr : &*found;
}

std::string who(const Record& record) {
  if (record.panicked) return "the machine is set to panic when memory runs out (vm.panic_on_oom)";
  if (record.nobody_left) return "no process was killed, because none could be";
  const std::string by = record.service ? " by " + record.service->name : "";
  if (record.kills.empty())
    return record.service ? fmt::format("{} was killed{}", printable(record.victim_group), by)
                          : "this record does not name the killed process";
  const Kill& first = record.kills.front();
  std::string text = fmt::format("{} (pid {}) was killed{}", printable(first.name), first.pid, by);
  if (record.kills.size() > 1)
    text +=
        fmt::format(", and {} with it", analysis::counted(record.kills.size() - 1, "process", "processes"));
  return text;
}

// Names of version 1 differ from those of version 2, and sums would count some pages twice.
std::vector<Part> parts_of_group(const Record& record) {
  std::vector<Part> parts;
  const auto add = [&](const char* name, std::uint64_t value) {
    if (value != 0) parts.push_back({name, value});
  };
  const bool version_2 = value_of(record.group_bytes, "anon").has_value();
  const std::uint64_t shmem = of(record, "shmem");
  const std::uint64_t file = of(record, version_2 ? "file" : "cache");
  const std::uint64_t dirty =
      of(record, version_2 ? "file_dirty" : "dirty") + of(record, version_2 ? "file_writeback" : "writeback");
  add("anonymous", of(record, version_2 ? "anon" : "rss"));
  add("shared memory and tmpfs", shmem);
  const std::uint64_t cache = file > shmem ? file - shmem : 0;
  add("files, not yet written", std::min(dirty, cache));
  add("files, clean", cache - std::min(dirty, cache));
  if (version_2) {
    add("page tables", of(record, "pagetables"));
    add("kernel stacks", of(record, "kernel_stack"));
    add("slab", of(record, "slab"));
    add("sockets", of(record, "sock"));
  } else if (record.kernel) {
    add("kernel", record.kernel->usage_bytes);
  }
  add("in swap", of(record, "swap"));  // of version 1; the other counts it apart
  stable_sort_rows(parts, std::greater{}, &Part::bytes);
  return parts;
}

std::vector<std::string> why_group(const Record& record) {
  std::vector<std::string> why;
  const std::string group = record.limited_group.empty()
                                ? "its control group"
                                : fmt::format("control group {}", printable(record.limited_group));
  const Usage* swapped = record.memory_and_swap ? &*record.memory_and_swap : nullptr;
  const bool by_sum =
      swapped != nullptr && swapped->limit_bytes && swapped->usage_bytes >= *swapped->limit_bytes &&
      (!record.memory || !record.memory->limit_bytes || swapped->failures > record.memory->failures);
  const Usage* met = by_sum ? swapped : record.memory ? &*record.memory : nullptr;
  if (met != nullptr && met->limit_bytes)
    why.push_back(fmt::format("{} met its limit of {}{}: {} were in use", group, size(*met->limit_bytes),
                              by_sum ? " for memory and swap" : "", size(met->usage_bytes)));
  else
    why.push_back(fmt::format("{} met its limit, which this record does not name", group));
  if (met != nullptr && met->failures != 0)
    why.push_back(fmt::format("the limit had been met {} before", analysis::counted(met->failures, "time")));
  if (!record.victim_group.empty() && !record.limited_group.empty() &&
      record.victim_group != record.limited_group)
    why.push_back(fmt::format(
        "the limit is not the process's own group's ({}), but that of a group above it, which others share",
        printable(record.victim_group)));
  if (record.swap && record.swap->limit_bytes == std::uint64_t{0})
    why.push_back("the group may not swap");
  else if (record.swap && record.swap->usage_bytes != 0)
    why.push_back(fmt::format("{} of it were already swapped out", size(record.swap->usage_bytes)));
  return why;
}

std::uint64_t sum_of(std::initializer_list<std::uint64_t> values) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values)
    if (__builtin_add_overflow(sum, value, &sum)) return ~std::uint64_t{0};
  return sum;
}

std::uint64_t machine(const Record& record, std::string_view name) {
  return value_of(record.machine_bytes, name).value_or(0);
}

// What all processes held, which is more than what is resident.
struct Held {
  std::uint64_t resident = 0, page_tables = 0;
  std::uint64_t all() const { return sum_of({resident, page_tables}); }
};
Held held_by_processes(const Record& record) {
  Held held;
  for (const Task& task : record.tasks) {
    held.resident = sum_of({held.resident, task.rss_bytes});
    held.page_tables = sum_of({held.page_tables, task.page_table_bytes});
  }
  return held;
}

// What else the memory of the machine was, as far as the record says: the largest first, without what is too little to matter.
std::vector<Part> parts_of_rest(const Record& record, const Held& held) {
  constexpr double kLeast = 0.05;
  std::vector<Part> parts;
  const auto add = [&](std::string name, std::uint64_t value) {
    if (share(value, *record.ram_bytes) > kLeast) parts.push_back({std::move(name), value});
  };
  const std::uint64_t huge = machine(record, "hugepages_total"),
                      unused = std::min(machine(record, "hugepages_free"), huge);
  add(unused == huge ? "set aside for huge pages, none of them used"
                     : fmt::format("reserved for huge pages, {} of it unused", size(unused)),
      huge);
  add("kernel objects", sum_of({machine(record, "slab_reclaimable"), machine(record, "slab_unreclaimable")}));
  add("shared memory and tmpfs", machine(record, "shmem"));
  const std::uint64_t tables = machine(record, "pagetables");
  add("page tables", tables > held.page_tables ? tables - held.page_tables : 0);
  add("kernel stacks", machine(record, "kernel_stack"));
  add("files in the page cache", sum_of({machine(record, "active_file"), machine(record, "inactive_file")}));
  add("free", machine(record, "free"));
  stable_sort_rows(parts, std::greater{}, &Part::bytes);
  return parts;
}

std::string rest_of_machine(const Record& record, const Held& held) {
  constexpr double kMuch = 0.2;
  const std::vector<Part> parts = parts_of_rest(record, held);
  if (parts.empty()) return "the rest is the kernel's, or belongs to no process";
  std::string text = "of the rest ";
  std::uint64_t known = held.all();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("{}{} {} {}", i == 0 ? "" : ", ", size(parts[i].bytes),
                        parts[i].name == "free" ? "were" : "are", parts[i].name);
    known = sum_of({known, parts[i].bytes});
  }
  const std::uint64_t other = *record.ram_bytes > known ? *record.ram_bytes - known : 0;
  if (share(other, *record.ram_bytes) > kMuch)
    text +=
        fmt::format("; {} are in no line of this record (drivers, vmalloc, zram, a balloon)", size(other));
  return text;
}

// Zones in which even what the kernel keeps for itself was touched, while others had much.
std::string word_on_zones(const Record& record) {
  std::uint64_t free = 0, least = 0;
  const Zone* empty = nullptr;
  for (const Zone& zone : record.zones) {
    free = sum_of({free, zone.free_bytes});
    least = sum_of({least, zone.least_bytes});
    const bool is_empty = zone.free_bytes <= zone.least_bytes && zone.least_bytes != 0;
    if (is_empty && (empty == nullptr || zone.least_bytes > empty->least_bytes)) empty = &zone;
  }
  if (empty == nullptr || free < 10 * std::min(least, ~std::uint64_t{0} / 10)) return "";
  return fmt::format(
      "{} were free in total, but zone {} of node {} had only {}, and the request needs that zone",
      size(free), printable(empty->name), printable(empty->node), size(empty->free_bytes));
}

// The kernel lists its objects only where they take more than all processes.
std::string word_on_slabs(const Record& record) {
  std::vector<Part> slabs;
  std::uint64_t all = 0;
  for (const auto& [name, size] : record.slabs) {
    slabs.push_back({name, size});
    all = sum_of({all, size});
  }
  if (all == 0) return "";
  stable_sort_rows(slabs, std::greater{}, &Part::bytes);
  return fmt::format("objects of the kernel took {}, more than all processes; {} of it are {}", size(all),
                     size(slabs.front().bytes), printable(slabs.front().name));
}

std::vector<std::string> why_machine(const Record& record) {
  std::vector<std::string> why;
  why.push_back(
      record.ram_bytes
          ? fmt::format("the machine had no memory left of its {}; no control group's limit was met",
                        size(*record.ram_bytes))
          : "the machine had no memory left; no control group's limit was met");
  if (record.total_swap_bytes == std::uint64_t{0})
    why.push_back("it has no swap");
  else if (record.total_swap_bytes && record.free_swap_bytes)
    why.push_back(fmt::format("{} of swap, {} of it free", size(*record.total_swap_bytes),
                              size(*record.free_swap_bytes)));
  const Held held = held_by_processes(record);
  if (record.ram_bytes && held.all() != 0) {
    const bool tables = share(held.page_tables, held.all()) > 0.2;
    const std::string of_tables =
        tables ? fmt::format(" ({} of that page tables)", size(held.page_tables)) : "";
    const double part = share(held.all(), *record.ram_bytes);
    if (part < 0.5)
      why.push_back(fmt::format("all processes together held {}{}, {} of it: {}", size(held.all()), of_tables,
                                percent(part), rest_of_machine(record, held)));
    else if (tables)
      why.push_back(fmt::format("all processes together held {}{}, {} of it", size(held.all()), of_tables,
                                percent(part)));
  }
  if (std::string slabs = word_on_slabs(record); !slabs.empty()) why.push_back(std::move(slabs));
  if (std::string zones = word_on_zones(record); !zones.empty()) why.push_back(std::move(zones));
  return why;
}

// "15.3 GiB of 15.5 GiB"
std::string use_text(const MemoryUse& use) {
  return fmt::format("{} of {}", size(use.used_bytes), size(use.total_bytes));
}

// The kernel did not have to kill: a service found too little memory left, or too much waiting for it.
std::vector<std::string> why_service(const Record& record) {
  const Service& service = *record.service;
  const std::string limit =
      service.limit_percent ? fmt::format("{:.4g} %", *service.limit_percent) : "its limit";
  if (record.scope == Scope::kPressure)
    return {fmt::format(
                "tasks of {} waited for memory {} of the time, more than {}{}",
                record.limited_group.empty() ? "a control group" : printable(record.limited_group),
                service.measured_percent ? fmt::format("{:.4g} %", *service.measured_percent) : "too much",
                limit, service.period.empty() ? "" : " for " + printable(service.period)),
            "the kernel itself had not run out of memory"};
  if (service.memory)
    return {fmt::format("{} of memory{} were used, more than {}", use_text(*service.memory),
                        service.swap && service.swap->total_bytes != 0
                            ? fmt::format(" and {} of swap", use_text(*service.swap))
                            : "",
                        service.limit_percent ? limit + " of it" : "the service allows"),
            "the kernel itself had not run out of memory"};
  return {
      "it left less memory and swap than the service's own limit; the kernel itself had not run out of memory"};
}

std::vector<std::string> why(const Record& record) {
  std::vector<std::string> why;
  if (record.service) return why_service(record);
  if (record.asked_for)
    why.push_back("a user requested it with the SysRq key (f); memory need not have been short");
  else if (record.scope == Scope::kGroup)
    why = why_group(record);
  else if (record.scope == Scope::kMachine)
    why = why_machine(record);
  else if (record.scope == Scope::kUnknown)
    why.push_back("the lines that say why are not in this record");
  else
    why.push_back(
        fmt::format("no memory was left on the NUMA nodes {}, which {} allows; others may have had some",
                    record.allowed_nodes.empty() ? "(not said)" : printable(record.allowed_nodes),
                    record.scope == Scope::kCpuset ? "its cpuset" : "its memory policy"));
  if (record.order && *record.order > 3)
    why.push_back(fmt::format("the request was for {} contiguous pages: {}, in smaller pieces",
                              *record.order < 31 ? 1U << *record.order : 0,
                              machine(record, "free") != 0
                                  ? fmt::format("{} were free", size(machine(record, "free")))
                                  : std::string("memory may have been there")));
  if (!record.kills.empty() && !record.invoked_by.empty() && record.invoked_by != record.kills.front().name)
    why.push_back(
        fmt::format("it was {} that asked for memory when there was none", printable(record.invoked_by)));
  if (record.whole_group)
    why.push_back("all processes of the group were killed, because memory.oom.group is set");
  if (!record.kills.empty())
    if (const auto adjustment = record.kills.front().oom_score_adj; adjustment && *adjustment > 0)
      why.push_back(fmt::format("it is set to be killed before others (oom_score_adj {})", *adjustment));
  return why;
}

void describe_victim(const Record& record, Explanation& out) {
  if (record.kills.empty()) return;
  const Kill& kill = record.kills.front();
  const Task* task = task_of(record, kill.pid);
  const auto add = [&](const char* name, std::uint64_t value) {
    if (value != 0) out.victim.push_back({name, value});
  };
  if (kill.resident_bytes) {
    out.resident_bytes = *kill.resident_bytes;
    add("resident", *kill.resident_bytes);
  } else if (kill.measured) {
    out.resident_bytes = kill.anon_bytes;
    for (const std::uint64_t more : {kill.file_bytes, kill.shmem_bytes})
      if (__builtin_add_overflow(out.resident_bytes, more, &out.resident_bytes))
        out.resident_bytes = ~std::uint64_t{0};
    add("anonymous", kill.anon_bytes);
    add("files", kill.file_bytes);
    add("shared memory", kill.shmem_bytes);
  } else if (task != nullptr) {
    out.resident_bytes = task->rss_bytes;
    add("resident", task->rss_bytes);
  }
  const std::uint64_t tables = kill.page_table_bytes.value_or(task != nullptr ? task->page_table_bytes : 0);
  add("page tables", tables);
  if (task != nullptr) add("swap", task->swap_bytes);
}

std::vector<Task> neighbours_of(const Record& record, std::size_t count) {
  std::vector<Task> others;
  for (const Task& task : record.tasks)
    if (std::ranges::none_of(record.kills, [&](const Kill& kill) { return kill.pid == task.pid; }))
      others.push_back(task);
  stable_sort_rows(others, std::greater{}, &Task::rss_bytes);
  if (others.size() > count) others.resize(count);
  return others;
}

// "/system.slice/reth.service" -> "reth.service"
std::string unit_of(const std::string& group) {
  return group.substr(group.rfind('/') + 1);
}

std::vector<std::string> remedies_of_service(const Record& record) {
  std::vector<std::string> out;
  if (record.kills.empty()) {
    const std::string unit = shell_word(printable(unit_of(record.victim_group)));
    out.push_back(fmt::format(
        "fathom record --heap --unit {} before it is that large again: its report says which call sites hold the memory",
        unit));
    out.push_back(
        "ManagedOOMPreference=avoid in the unit spares it as long as others can be killed; MemoryMax= gives it a limit of its own");
    return out;
  }
  out.push_back(fmt::format(
      "fathom record --heap -n {} before it is that large again: its report says which call sites hold the memory",
      shell_word(printable(record.kills.front().name))));
  out.push_back("earlyoom --avoid REGEX spares a process as long as others can be killed");
  return out;
}

// What the victim held explains little of what was full: no profile of it helps. False where its size is not known.
bool held_little(const Record& record, const Explanation& told) {
  constexpr double kLittle = 0.1;
  constexpr std::uint64_t kLittleOfAnyMachine = std::uint64_t{32} << 20;
  const Kill& kill = record.kills.front();
  const Task* task = task_of(record, kill.pid);
  if (!kill.measured && !kill.resident_bytes && task == nullptr) return false;
  const std::uint64_t held = sum_of({told.resident_bytes, task != nullptr ? task->swap_bytes : 0});
  if (record.scope == Scope::kGroup)
    return record.memory && record.memory->limit_bytes && share(held, *record.memory->limit_bytes) < kLittle;
  if (record.scope != Scope::kMachine) return false;
  return record.ram_bytes ? share(held, *record.ram_bytes) < kLittle : held < kLittleOfAnyMachine;
}

std::vector<std::string> remedies(const Record& record, const Explanation& told) {
  std::vector<std::string> out;
  if (record.asked_for) return out;
  if (record.service) return remedies_of_service(record);
  const std::uint64_t unused =
      std::min(machine(record, "hugepages_free"), machine(record, "hugepages_total"));
  if (record.scope == Scope::kMachine && record.ram_bytes && share(unused, *record.ram_bytes) > 0.05)
    out.push_back(fmt::format(
        "release {} of unused huge pages: sysctl vm.nr_hugepages (or hugepages= on the kernel command line) is larger than needed",
        size(unused)));
  const bool known = !record.kills.empty();
  const std::string name = known ? printable(record.kills.front().name) : "";
  const Part* largest = told.group.empty() ? nullptr : &told.group.front();
  if (record.scope == Scope::kGroup && largest != nullptr) {
    if (largest->name == "files, not yet written")
      out.push_back(
          "most of the group is file data that the disk has not taken yet: write less at a time (fsync, direct I/O), or give the group more");
    if (largest->name == "shared memory and tmpfs")
      out.push_back(
          "most of the group is shared memory: files in tmpfs and /dev/shm count, and stay when processes end");
    if (largest->name == "kernel" || largest->name == "slab" || largest->name == "page tables")
      out.push_back(fmt::format(
          "most of the group is memory of the kernel ({}): the process's own heap is not the cause",
          largest->name));
  }
  if (known && told.resident_bytes != 0 && !told.large.empty() &&
      told.large.front().rss_bytes > told.resident_bytes)
    out.push_back(fmt::format("{} (pid {}) was larger and was spared: check it as well",
                              printable(told.large.front().name), told.large.front().pid));
  const auto tables = std::ranges::find(told.victim, std::string("page tables"), &Part::name);
  if (tables != told.victim.end() && tables->bytes > std::uint64_t{256} << 20)
    out.push_back(fmt::format(
        "page tables took {}, which RSS does not show: the price of a large mapping that is touched here and there",
        size(tables->bytes)));
  if (!known) {
    out.push_back("the whole log (dmesg, journalctl -k): lines of this record are missing");
    return out;
  }
  // Nor does a heap profile help where processes have little of what is used.
  const Held held = held_by_processes(record);
  if (record.scope == Scope::kMachine && record.ram_bytes && held.all() != 0 &&
      share(held.all(), *record.ram_bytes) < 0.5 && !parts_of_rest(record, held).empty() &&
      parts_of_rest(record, held).front().bytes > told.resident_bytes)
    return out;
  if (!record.slabs.empty()) return out;
  if (held_little(record, told)) {
    if (record.tasks.empty())
      out.push_back(fmt::format(
          "the whole log (dmesg, journalctl -k): {} held too little to explain this, and the table of all processes is missing",
          name));
    return out;
  }
  // A heap profile covers anonymous memory.
  if (largest != nullptr && largest->name != "anonymous" && largest->name != "in swap") return out;
  out.push_back(fmt::format(
      "fathom record --heap -n {} before it is that large again: its report says which call sites hold the memory",
      shell_word(name)));
  std::optional<std::uint64_t> limit;
  if (record.scope == Scope::kGroup && record.memory) limit = record.memory->limit_bytes;
  if (limit)
    out.push_back(fmt::format(
        "fathom limit --memory {}k --heap -- COMMAND dies in the same way in a lab, and names what held the memory",
        *limit / 1024));
  else if (record.scope == Scope::kMachine)
    out.push_back(
        "a limit of its own (MemoryMax= of its unit) ends what grows before the machine ends others; fathom limit tries one");
  return out;
}

}  // namespace

std::string when(const Record& record) {
  if (!record.time.empty()) return printable(record.time);
  return record.uptime.empty() ? std::string() : fmt::format("{} s after boot", record.uptime);
}

Explanation explain(const Record& record, std::size_t neighbours) {
  Explanation out;
  out.who = who(record);
  out.why = why(record);
  describe_victim(record, out);
  if (record.scope == Scope::kGroup) out.group = parts_of_group(record);
  out.large = neighbours_of(record, neighbours);
  out.remedies = remedies(record, out);
  return out;
}

}  // namespace fathom::oom
