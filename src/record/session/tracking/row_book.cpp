#include "record/session/tracking/row_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fathom::session {
namespace {

constexpr std::string_view kOthers = "(others)";

std::string with_commas(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string shared_name(std::string_view name, std::uint64_t processes, bool or_more) {
  return fmt::format("{} ({} {}{})", name, with_commas(processes), processes == 1 ? "process" : "processes",
                     or_more ? " or more" : "");
}

void mark(std::vector<bool>& is_marked, std::vector<std::uint32_t>& list, std::uint32_t row) {
  if (row >= is_marked.size()) is_marked.resize(row + 1);
  if (is_marked[row]) return;
  is_marked[row] = true;
  list.push_back(row);
}

}  // namespace

model::Process& RowBook::change(model::ProcessId row) {
  mark(process_changed_, changed_.processes, row.value);
  return profile_.processes[row.value];
}

model::Thread& RowBook::change(model::ThreadId row) {
  mark(thread_changed_, changed_.threads, row.value);
  return profile_.threads[row.value];
}

const store::ChangedRows& RowBook::changed() {
  std::ranges::sort(changed_.processes);
  std::ranges::sort(changed_.threads);
  return changed_;
}

void RowBook::written() {
  for (const std::uint32_t row : changed_.processes) process_changed_[row] = false;
  for (const std::uint32_t row : changed_.threads) thread_changed_[row] = false;
  changed_.processes.clear();
  changed_.threads.clear();
}

bool RowBook::deserves_own(const Life& life, std::size_t rows, std::size_t most) const {
  if (life.events >= limits_.many_events) return has_room_for_own(rows, most);
  return life.lived_ns >= limits_.long_life_ns && rows < most / 2;
}

bool RowBook::deserves_own_process(const Life& life) const {
  return deserves_own(life, profile_.processes.size(), limits_.most_processes);
}

bool RowBook::deserves_own_thread(const Life& life) const {
  return deserves_own(life, profile_.threads.size(), limits_.most_threads);
}

RowBook::ProcessRow RowBook::own(const ProcessFacts& facts) {
  const model::ProcessId id{static_cast<std::uint32_t>(profile_.processes.size())};
  model::Process& row = profile_.processes.emplace_back();
  row.pid = facts.pid;
  row.parent_pid = facts.parent_pid;
  row.start_ns = facts.start_ns;
  row.name = profile_.strings.intern(facts.name);
  row.executable = profile_.strings.intern(facts.executable);
  change(id);
  return {id, false};
}

// `kin` has a shared row. Its name shows its size, at every power of two.
RowBook::ProcessRow RowBook::share(std::string_view name, Kin& kin) {
  const model::ProcessId id{*kin.shared};
  ++kin.sharing;
  ++shared_.processes;
  if (std::has_single_bit(kin.sharing))
    change(id).name = profile_.strings.intern(shared_name(name, kin.sharing, true));
  return {id, true};
}

// When there is no room even for another row to share.
RowBook::ProcessRow RowBook::others() {
  if (!others_.shared) others_.shared = own({}).id.value;
  return {model::ProcessId{*others_.shared}, true};
}

RowBook::ProcessRow RowBook::assign(const ProcessFacts& facts, const Life& life) {
  const std::size_t rows = profile_.processes.size();
  auto kin = programs_.find(facts.name);
  const std::size_t owned = kin == programs_.end() ? 0 : kin->second.own;
  const bool is_own = facts.always_own || deserves_own_process(life) ||
                      (owned < limits_.own_processes && has_room_for_own(rows, limits_.most_processes));
  const bool has_shared = kin != programs_.end() && kin->second.shared;
  if (!is_own && !has_shared && rows >= limits_.most_processes) {
    (void)others();
    return share(kOthers, others_);
  }
  if (kin == programs_.end()) kin = programs_.emplace(facts.name, Kin()).first;
  if (is_own) {
    ++kin->second.own;
    return own(facts);
  }
  if (!has_shared) {
    ProcessFacts nobody;
    nobody.executable = facts.executable;
    kin->second.shared = own(nobody).id.value;
  }
  // Two programs of one name: neither claims to be the other.
  const model::ProcessId id{*kin->second.shared};
  if (profile_.strings[profile_.processes[id.value].executable] != facts.executable)
    change(id).executable = {};
  return share(facts.name, kin->second);
}

std::uint32_t RowBook::new_thread(const ProcessRow& process, std::string_view name) {
  const auto id = static_cast<std::uint32_t>(profile_.threads.size());
  model::Thread& row = profile_.threads.emplace_back();
  row.process = process.id;
  row.name = profile_.strings.intern(name);
  change(model::ThreadId{id});
  return id;
}

RowBook::ThreadRow RowBook::assign(const ProcessRow& process, const ThreadFacts& facts, const Life& life) {
  const std::size_t rows = profile_.threads.size();
  auto& names = threads_[process.id.value];
  auto kin = names.find(facts.name);
  const std::size_t owned = kin == names.end() ? 0 : kin->second.own;
  const bool is_own =
      !process.shared && (deserves_own_thread(life) ||
                          (owned < limits_.own_threads && has_room_for_own(rows, limits_.most_threads)));
  const bool has_shared = kin != names.end() && kin->second.shared;
  if (!is_own && !has_shared && rows >= limits_.most_threads) {
    if (!other_threads_) other_threads_ = model::ThreadId{new_thread(others(), kOthers)};
    ++shared_.threads;
    return {*other_threads_, true};
  }
  if (kin == names.end()) kin = names.emplace(facts.name, Kin()).first;
  if (is_own) {
    const model::ThreadId id{new_thread(process, facts.name)};
    profile_.threads[id.value].tid = facts.tid;
    profile_.threads[id.value].start_ns = facts.start_ns;
    ++kin->second.own;
    return {id, false};
  }
  if (!has_shared) kin->second.shared = new_thread(process, facts.name);
  ++kin->second.sharing;
  ++shared_.threads;
  return {model::ThreadId{*kin->second.shared}, true};
}

void RowBook::name_shared_rows() {
  const auto name_row = [&](std::string_view name, const Kin& kin) {
    if (kin.shared && kin.sharing != 0)
      change(model::ProcessId{*kin.shared}).name =
          profile_.strings.intern(shared_name(name, kin.sharing, false));
  };
  for (const auto& [name, kin] : programs_) name_row(name, kin);
  name_row(kOthers, others_);
}

bool RowBook::executes(const ProcessRow& row, const ProcessFacts& facts, std::uint64_t time_ns) {
  Kin& kin = programs_[std::string(facts.name)];
  if (!facts.always_own && kin.own >= limits_.own_processes) {
    end(row, time_ns);
    forget(row);
    return false;
  }
  ++kin.own;
  model::Process& process = change(row.id);
  process.name = profile_.strings.intern(facts.name);
  process.executable = profile_.strings.intern(facts.executable);
  return true;
}

void RowBook::set_executable(const ProcessRow& row, std::string_view executable) {
  if (!row.shared) change(row.id).executable = profile_.strings.intern(executable);
}

void RowBook::rename(const ThreadRow& row, std::string_view name) {
  change(row.id).name = profile_.strings.intern(name);
}

void RowBook::end(const ProcessRow& row, std::uint64_t time_ns) {
  if (!row.shared) change(row.id).end_ns = time_ns;
}

void RowBook::end(const ThreadRow& row, std::uint64_t time_ns) {
  if (!row.shared) change(row.id).end_ns = time_ns;
}

void RowBook::forget(const ProcessRow& row) {
  if (!row.shared) threads_.erase(row.id.value);
}

std::size_t RowBook::remembered() const {
  std::size_t entries = programs_.size();
  for (const auto& [process, names] : threads_) entries += names.size();
  return entries;
}

}  // namespace fathom::session
