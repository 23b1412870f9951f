#include "tools/oom/records.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "base/parse.h"
#include "linux/process/fields.h"
#include "tools/oom/log_line.h"
#include "tools/oom/message_fields.h"
#include "tools/oom/plain_line.h"
#include "tools/oom/service_kill.h"
#include "tools/oom/task_table.h"
#include "tools/oom/wrapped_line.h"

namespace fathom::oom {
namespace {

using process::next_field;

constexpr std::size_t kMostValues = 256;  // of one list
constexpr std::size_t kMostKills = 4096;  // in one record

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void set(std::vector<std::pair<std::string, std::uint64_t>>& list, std::string_view name,
         std::uint64_t value) {
  if (list.size() < kMostValues && !value_of(list, name)) list.emplace_back(name, value);
}

// A record, and what only matters while its lines arrive.
struct Draft {
  Record record;
  TaskTable table;
  bool announced = false;  // by a SysRq line, with no other line yet
  bool in_group_stats = false, in_slab_info = false;
  bool has_group_stats = false;
  // Who the kernel meant to kill. Who it was, and its sizes, comes in a line of its own, which may be cut off, and
  // which before 5.0 may name a child instead.
  std::optional<Kill> chosen;
  std::vector<std::pair<std::string, std::uint64_t>> machine_pages, machine_sizes;
  std::optional<std::uint64_t> ram_pages;
};

// "usage 524288kB, limit 524288kB, failcnt 24611"
std::optional<Usage> parse_usage(std::string_view text) {
  const auto usage = kilobytes_after(text, "usage ");
  if (!usage) return std::nullopt;
  Usage out;
  out.usage_bytes = *usage;
  // The largest number that the kernel can keep in its place; on each architecture another one.
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;
  if (const auto limit = kilobytes_after(text, "limit "); limit && *limit < kNoLimit)
    out.limit_bytes = *limit;
  out.failures = number_after(text, "failcnt ").value_or(0);
  return out;
}

// "Killed process 28438 (java) total-vm:20255636kB, anon-rss:466160kB, file-rss:13684kB" and all later forms.
std::optional<Kill> parse_kill(std::string_view text) {
  const auto pid = number_after(text, "process ");
  const auto name = name_in_brackets(text);
  if (!pid || *pid > std::uint64_t{std::numeric_limits<std::int32_t>::max()} || !name) return std::nullopt;
  Kill kill;
  kill.pid = static_cast<std::int64_t>(*pid);
  kill.name = *name;
  const auto anon = kilobytes_after(text, "anon-rss:");
  kill.measured = anon.has_value();
  kill.anon_bytes = anon.value_or(0);
  auto mapped = kilobytes_after(text, "total-vm:");
  if (!mapped) mapped = kilobytes_after(text, "vsz:");  // before 2.6.36
  kill.total_vm_bytes = mapped.value_or(0);
  kill.file_bytes = kilobytes_after(text, "file-rss:").value_or(0);
  kill.shmem_bytes = kilobytes_after(text, "shmem-rss:").value_or(0);
  kill.page_table_bytes = kilobytes_after(text, "pgtables:");
  auto uid = number_after(text, "UID:");
  if (!uid) uid = number_after(text, "UID ");
  if (uid && *uid <= std::numeric_limits<std::uint32_t>::max()) kill.uid = static_cast<std::uint32_t>(*uid);
  kill.oom_score_adj = signed_after(text, "oom_score_adj:");
  return kill;
}

// The kernel keeps 15 bytes of a name. A longer match has an unknown prefix, and the name is taken as one
// word.
std::string_view name_before(std::string_view text) {
  constexpr std::size_t kLongest = 15;
  return text.size() <= kLongest ? text : text.substr(text.rfind(' ') + 1);
}

class Reader {
 public:
  void read(LogLine line) {
    line.message = kernel_message(line.message);
    // The other lines of a message of several are printed without anything in front of them.
    if (line.host.empty() && line.time.empty() && line.uptime.empty()) line.host = last_host_;
    last_host_ = line.host;
    forget_what_is_long_over(line);
    if (read_opening(line) || read_facts(line) || read_end(line) || read_table(line)) remember(line);
  }

