// The tracepoints of the running kernel: their numbers, and where the fields of their records lie. Source: the kernel's tracefs,
// Documentation/trace/events.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::sources {

struct TracepointField {
  std::string name;
  std::uint32_t offset = 0, size = 0;  // in the record; bytes
  bool is_signed = false;
  // Whether it is one number.
  bool is_number() const { return size == 1 || size == 2 || size == 4 || size == 8; }
};

struct Tracepoint {
  std::uint64_t id = 0;                 // for perf_event_attr::config
  std::vector<TracepointField> fields;  // without the common ones
};

// The text of a `format` file. nullopt: it has no number. Lines that are no fields are left out.
std::optional<Tracepoint> parse_tracepoint(std::string_view format);

class Tracepoints {
 public:
  // Where tracefs is mounted; if it is not, a mount of our own that no path leads to and that ends with this object. kPermission
  // with a remedy where this user may not read it.
  static Result<Tracepoints> open();
  // A folder with the same content.
  static Result<Tracepoints> open_folder(const std::string& path);

  // "block:block_rq_issue", sorted, of all whose name fits the pattern (fnmatch(3)).
  std::vector<std::string> matching(const std::string& pattern) const;
  // kNotFound, with names that are similar, where there is none.
  Result<Tracepoint> find(const std::string& name) const;

 private:
  explicit Tracepoints(Fd events) : events_(std::move(events)) {}
  Fd events_;  // the folder `events`
};

}  // namespace fathom::sources
