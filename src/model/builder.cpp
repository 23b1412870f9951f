#include <algorithm>
#include <cstring>

#include "model/profile.h"

namespace fathom::model {
namespace {

// Set in WideKey::a: `b` is a function and no address.
constexpr std::uint64_t kNamedOnly = std::uint64_t{1} << 32;

constexpr std::uint64_t pair_key(std::uint32_t high, std::uint32_t low) {
  return (std::uint64_t{high} << 32) | low;
}

// The finaliser of MurmurHash3 (public domain): ids are dense and small, and buckets want all bits.
constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccd;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

void put(std::string& key, std::uint64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string module_key(const Module& module) {
  std::string key(1, static_cast<char>(module.kind));
  const bool has_path = module.path.value != 0;
  put(key, pair_key(has_path ? 1 : 0, has_path ? module.path.value : module.name.value));
  put(key, module.build_id.value);
  return key;
}

template <class Row>
std::uint32_t add(std::vector<Row>& table, const Row& row) {
  table.push_back(row);
  return static_cast<std::uint32_t>(table.size() - 1);
}

}  // namespace

std::size_t Builder::PairHash::operator()(std::uint64_t key) const noexcept {
  return mix(key);
}

std::size_t Builder::WideHash::operator()(const WideKey& key) const noexcept {
  return mix(key.a ^ mix(key.b));
}

std::string Builder::lines_key(ModuleId module, ElfAddress address, const Line* lines, std::size_t count) {
  std::string key;
  put(key, module.value);
  put(key, address.value);
  for (std::size_t i = 0; i < count; ++i) {
    put(key, pair_key(lines[i].function.value, lines[i].file.value));
    put(key, lines[i].line);
  }
  return key;
}

Builder::Builder(Profile& profile) : profile_(profile) {
  // Where content stands twice, the first row is the one that is found.
  for (std::uint32_t i = 0; i < profile_.modules.size(); ++i)
    modules_.emplace(module_key(profile_.modules[i]), i);
  for (std::uint32_t i = 0; i < profile_.functions.size(); ++i)
    functions_.emplace(pair_key(profile_.functions[i].name.value, profile_.functions[i].module.value), i);
  for (std::uint32_t i = 0; i < profile_.frames.size(); ++i) know_frame(i);
  for (std::uint32_t i = 1; i < profile_.stacks.size(); ++i) find_or_add_stack(profile_.stacks[i], i);
}

void Builder::know_frame(std::uint32_t row) {
  const Frame& frame = profile_.frames[row];
  const Line* lines = profile_.lines.data() + frame.first_line;
  const bool only_named =
      frame.address.value == 0 && frame.line_count == 1 && lines[0].file.value == 0 && lines[0].line == 0;
  const WideKey key = only_named ? WideKey{frame.module.value | kNamedOnly, lines[0].function.value}
                                 : WideKey{frame.module.value, frame.address.value};
  const bool first = frames_.emplace(key, row).second;
  if (frame.line_count != 0 && (!first || frame.address.value == 0))
    frames_by_lines_.emplace(lines_key(frame.module, frame.address, lines, frame.line_count), row);
}

ModuleId Builder::module(const Module& module) {
  auto [found, added] = modules_.try_emplace(module_key(module), 0);
  if (added) found->second = add(profile_.modules, module);
  return {found->second};
}

FunctionId Builder::function(std::string_view name, ModuleId module) {
  const StringId text = string(name);
  auto [found, added] = functions_.try_emplace(pair_key(text.value, module.value), 0);
  if (added) found->second = add(profile_.functions, Function{text, module});
  return {found->second};
}

FrameId Builder::frame(ModuleId module, ElfAddress address) {
  auto [found, added] = frames_.try_emplace(WideKey{module.value, address.value}, 0);
  if (added) found->second = add(profile_.frames, Frame{module, address, 0, 0});
  return {found->second};
}

FrameId Builder::named_frame(std::string_view name, ModuleId module) {
  const FunctionId named = function(name, module);
  auto [found, added] = frames_.try_emplace(WideKey{module.value | kNamedOnly, named.value}, 0);
  if (added) {
    const std::uint32_t line = add(profile_.lines, Line{named, {}, 0});
    found->second = add(profile_.frames, Frame{module, {}, line, 1});
  }
  return {found->second};
}

std::vector<Line> Builder::lines_of(ModuleId module, const std::vector<NamedLine>& lines) {
  std::vector<Line> rows;
  rows.reserve(lines.size());
  for (const NamedLine& line : lines)
    rows.push_back(Line{function(line.function, module), string(line.file), line.line});
  return rows;
}

void Builder::name_frame(FrameId id, const std::vector<NamedLine>& lines) {
  Frame& frame = profile_.frames[id.value];
  if (frame.line_count != 0 || lines.empty()) return;
  const std::vector<Line> rows = lines_of(frame.module, lines);
  frame.first_line = static_cast<std::uint32_t>(profile_.lines.size());
  frame.line_count = static_cast<std::uint32_t>(rows.size());
  profile_.lines.insert(profile_.lines.end(), rows.begin(), rows.end());
}

FrameId Builder::frame_with_lines(ModuleId module, ElfAddress address, const std::vector<NamedLine>& lines) {
  if (lines.empty()) return frame(module, address);
  const bool only_named =
      address.value == 0 && lines.size() == 1 && lines[0].file.empty() && lines[0].line == 0;
  if (only_named) return named_frame(lines[0].function, module);

  const std::vector<Line> rows = lines_of(module, lines);
  if (address.value != 0) {
    auto known = frames_.find(WideKey{module.value, address.value});
    if (known == frames_.end()) {
      const FrameId added = frame(module, address);
      name_frame(added, lines);
      return added;
    }
    const Frame& row = profile_.frames[known->second];
    if (row.line_count == 0) {
      name_frame({known->second}, lines);
      return {known->second};
    }
    if (std::equal(rows.begin(), rows.end(), profile_.lines.begin() + row.first_line,
                   profile_.lines.begin() + row.first_line + row.line_count))
      return {known->second};
  }
  auto [found, added] = frames_by_lines_.try_emplace(lines_key(module, address, rows.data(), rows.size()), 0);
  if (added) {
    const auto first = static_cast<std::uint32_t>(profile_.lines.size());
    profile_.lines.insert(profile_.lines.end(), rows.begin(), rows.end());
    found->second =
        add(profile_.frames, Frame{module, address, first, static_cast<std::uint32_t>(rows.size())});
  }
  return {found->second};
}

std::uint32_t Builder::find_or_add_stack(const Stack& stack, std::uint32_t next) {
  return stacks_.find_or_add(pair_key(stack.parent.value, stack.frame.value), next, [&](std::uint32_t row) {
    return pair_key(profile_.stacks[row].parent.value, profile_.stacks[row].frame.value);
  });
}

StackId Builder::stack(StackId parent, FrameId frame) {
  const auto next = static_cast<std::uint32_t>(profile_.stacks.size());
  const std::uint32_t row = find_or_add_stack({parent, frame}, next);
  if (row == next) profile_.stacks.push_back({parent, frame});
  return {row};
}

}  // namespace fathom::model