  // A line of a service that kills; false: it is of something else. What the kernel says afterwards is of another record.
  bool read_service(std::string_view text) {
    if (const auto use = read_machine_use(text)) return use_ = use, true;
    if (is_dry_run(text)) return take_back_service(), true;
    auto record = read_service_kill(text);
    if (!record) return false;
    const Record* last = drafts_.empty() ? nullptr : &drafts_.back().record;
    // It asks the process to end, and makes it end where it does not.
    if (last != nullptr && last->service && last->host == record->host && !record->kills.empty() &&
        !last->kills.empty() && last->kills[0].pid == record->kills[0].pid)
      return true;
    if (use_ && !record->service->memory && record->scope == Scope::kMachine) {
      record->service->memory = use_->memory;
      record->service->swap = use_->swap;
    }
    use_.reset();
    begin({.host = record->host, .time = record->time, .uptime = {}, .message = {}}).record =
        std::move(*record);
    return true;
  }

  std::vector<Record> finish() {
    std::vector<Record> records;
    for (Draft& draft : drafts_) records.push_back(finished(draft));
    return records;
  }

 private:
  void take_back_service() {
    if (drafts_.empty() || !drafts_.back().record.service) return;
    open_.erase(drafts_.back().record.host);
    drafts_.pop_back();
  }

  // A kernel prints a record in one go, on the slowest console in minutes. What comes hours later is of another one, whose
  // head is missing.
  void forget_what_is_long_over(const LogLine& line) {
    constexpr double kLongest = 300;
    const auto found = moments_.find(line.host);
    if (found == moments_.end()) return;
    const Moment& last = found->second;
    const auto uptime = parse_number<double>(line.uptime), time = seconds_in(line.time);
    // Times of syslog have no year: from December to January they go back by one.
    constexpr double kYear = 300 * 86'400.0;
    const auto is_far = [](double seconds) {
      return std::fabs(seconds) > kLongest && std::fabs(seconds) < kYear;
    };
    const bool is_over = (uptime && last.uptime && std::fabs(*uptime - *last.uptime) > kLongest) ||
                         (!uptime && time && last.time && is_far(*time - *last.time));
    if (!is_over) return;
    if (const auto open = open_.find(line.host); open != open_.end()) open_.erase(open);
    moments_.erase(found);
  }
  void remember(const LogLine& line) {
    if (moments_.size() == kMostRecords) moments_.clear();
    Moment& last = moments_[std::string(line.host)];
    if (const auto uptime = parse_number<double>(line.uptime)) last.uptime = uptime;
    if (const auto time = seconds_in(line.time)) last.time = time;
  }

  // The record that is under way there, or a new one whose head is missing.
  Draft& current(const LogLine& line) {
    Draft* open = under_way(line);
    return open != nullptr ? *open : begin(line);
  }
  Draft* under_way(const LogLine& line) {
    const auto found = open_.find(line.host);
    if (found == open_.end() || found->second < dropped_) return nullptr;
    return &drafts_[found->second - dropped_];
  }
  Draft& begin(const LogLine& line) {
    if (drafts_.size() == kMostRecords) {
      drafts_.pop_front();
      ++dropped_;
    }
    if (open_.size() == kMostRecords) open_.clear();
    Draft& draft = drafts_.emplace_back();
    draft.record.host = line.host;
    draft.record.time = line.time;
    draft.record.uptime = line.uptime;
    open_.insert_or_assign(std::string(line.host), dropped_ + drafts_.size() - 1);
    return draft;
  }
  // A line that a record has once: where it has it already, another record begins.
  Draft& begin_if(bool has_it, const LogLine& line) { return has_it ? begin(line) : current(line); }

