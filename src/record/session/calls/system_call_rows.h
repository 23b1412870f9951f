// From the accounts that the kernel keeps of system calls to rows of the profile (model/system_call_rows.h): what has come to each
// since it was looked at last.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "model/profile.h"
#include "record/bpf/system_calls.h"
#include "record/session/tracking/event_sink.h"
#include "record/session/tracking/process_table.h"
#include "record/session/waits/wait_objects.h"

namespace fathom::session {

class SystemCallRows {
 public:
  // All outlive it.
  SystemCallRows(model::Profile& profile, model::Builder& builder, ProcessTable& processes, EventSink& sink)
      : profile_(profile), builder_(builder), processes_(processes), sink_(sink), objects_(profile) {}

  // Counts up to now; null: the engine has not started. `last`: no more will come, so stacks that are missing stay so.
  void take(sources::SystemCalls* source, std::uint64_t now_ns, bool last);

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // tid, number, stack id
  using FileKey =
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>;  // pid, number, device, inode
  struct Known {
    model::Calls booked;  // its sums so far, and what the row is of
    bool has_stack = false;
  };
  void take_call(const sources::SystemCallReading& reading, std::uint64_t now_ns, bool last);
  void take_file(const sources::FileReading& reading, std::uint64_t now_ns);
  // What `now` has more than `known.booked`, as a row; no row if there is nothing.
  void add_row(Known& known, const model::Calls& now, std::uint64_t now_ns);
  model::FunctionId function_of(std::uint32_t number, const char* module, std::string_view path);

  model::Profile& profile_;
  model::Builder& builder_;
  ProcessTable& processes_;
  EventSink& sink_;
  WaitObjects objects_;
  std::map<Key, Known> calls_;
  std::map<FileKey, Known> files_;
};

}  // namespace fathom::session
