// Bytes of a record to its fields. Records do not describe themselves: what they hold follows from the attributes of their
// event. Pure. Source: include/uapi/linux/perf_event.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "formats/perf_data/container.h"

namespace fathom::formats {

struct PerfSample {
  std::uint64_t ip = 0, time_ns = 0, period = 1;
  std::int32_t pid = 0, tid = 0;
  std::uint32_t cpu = 0;
  std::span<const std::byte> chain;  // of 8 bytes each, leaf first, with the kernel's marks
  std::span<const std::byte> raw;    // the fields of a tracepoint
  // The registers of the user's side: of `register_mask` those that are set, in their order. Abi 0: none.
  std::uint64_t register_abi = 0, register_mask = 0;
  std::span<const std::byte> registers;
  // A copy of the user's stack from its pointer on. It holds whatever the program has there, its environment too: it is
  // walked and dropped.
  std::span<const std::byte> stack;
};
// nullopt: shorter than its event says.
std::optional<PerfSample> parse_sample(const PerfRecord& record, const perf_event_attr& attributes);

// When a record was written; 0: not said.
std::uint64_t time_of(const PerfRecord& record, const perf_event_attr& attributes);

struct PerfMapping {
  std::int32_t pid = 0;
  std::uint64_t start = 0, size = 0, offset = 0;
  bool executable = true;
  std::string_view path;
  std::uint32_t major = 0, minor = 0;
  std::uint64_t inode = 0;              // 0: not said
  std::span<const std::byte> build_id;  // empty: not said
};
std::optional<PerfMapping> parse_mapping(const PerfRecord& record);

struct PerfName {
  std::int32_t pid = 0, tid = 0;
  std::string_view name;
  bool by_exec = false;
};
std::optional<PerfName> parse_name(const PerfRecord& record);

// A beginning or an end of a thread.
struct PerfTask {
  std::int32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
  std::uint64_t time_ns = 0;
};
std::optional<PerfTask> parse_task(const PerfRecord& record);

// Of a record that is no sample: whose it is; 0: not said.
std::int32_t tid_of(const PerfRecord& record, const perf_event_attr& attributes);

}  // namespace fathom::formats