  bool has_ended(const LogLine& line) {
    const Draft* open = under_way(line);
    return open != nullptr && (!open->record.kills.empty() || open->record.nobody_left ||
                               open->record.panicked || open->record.service);
  }
  // Other subsystems print the state of memory, too.
  Draft* in_midst(const LogLine& line) { return has_ended(line) ? nullptr : under_way(line); }
  bool has_chosen(const LogLine& line) {
    const Draft* open = under_way(line);
    return has_ended(line) || (open != nullptr && open->chosen);
  }

  bool read_opening(const LogLine& line) {
    const std::string_view text = line.message;
    if (const std::size_t at = text.find(" invoked oom-killer"); at != std::string_view::npos) {
      Draft* open = under_way(line);
      const bool announced = open != nullptr && std::exchange(open->announced, false);
      Record& record = (announced ? *open : begin(line)).record;
      record.invoked_by = name_before(text.substr(0, at));
      record.order = signed_after(text, "order=");
      record.request = request_in(text);
      if (record.order == -1) record.asked_for = true;
      return true;
    }
    if (text.find("Manual OOM execution") != std::string_view::npos) {
      Draft& draft = begin(line);
      draft.record.asked_for = draft.announced = true;
      return true;
    }
    return false;
  }

  bool read_facts(const LogLine& line) {
    const std::string_view text = line.message;
    constexpr std::string_view kResult = " killed as a result of limit of ";
    if (const std::size_t at = text.find(kResult);
        at != std::string_view::npos && text.starts_with("Task in ")) {
      Record& record = begin_if(has_chosen(line), line).record;
      record.scope = Scope::kGroup;
      record.victim_group = text.substr(8, at - 8);
      record.limited_group = text.substr(at + kResult.size());
      return true;
    }
    if (text.starts_with("memory: usage ")) {
      Record& record = begin_if(has_chosen(line), line).record;
      record.memory = parse_usage(text);
      record.scope = Scope::kGroup;
      return true;
    }
    if (text.starts_with("memory+swap: usage "))
      return current(line).record.memory_and_swap = parse_usage(text), true;
    if (text.starts_with("swap: usage ")) return current(line).record.swap = parse_usage(text), true;
    if (text.starts_with("kmem: usage ")) return current(line).record.kernel = parse_usage(text), true;
    constexpr std::string_view kStats = "Memory cgroup stats for ";
    if (text.starts_with(kStats)) {
      begin_group_stats(current(line), text.substr(kStats.size()));
      return true;
    }
    if (text.starts_with("oom-kill:constraint=")) {
      read_constraint(begin_if(has_chosen(line), line), text);
      return true;
    }
    return read_machine(line);
  }

  // "/a/b: cache:32KB rss:524188KB" on one line, or "/a/b:" and a line "anon 1062739968" for each. The groups below
  // follow in the same way: the first is the one whose limit was met.
  void begin_group_stats(Draft& draft, std::string_view text) {
    draft.in_group_stats = !draft.has_group_stats;
    const std::size_t colon = text.find(':');
    if (draft.has_group_stats || colon == std::string_view::npos) return;
    draft.has_group_stats = true;
    draft.record.scope = Scope::kGroup;
    if (draft.record.limited_group.empty()) draft.record.limited_group = text.substr(0, colon);
    text.remove_prefix(colon + 1);
    for (std::string_view field = next_field(text); !field.empty(); field = next_field(text)) {
      const std::size_t mid = field.find(':');
      if (mid == std::string_view::npos || !field.ends_with("KB")) continue;
      const auto value = parse_number(field.substr(mid + 1, field.size() - mid - 3));
      if (value && is_name(field.substr(0, mid)))
        set(draft.record.group_bytes, field.substr(0, mid), times(*value, 1024));
    }
  }

