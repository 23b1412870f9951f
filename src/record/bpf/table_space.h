// The arrays that the walker in the kernel searches, seen from user space: rows, pages and rules of all
// modules, and the mappings of all processes. Pure: writes to arrays that it is given (of BPF programs, in a
// target's memory, or a test's vectors) and publishes a process through a function, so that it can be tested without
// a kernel.
//
// The walker may read at any moment. What it can reach is therefore never changed in place: a module is
// written before any mapping names it, and the mappings of a process are written to a fresh run before the
// process is pointed to them; old runs rest for a while before they are used again.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/abi/cpu_events.h"
#include "record/bpf/range_allocator.h"

namespace fathom::sources {

// Where a module's table is: the fields of a struct unwind_mapping except its addresses.
struct TableSlot {
  std::uint32_t first_page = 0, page_count = 0;
  std::uint64_t page_base = 0;
  std::uint32_t first_row = 0, row_count = 0;
};

// An array that is written and never read. False: it could not be written.
template <class T>
class TableArray {
 public:
  using Write = std::function<bool(std::uint32_t first, std::span<const T> elements)>;
  TableArray(std::uint32_t size, Write write) : size_(size), write_(std::move(write)) {}
  // Memory that outlives this.
  template <class Memory>
  requires std::convertible_to<Memory, std::span<T>> TableArray(
      Memory&& memory)  // NOLINT(google-explicit-constructor): an array in memory is one
      : TableArray(std::span<T>(std::forward<Memory>(memory))) {}
  TableArray(std::span<T> memory)  // NOLINT(google-explicit-constructor)
      : size_(static_cast<std::uint32_t>(memory.size())),
        write_([memory](std::uint32_t first, std::span<const T> elements) {
          std::ranges::copy(elements, memory.begin() + first);
          return true;
        }) {}

  std::uint32_t size() const { return size_; }
  // Within the array.
  bool write(std::uint32_t first, std::span<const T> elements) const { return write_(first, elements); }

 private:
  std::uint32_t size_;
  Write write_;
};

struct TableArrays {
  TableArray<unwind_row> rows;
  TableArray<unwind_page> pages;
  TableArray<unwind_rule> rules;
  TableArray<unwind_mapping> mappings;
};

class TableSpace {
 public:
  // Publishes a process to the kernel. The arrays and the state of `publish` outlive this object.
  using Publish = std::function<void(std::uint32_t pid, const tracked_process&)>;
  TableSpace(TableArrays arrays, Publish publish);

  // Adds the table of one module (pages and rows as unwind::Table has them). nullopt: no room left, or more
  // than 65536 distinct rules; code of that module is then walked by frame pointers, and the caller counts
  // it.
  std::optional<TableSlot> add(std::span<const unwind_row> rows, std::span<const unwind_page> pages,
                               std::span<const unwind_rule> rules, std::uint64_t page_base);
  void remove(const TableSlot& slot);  // no mapping names it any more

  // Sorted by address, not overlapping. False: no room for so many mappings, or the array could not be written.
  bool set_mappings(std::uint32_t pid, std::span<const unwind_mapping> mappings, std::uint32_t epoch);
  // Takes back the room of a process; the caller has removed it from the kernel's table.
  void forget(std::uint32_t pid);

  std::size_t rule_count() const { return rules_.size(); }

 private:
  struct Run {
    std::uint32_t first, count;
  };
  void retire(Run run);
  std::optional<std::uint32_t> rule_number(const unwind_rule& rule);
  bool write_rules();
  bool write_rows(std::span<const unwind_row> rows, std::uint32_t first,
                  std::span<const std::uint32_t> rule_numbers) const;
  bool write_pages(std::span<const unwind_page> pages, std::uint32_t first, std::uint32_t first_row) const;

  TableArrays arrays_;
  Publish publish_;
  RangeAllocator rows_, pages_, mappings_;
  std::map<std::uint32_t, Run> runs_;  // by pid
  std::deque<Run> resting_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> rule_numbers_;
  std::vector<unwind_rule> rules_;  // as written to the arrays, which may be a target's memory as well
  std::uint32_t rules_written_ = 0;
};

}  // namespace fathom::sources
