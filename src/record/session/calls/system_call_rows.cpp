#include "record/session/calls/system_call_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/system_call.h"
#include "model/system_call_rows.h"
#include "record/session/notes.h"

namespace fathom::session {
namespace {

std::string call_name(std::uint32_t number) {
  const std::string_view name = model::system_call_name(static_cast<std::int32_t>(number));
  return name.empty() ? fmt::format("call {}", number) : std::string(name);
}

model::ModuleId names_module(model::Builder& builder, const char* name, std::string_view path) {
  model::Module module;
  module.kind = model::ModuleKind::kNames;
  module.name = builder.string(name);
  module.path = builder.string(path);
  return builder.module(module);
}

template <class Account>
model::Calls sums_of(const Account& account) {
  model::Calls sums;
  sums.calls = account.calls;
  sums.total_ns = account.total_ns;
  sums.longest_ns = account.longest_ns;
  sums.sized = account.calls - std::min(account.calls, account.errors);
  sums.bytes = account.bytes;
  return sums;
}

}  // namespace

model::FunctionId SystemCallRows::function_of(std::uint32_t number, const char* module,
                                              std::string_view path) {
  const model::ModuleId id = names_module(builder_, module, path);
  return builder_.function(call_name(number), id);
}

void SystemCallRows::add_row(Known& known, const model::Calls& now, std::uint64_t now_ns) {
  model::Calls& booked = known.booked;
  // An account is read while it is counted up, so one number may be ahead of another.
  if (now.calls <= booked.calls || now.sized < booked.sized) return;
  model::Calls row = booked;
  row.time_ns = now_ns;
  row.calls = row.returned = now.calls - booked.calls;
  row.total_ns = now.total_ns - booked.total_ns;
  row.longest_ns = now.longest_ns;
  row.sized = now.sized - booked.sized;
  row.bytes = now.bytes - booked.bytes;
  profile_.calls.push_back(row);
  booked.calls = now.calls;
  booked.total_ns = now.total_ns;
  booked.sized = now.sized;
  booked.bytes = now.bytes;
}

void SystemCallRows::take_call(const sources::SystemCallReading& reading, std::uint64_t now_ns, bool last) {
  const system_call_key& key = reading.key;
  const system_call_account& account = reading.account;
  const auto [found, is_new] = calls_.try_emplace({key.tid, key.number, key.stack_id});
  Known& known = found->second;
  if (is_new) {
    const auto pid = static_cast<std::int32_t>(account.pid), tid = static_cast<std::int32_t>(key.tid);
    const model::ThreadId thread = processes_.thread_row(pid, tid == 0 ? pid : tid);
    const model::Thread& row = profile_.threads[thread.value];
    known.booked.process = row.process;
    // The row of a thread may stand for many by then, and has no number.
    const std::string path =
        tid == 0 || row.tid == 0 ? std::string() : fmt::format("{} {}", tid, profile_.strings[row.name]);
    known.booked.function = function_of(key.number, model::kSystemCallModule, path);
  }
  if (key.stack_id != 0 && !known.has_stack) {
    const auto stack = sink_.stack_of(key.stack_id);
    if (!stack && !last) return;  // it waits for its stack
    known.has_stack = true;
    if (stack) {
      known.booked.stack = stack->stack;
      known.booked.end = stack->end;
    }
  }
  add_row(known, sums_of(account), now_ns);
}

void SystemCallRows::take_file(const sources::FileReading& reading, std::uint64_t now_ns) {
  const file_key& key = reading.key;
  const file_account& account = reading.account;
  const auto [found, is_new] = files_.try_emplace({key.pid, key.number, key.device, key.inode});
  Known& known = found->second;
  if (is_new) {
    const auto pid = static_cast<std::int32_t>(key.pid);
    known.booked.process = profile_.threads[processes_.thread_row(pid, pid).value].process;
    sources::Waited read;  // as if it had waited there
    read.pid = read.tid = pid;
    read.state = 1;
    read.system_call = static_cast<std::int32_t>(key.number);
    read.arguments[0] = account.descriptor;
    read.inode = key.inode;
    read.device = key.device;
    read.file_mode = account.mode;
    const model::WaitObject object = profile_.objects[objects_.find(read).object.value];
    std::string name(profile_.strings[object.name]);
    if (object.kind == model::ObjectKind::kSocket) name = "socket";  // the accounts have no peers
    if (name.empty()) name = object.kind == model::ObjectKind::kPoll ? "eventfd or timerfd" : "unknown";
    const model::ModuleId module = names_module(builder_, model::kFileCallModule, call_name(key.number));
    known.booked.function = builder_.function(name, module);
  }
  add_row(known, sums_of(account), now_ns);
}

void SystemCallRows::take(sources::SystemCalls* source, std::uint64_t now_ns, bool last) {
  if (source == nullptr) return;
  for (const sources::SystemCallReading& reading : source->calls()) take_call(reading, now_ns, last);
  for (const sources::FileReading& reading : source->files()) take_file(reading, now_ns);
  profile_.meta.facts[model::kSystemCallsFact] = "counted";
  const system_call_counters sums = source->sums();
  if (sums.lost != 0)
    note_once(profile_.quality, "the table of system calls was full: some calls are not counted");
}

}  // namespace fathom::session