  static void read_constraint(Draft& draft, std::string_view message) {
    // A blank behind a comma is of a line that was wrapped there.
    std::string unwrapped(message);
    for (std::size_t at; (at = unwrapped.find(", ")) != std::string::npos;) unwrapped.erase(at + 1, 1);
    const std::string_view text = unwrapped;
    Record& record = draft.record;
    const std::string_view constraint = between(text, "constraint=", ",");
    if (constraint == "CONSTRAINT_MEMCG") record.scope = Scope::kGroup;
    if (constraint == "CONSTRAINT_NONE") record.scope = Scope::kMachine;
    if (constraint == "CONSTRAINT_CPUSET") record.scope = Scope::kCpuset;
    if (constraint == "CONSTRAINT_MEMORY_POLICY") record.scope = Scope::kMemoryPolicy;
    // A comma is no end where the list of nodes goes on after it.
    record.allowed_nodes = between(text, "mems_allowed=", ",global_oom");
    if (record.allowed_nodes.empty()) record.allowed_nodes = between(text, "mems_allowed=", ",oom_memcg=");
    if (record.allowed_nodes.empty()) record.allowed_nodes = between(text, "mems_allowed=", ",task_memcg=");
    auto limited = between(text, ",oom_memcg=", ",task_memcg=");
    if (limited.empty()) limited = between(text, ",oom_memcg=", ",task=");
    if (!limited.empty()) record.limited_group = limited;
    if (const auto group = between(text, ",task_memcg=", ",task="); !group.empty())
      record.victim_group = group;
    // The name may hold anything.
    const std::string_view task = after(text, ",task=");
    const std::size_t end = task.rfind(",pid=");
    if (end == std::string_view::npos) return;
    const std::uint64_t pid =
        number_after(task.substr(end), ",pid=").value_or(std::numeric_limits<std::uint64_t>::max());
    if (pid <= std::numeric_limits<std::int32_t>::max()) {
      draft.chosen.emplace();
      draft.chosen->pid = static_cast<std::int64_t>(pid);
      draft.chosen->name = task.substr(0, end);
    }
  }

  bool read_machine(const LogLine& line) {
    std::string_view text = line.message;
    if (text.starts_with("Free swap") || text.starts_with("Total swap")) {
      const auto value = kilobytes_after(text, "= ");
      Draft* open = in_midst(line);
      if (!value || open == nullptr) return false;
      (text.starts_with("Free") ? open->record.free_swap_bytes : open->record.total_swap_bytes) = *value;
      return true;
    }
    if (text.ends_with(" pages RAM")) {
      if (Draft* open = in_midst(line)) open->ram_pages = parse_number(text.substr(0, text.find(' ')));
      return true;
    }
    if (text.starts_with("Node ")) return read_node(text, in_midst(line));
    // "active_anon:1932541 inactive_anon:12038 isolated_anon:0", in pages; where a node is named, it is kB.
    constexpr std::string_view kLists[] = {
        "active_anon:", "active_file:", "unevictable:", "slab_reclaimable:",
        "mapped:",      "free:",        "mapped_file:"};
    if (std::ranges::none_of(kLists, [&](std::string_view list) { return text.starts_with(list); }))
      return false;
    Draft* open = in_midst(line);
    if (open == nullptr) return false;
    for (std::string_view field = next_field(text); !field.empty(); field = next_field(text)) {
      const std::size_t colon = field.find(':');
      if (colon == std::string_view::npos) continue;
      if (const auto value = parse_number(field.substr(colon + 1)); value && is_name(field.substr(0, colon)))
        set(open->machine_pages, field.substr(0, colon), *value);
    }
    return true;
  }

