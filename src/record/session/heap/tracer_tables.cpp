#include "record/session/heap/tracer_tables.h"

#include <fmt/format.h>

namespace fathom::session {
namespace {

template <class T>
std::span<T> array_at(std::span<std::byte> memory, std::uint64_t offset, std::uint64_t count) {
  return {reinterpret_cast<T*>(memory.subspan(offset, count * sizeof(T)).data()), count};
}

sources::TableArrays arrays_of(const tracer_shared& layout, std::span<std::byte> memory) {
  return {array_at<unwind_row>(memory, layout.rows_offset, layout.rows_count),
          array_at<unwind_page>(memory, layout.pages_offset, layout.pages_count),
          array_at<unwind_rule>(memory, layout.rules_offset, layout.rules_count),
          array_at<unwind_mapping>(memory, layout.mappings_offset, layout.mappings_count)};
}

// The run of mappings is one word; a reader that has seen the new epoch sees the new run, too.
void show(tracer_shared& shared, const tracked_process& process, std::uint32_t epoch) {
  const std::uint64_t run = process.mapping_first | std::uint64_t{process.mapping_count} << 32;
  __atomic_store_n(&shared.mapping_run, run, __ATOMIC_RELEASE);
  __atomic_store_n(&shared.table_epoch, epoch, __ATOMIC_RELEASE);
}

}  // namespace

TracerTables::TracerTables(const tracer_shared& layout, std::span<std::byte> memory)
    : space_(arrays_of(layout, memory), [this, memory](std::uint32_t, const tracked_process& process) {
        show(*reinterpret_cast<tracer_shared*>(memory.data()), process, ++epoch_);
      }) {}

std::optional<sources::TableSlot> TracerTables::slot_of(const CodeModule& module) {
  if (!module.table) return std::nullopt;
  const auto [known, is_new] = slots_.try_emplace(&module);
  if (is_new) {
    const unwind::Table& table = *module.table;
    known->second = space_.add(table.rows, table.pages, table.rules, table.page_base);
    if (!known->second && !table.rows.empty())
      without_room_.push_back(module.file ? module.file->elf().name() : "[vdso]");
  }
  return known->second;
}

std::vector<std::string> TracerTables::update(std::int32_t pid, std::span<const CodeMapping> mappings) {
  std::vector<Known> now;
  now.reserve(mappings.size());
  for (const CodeMapping& mapping : mappings)
    now.push_back({mapping.start, mapping.end, mapping.bias, mapping.module});
  if (now == known_) return {};
  std::vector<unwind_mapping> rows;
  rows.reserve(mappings.size());
  for (const CodeMapping& mapping : mappings) {
    unwind_mapping row{};
    row.start = mapping.start;
    row.end = mapping.end;
    if (const auto slot = slot_of(*mapping.module)) {
      row.bias = mapping.bias;
      row.first_page = slot->first_page;
      row.page_count = slot->page_count;
      row.page_base = slot->page_base;
    }
    rows.push_back(row);
  }
  // A stack is known by its addresses: where they mean other code now, it is another one.
  bool replaced = false;
  for (const CodeMapping& mapping : mappings)
    replaced = history_.add(mapping.start, mapping.end, mapping.module, mapping.bias) || replaced;
  if (replaced) epoch_ += 1u << TRACER_EPOCH_CODE_SHIFT;
  if (space_.set_mappings(static_cast<std::uint32_t>(pid), rows, 0))
    known_ = std::move(now);
  else
    without_room_.push_back(fmt::format("{} mappings", rows.size()));
  return std::exchange(without_room_, {});
}

}  // namespace fathom::session
