#include "formats/perf_data/code_maps.h"

#include <cstring>

namespace fathom::formats {

bool CodeMaps::add(std::uint64_t start, std::uint64_t end, std::uint64_t offset, CodeFile* code) {
  if (start >= end) return true;
  if (mappings_.size() >= kMostMappings) return false;
  // What it covers goes, and of what reaches beyond it the parts outside stay.
  auto row = mappings_.upper_bound(start);
  if (row != mappings_.begin() && std::prev(row)->second.end > start) --row;
  while (row != mappings_.end() && row->first < end) {
    const auto [old_start, old] = *row;
    row = mappings_.erase(row);
    if (old_start < start) mappings_.emplace(old_start, Mapping{start, old.bias, old.code});
    if (old.end > end) row = mappings_.emplace(end, old).first;
  }
  const std::uint64_t bias = code->bias(start, offset);
  mappings_[start] = {end, bias, code};
  if (space_ != nullptr)
    space_->add(ProcessAddress{start}, ProcessAddress{end}, bias, code->table_for_walks());
  return true;
}

const CodeMaps::Mapping* CodeMaps::find(std::uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

std::optional<std::uint64_t> CodeMaps::read_code(ProcessAddress address) const {
  const Mapping* mapping = find(address.value);
  if (mapping == nullptr || mapping->code->file == nullptr) return std::nullopt;
  const elf::ElfFile& elf = mapping->code->file->elf();
  const auto offset = elf.offset_of(ElfAddress{address.value - mapping->bias});
  std::uint64_t code = 0;
  if (!offset || offset->value > elf.bytes().size() || elf.bytes().size() - offset->value < sizeof code)
    return std::nullopt;
  std::memcpy(&code, elf.bytes().data() + offset->value, sizeof code);
  return code;
}

std::optional<walk_end> CodeMaps::walk(const unwind::UnwindInput& input, std::vector<FrameAddress>& frames) {
  const Mapping* leaf = find(input.pc);
  if (leaf == nullptr || (leaf->code->kind == model::ModuleKind::kFile && !leaf->code->table_for_walks()))
    return std::nullopt;
  if (space_ == nullptr) {
    space_ = std::make_unique<unwind::AddressSpace>();
    for (const auto& [start, mapping] : mappings_)
      space_->add(ProcessAddress{start}, ProcessAddress{mapping.end}, mapping.bias,
                  mapping.code->table_for_walks());
    unwinder_ = std::make_unique<unwind::Unwinder>(
        *space_, [this](ProcessAddress address) { return read_code(address); });
  }
  return unwinder_->unwind(input, frames);
}

}  // namespace fathom::formats