  // "Node 0 hugepages_total=6144 hugepages_free=6144 hugepages_surp=0 hugepages_size=2048kB", and
  // "Node 0 DMA32 free:1024kB boost:0kB min:4096kB low:5120kB high:6144kB ... managed:3000000kB".
  static bool read_node(std::string_view text, Draft* open) {
    if (open == nullptr) return false;
    if (const auto size = kilobytes_after(text, "hugepages_size=")) {
      for (const std::string_view name : {"hugepages_total", "hugepages_free"}) {
        const auto count = number_after(text, std::string(name) + "=");
        if (count) add(open->machine_sizes, name, times(*count, *size));
      }
      return true;
    }
    const auto free = kilobytes_after(text, " free:"), least = kilobytes_after(text, " min:");
    if (const auto stacks = kilobytes_after(text, " kernel_stack:"); stacks && !free)
      return add(open->machine_sizes, "kernel_stack", *stacks), true;
    if (!free || !least) return false;
    constexpr std::size_t kMostZones = 1024;
    std::string_view rest = text;
    (void)next_field(rest);
    Zone zone;
    zone.node = next_field(rest);
    zone.name = next_field(rest);
    zone.free_bytes = *free;
    zone.least_bytes = *least;
    if (open->record.zones.size() < kMostZones) open->record.zones.push_back(std::move(zone));
    return true;
  }
  static void add(std::vector<std::pair<std::string, std::uint64_t>>& list, std::string_view name,
                  std::uint64_t value) {
    const auto found = std::ranges::find(list, name, &std::pair<std::string, std::uint64_t>::first);
    if (found == list.end())
      set(list, name, value);
    else if (__builtin_add_overflow(found->second, value, &found->second))
      found->second = std::numeric_limits<std::uint64_t>::max();
  }

  bool read_end(const LogLine& line) {
    const std::string_view text = line.message;
    if (text.starts_with("oom_reaper: reaped process ")) {
      mark_reaped(line);
      return true;
    }
    if (text.starts_with("Tasks in ") &&
        text.ends_with(" are going to be killed due to memory.oom.group set")) {
      current(line).record.whole_group = true;
      return true;
    }
    const bool of_group = text.starts_with("Memory cgroup out of memory");
    if (text.find("panic_on_oom is enabled") != std::string_view::npos) {
      begin_if(has_ended(line), line).record.panicked = true;
      return true;
    }
    // The same words for the machine and for a group.
    if (text.find("ut of memory and no killable processes") != std::string_view::npos) {
      begin_if(has_ended(line), line).record.nobody_left = true;
      return true;
    }
    const bool out = of_group || text.starts_with("Out of memory");
    if (out && text.find(": Kill process ") != std::string_view::npos) {  // before 5.0
      Draft& draft = begin_if(has_chosen(line), line);
      draft.chosen = parse_kill(text);
      scoped(draft, of_group);
      return true;
    }
    const std::size_t killed = text.find("Killed process ");
    if (killed == std::string_view::npos || (killed != 0 && !out)) return false;
    const auto kill = parse_kill(text.substr(killed));
    if (!kill) return false;
    Draft* open = under_way(line);
    // One kill ends a record, unless all of the group go.
    const bool another = open != nullptr && !open->record.kills.empty() && !open->record.whole_group;
    Draft& draft = another ? begin(line) : current(line);
    if (out) scoped(draft, of_group);
    // The first of a group is named again with the others.
    const bool again =
        std::ranges::any_of(draft.record.kills, [&](const Kill& k) { return k.pid == kill->pid; });
    if (!again && draft.record.kills.size() < kMostKills) draft.record.kills.push_back(*kill);
    return true;
  }

  static Record& scoped(Draft& draft, bool of_group) {
    if (draft.record.scope == Scope::kUnknown)
      draft.record.scope = of_group ? Scope::kGroup : Scope::kMachine;
    return draft.record;
  }

  void mark_reaped(const LogLine& line) {
    const auto pid = number_after(line.message, "process ");
    if (Draft* open = under_way(line); open != nullptr && pid)
      for (Kill& kill : open->record.kills)
        if (kill.pid >= 0 && static_cast<std::uint64_t>(kill.pid) == *pid) kill.reaped = true;
  }

