// perf.data as a container: its events, what is said about the machine, and its records one after the other, whether it is a
// file, what went through a pipe, or packed record by record. Source: tools/perf/Documentation/perf.data-file-format.txt of
// Linux and include/uapi/linux/perf_event.h. Little-endian.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/facts.h"

namespace fathom::formats {

struct PerfEvent {
  perf_event_attr attributes{};
  std::string name;  // "cpu-clock:u"; empty: not said
};

// One record of the kernel.
struct PerfRecord {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> body;  // without its head
};

// Where a record stands: what is packed has a place behind all that is not.
struct PerfPlace {
  std::uint64_t value = 0;
};

class PerfContainer {
 public:
  // Of `content`, which outlives it; `name` is the file's, for messages. kMalformed where nothing can be made of it.
  static Result<PerfContainer> of(std::string_view content, const std::string& name);

  // Calls `visit` for each record of the kernel in the order of the file, once. What only perf itself writes (events, names,
  // facts) has been taken from what stands before it.
  using Visit = std::function<void(const PerfRecord&, PerfPlace)>;
  Result<> visit_records(const Visit& visit);
  // The record again, after visit_records().
  PerfRecord record_at(PerfPlace place) const;

  // The event that a record is of; null: of none that the file describes.
  const PerfEvent* event_of(const PerfRecord& record) const;

  std::vector<PerfEvent> events;
  std::map<std::string, std::string, std::less<>> build_ids;  // hex, by path
  model::OriginFacts origin;                                  // kernel, cpu, cpus
  std::string_view tracing;                                   // the texts of tracepoints, among other things
  bool whole = true;                                          // false: it ends inside of a record

 private:
  PerfContainer(std::string_view content, const std::string& name) : content_(content), name_(name) {}
  Result<> read_head();
  void read_events(std::uint64_t at, std::uint64_t size, std::uint64_t row_size);
  void add_event(const perf_event_attr& attributes, std::span<const std::byte> ids);
  void read_features(std::uint64_t at, std::span<const std::uint64_t> bits);
  void read_feature(std::uint32_t feature, std::string_view bytes);
  void read_event_names(std::string_view bytes);
  void read_build_ids(std::string_view bytes);
  // What perf itself wrote. Bytes that follow the record and belong to it.
  std::uint64_t take_own_record(std::uint32_t type, std::string_view body, std::string_view behind);
  Result<> unpack(std::string_view packed);
  std::string_view part(std::uint64_t at, std::uint64_t size) const;

  std::string_view content_;
  std::string name_;
  std::uint64_t data_ = 0, data_size_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> event_by_id_;
  std::string unpacked_;
  struct Unpacker;
  std::shared_ptr<Unpacker> unpacker_;
};

}  // namespace fathom::formats
