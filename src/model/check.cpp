// Two kinds of rules. Those of a type hold for every field of it: an id is a row of its table, an enumerator has a word, a sum is a
// number. They go over the lists of model/fields. Those of a row are spelled out below.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "model/fields.h"
#include "model/fields/references.h"
#include "model/fields/words.h"
#include "model/profile.h"

namespace fathom::model {
namespace {

// Sums over all rows of a file stay below 2^64.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 48;
constexpr std::string_view kUnknown = "unknown";

// --- what is wrong with a value; empty: nothing ---
template <class Tag>
std::string_view wrong_value(const Profile& profile, Id<Tag> id) {
  const Reference reference = reference_of(profile, id);
  return id.value < reference.rows ? "" : reference.absent;
}
// The limit is far above all that any memory can hold, and far enough below the end that sums over any number of rows stay finite.
std::string_view wrong_value(const Profile&, double sum) {
  return sum >= 0 && sum <= 1e60 ? "" : "a sum that is not a number";  // and so is NaN
}
template <class T>
std::string_view wrong_value(const Profile&, const T& value) {
  if constexpr (std::is_enum_v<T>)
    if (!is_known(value)) return kUnknown;
  return {};
}
template <class T>
std::string_view wrong_value(const Profile& profile, const Optional<T>& field) {
  return field.value == field.none ? "" : wrong_value(profile, field.value);
}

// --- what is wrong with row `i`, all of whose values are right ---
template <class Row>
std::string_view wrong_row(const Profile&, const Row&, std::size_t) {
  return {};
}
std::string_view wrong_row(const Profile& profile, const Frame& row, std::size_t) {
  const std::size_t lines = profile.lines.size();
  return row.first_line > lines || row.line_count > lines - row.first_line ? "lines outside of their table"
                                                                           : "";
}
std::string_view wrong_row(const Profile&, const Stack& row, std::size_t i) {
  return row.parent.value >= i ? "does not stand after its parent" : "";
}
std::string_view wrong_row(const Profile&, const Wait& row, std::size_t) {
  if (row.weight == 0) return "stands for no wait";
  const std::uint64_t left = UINT64_MAX - row.start_ns;
  return row.waited_ns > left || row.queued_ns > left - row.waited_ns ? "ends beyond the end of time" : "";
}
std::string_view wrong_row(const Profile&, const Fault& row, std::size_t) {
  return row.weight == 0 ? "stands for no fault" : "";
}
std::string_view wrong_row(const Profile&, const Span& row, std::size_t) {
  return row.end_ns < row.start_ns ? "ends before it starts" : "";
}
std::string_view wrong_row(const Profile&, const HeapOutage& row, std::size_t) {
  return row.end_ns < row.start_ns ? "ends before it starts" : "";
}
std::string_view wrong_row(const Profile&, const HeapSlice& row, std::size_t) {
  return row.end_ns < row.start_ns ? "ends before it starts" : "";
}
std::string_view wrong_row(const Profile& profile, const HeapRow& row, std::size_t) {
  const HeapTables& heap = profile.heap;
  return heap.slices[row.slice.value].heap != heap.sites[row.site.value].heap
             ? "slice and site are of two heaps"
             : "";
}
std::string_view wrong_row(const Profile&, const HeapHistogram& row, std::size_t) {
  return row.bucket > 64 ? "a bucket beyond the last" : "";
}
std::string_view wrong_row(const Profile&, const HeapBlock& row, std::size_t) {
  if (row.last_slice < row.first_slice) return "freed before it was allocated";
  return row.lifetime_ns > UINT64_MAX - row.allocated_ns ? "a life without end" : "";
}
std::string_view wrong_row(const Profile&, const MemoryRange& row, std::size_t) {
  for (const std::uint64_t bytes : {row.virtual_bytes, row.rss_bytes, row.swap_bytes, row.huge_bytes})
    if (bytes > kMostMemory) return "more bytes than there are addresses";
  return row.anonymous_bytes > row.rss_bytes ? "a part that exceeds the whole" : "";
}

// `first`: the first row that has to be right.
template <class Rows>
Result<> check_rows(const Profile& profile, std::string_view name, const Rows& rows, std::size_t first = 0) {
  std::size_t i = 0;
  for (const auto& row : rows) {
    if (i++ < first) continue;
    std::string_view wrong, wrong_field;
    fields_of(
        [&](const Field& field, const auto& value) {
          if (!wrong.empty()) return;
          wrong = wrong_value(profile, value);
          wrong_field = field.name;
        },
        row);
    if (wrong == kUnknown)
      return fail(ErrorKind::kMalformed, fmt::format("{} {}: unknown {}", name, i - 1, wrong_field));
    if (wrong.empty()) wrong = wrong_row(profile, row, i - 1);
    if (!wrong.empty()) return fail(ErrorKind::kMalformed, fmt::format("{} {}: {}", name, i - 1, wrong));
  }
  return {};
}

// Rows 0, which stand for what is not known.
Result<> check_first_rows(const Profile& profile) {
  std::string_view wrong;
  if (profile.strings.size() == 0 || !profile.strings[{0}].empty())
    wrong = "string 0 is not the empty string";
  else if (profile.modules.empty() || profile.modules[0].kind != ModuleKind::kUnknown)
    wrong = "module 0 is not the unknown module";
  else if (profile.stacks.empty())
    wrong = "stack 0 is missing";
  else if (profile.objects.empty() || profile.objects[0] != WaitObject{})
    wrong = "object 0 is not the unknown object";
  else if (profile.heap.allocators.empty() || profile.heap.allocators[0] != HeapAllocator{})
    wrong = "allocator 0 is not the unknown allocator";
  return wrong.empty() ? Result<>() : Result<>(fail(ErrorKind::kMalformed, std::string(wrong)));
}

}  // namespace

Result<> check(const Profile& profile) {
  Result<> checked = check_first_rows(profile);
  tables_of(
      [&](const Table& table, const auto& rows) {
        using Row = typename std::decay_t<decltype(rows)>::value_type;
        if (!checked) return;
        if constexpr (std::is_same_v<Row, Sample>)
          checked = check_rows(profile, table.row, profile.all_samples());
        else if constexpr (std::is_same_v<Row, Wait>)
          checked = check_rows(profile, table.row, profile.all_waits());
        else if constexpr (std::is_same_v<Row, HeapRow>)
          checked = check_rows(profile, table.row, profile.heap.all_rows());
        else
          checked = check_rows(profile, table.row, rows,
                               std::is_same_v<Row, Stack> ? 1 : 0);  // stack 0 has no frame
      },
      profile);
  if (checked) checked = check_rows(profile, "heap block", profile.heap.blocks);
  if (checked) checked = check_rows(profile, "early end", profile.quality.early_ends);
  return checked;
}

}  // namespace fathom::model