  // "Unreclaimable slab info:", "Name  Used  Total", and a line "btrfs_extent_map     3207098KB    3375622KB" for each kind of
  // object, which the kernel prints where they take more than all processes.
  static bool read_slab(Draft& draft, std::string_view text) {
    constexpr std::size_t kMostSlabs = 1024;
    if (text.starts_with("Unreclaimable slab info")) return draft.in_slab_info = true;
    if (!draft.in_slab_info) return false;
    const std::string_view name = next_field(text), used = next_field(text), total = next_field(text);
    if (name == "Name" && used == "Used") return true;
    const auto kilobytes =
        total.ends_with("KB") ? parse_number(total.substr(0, total.size() - 2)) : std::nullopt;
    if (!kilobytes || !used.ends_with("KB") || !next_field(text).empty()) return draft.in_slab_info = false;
    if (draft.record.slabs.size() < kMostSlabs)
      draft.record.slabs.emplace_back(name, times(*kilobytes, 1024));
    return true;
  }

  bool read_table(const LogLine& line) {
    Draft* open = in_midst(line);
    if (open != nullptr && read_slab(*open, line.message)) return true;
    if (open == nullptr) return TaskTable::is_header(line.message) && begin(line).table.read(line.message);
    if (open->table.read(line.message) || open->table.read(row_in(line.message))) {
      open->in_group_stats = false;
      return true;
    }
    if (!open->in_group_stats) return false;
    std::string_view text = line.message;
    const std::string_view name = next_field(text);
    const auto value = parse_number(next_field(text));
    if (is_name(name) && value && next_field(text).empty()) set(open->record.group_bytes, name, *value);
    return true;
  }

  // "app-1  | [   2311]  1000 ...": where a row begins that has something in front of it.
  static std::string_view row_in(std::string_view text) {
    for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
      const std::size_t digit = std::min(text.find_first_not_of(' ', at + 1), text.size());
      const std::size_t size = leading_digits(text.substr(digit)).size();
      if (size != 0 && text.substr(digit + size).starts_with(']')) return text.substr(at);
    }
    return {};
  }

  static Record finished(Draft& draft) {
    Record& record = draft.record;
    if (record.kills.empty() && draft.chosen) record.kills.push_back(*draft.chosen);
    const std::uint64_t page = draft.table.page_bytes(record.kills);
    record.tasks = draft.table.tasks(page);
    for (const auto& [name, pages] : draft.machine_pages)
      record.machine_bytes.emplace_back(name, times(pages, page));
    for (const auto& [name, size] : draft.machine_sizes) set(record.machine_bytes, name, size);
    if (draft.ram_pages) record.ram_bytes = times(*draft.ram_pages, page);
    return std::move(record);
  }

  struct Moment {
    std::optional<double> uptime, time;
  };
  std::map<std::string, Moment, std::less<>>
      moments_;  // of the last line of the record that is under way, by host
  std::string last_host_;
  std::optional<MachineUse> use_;  // that a service said last
  std::deque<Draft> drafts_;
  std::size_t dropped_ = 0;  // from the front of drafts_
  std::map<std::string, std::size_t, std::less<>>
      open_;  // by host: its last record, counted from the first one
};

}  // namespace

std::optional<std::uint64_t> value_of(const std::vector<std::pair<std::string, std::uint64_t>>& list,
                                      std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const auto& entry) { return entry.first == name; });
  return found == list.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Record> read_records(std::string_view log) {
  Reader reader;
  std::string_view line;
  std::string uptime;   // of the message that follows
  std::string message;  // the line before, which may go on
  const auto take = [&](const std::string& plain) {
    if (!plain.empty() && !reader.read_service(plain)) reader.read(read_log_line(plain));
  };
  while (process::next_line(log, line)) {
    if (const std::string next = uptime_in_json(line); !next.empty()) {
      uptime = next;
      continue;
    }
    std::string plain = uptime + plain_line(line);
    uptime.clear();
    if (continues(message, plain)) {
      message = joined(message, plain);
      continue;
    }
    take(message);
    message = std::move(plain);
  }
  take(message);
  return reader.finish();
}

}  // namespace fathom::oom
