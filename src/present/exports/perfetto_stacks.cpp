#include "present/exports/perfetto_stacks.h"

#include <algorithm>

#include "analysis/core/fold_generics.h"
#include "analysis/core/tracer_frames.h"
#include "analysis/core/words.h"

namespace fathom::present {
namespace {

// Fields of InternedData, and of what is in it.
enum Field : std::uint32_t {
  kEventName = 2,
  kFunctionName = 5,
  kFrame = 6,
  kCallstack = 7,
  kBuildId = 16,
  kMappingPath = 17,
  kSourcePath = 18,
  kMapping = 19,
};

// Build ids stand in hexadecimal digits in the model and as bytes in a trace.
std::string from_hex(std::string_view digits) {
  std::string bytes;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace

PerfettoStacks::PerfettoStacks(const model::Profile& profile, bool fold_generics, bool tracer)
    : profile_(profile),
      fold_generics_(fold_generics),
      left_out_(tracer ? std::nullopt : analysis::tracer_module(profile)),
      stacks_(profile.stacks.size()),
      mappings_(profile.modules.size()) {}

std::uint64_t PerfettoStacks::stack(model::StackId stack) {
  if (stack.value == 0) return 0;
  std::uint64_t& known = stacks_[stack.value];
  if (known != 0) return known;
  numbers_.clear();
  for (model::StackId at = stack; at.value != 0; at = profile_.stacks[at.value].parent) {
    const model::FrameId id = profile_.stacks[at.value].frame;
    const model::Frame& row = profile_.frames[id.value];
    if (left_out_ && row.module == *left_out_) continue;
    for (std::uint32_t line = 0; line < std::max(row.line_count, 1U); ++line)
      numbers_.push_back(frame(id, line));
  }
  if (numbers_.empty()) return 0;
  known = ++last_stack_;
  WireWriter list;
  list.number(1, known);
  for (std::size_t i = numbers_.size(); i-- > 0;) list.number(2, numbers_[i]);
  pieces_.message(kCallstack, list);
  return known;
}

std::uint64_t PerfettoStacks::event_name(std::string_view name) {
  const auto [known, added] = events_.try_emplace(analysis::printable(name), events_.size() + 1);
  if (added) pieces_.message(kEventName, WireWriter().number(1, known->second).bytes(2, known->first));
  return known->second;
}

std::uint64_t PerfettoStacks::text(std::uint32_t field, std::map<std::string, std::uint64_t>& known,
                                   std::string bytes) {
  const auto [row, added] = known.try_emplace(std::move(bytes), known.size() + 1);
  if (added) pieces_.message(field, WireWriter().number(1, row->second).bytes(2, row->first));
  return row->second;
}

std::uint64_t PerfettoStacks::frame(model::FrameId id, std::uint32_t line) {
  const auto [known, added] = frames_.try_emplace({id.value, line}, frames_.size() + 1);
  if (!added) return known->second;
  const model::Frame& row = profile_.frames[id.value];
  std::string name;
  WireWriter message;
  message.number(1, known->second);
  if (row.line_count == 0) {
    name = profile_.pseudo_name(row);
  } else {
    const model::Line& of = profile_.lines[row.first_line + line];
    const std::string_view given = profile_.strings[profile_.functions[of.function.value].name];
    name = fold_generics_ ? analysis::fold_generics(given) : std::string(given);
    const std::string_view file = profile_.strings[of.file];
    if (!file.empty()) message.number(5, text(kSourcePath, files_, analysis::printable(file)));
    message.number(6, of.line);
  }
  message.number(2, text(kFunctionName, functions_, analysis::printable(name)));
  message.number(3, mapping(row.module));
  // Places in the kernel do not fit into the signed numbers of the reader; their names say all.
  message.number_or_zero(4, row.address.value <= INT64_MAX ? row.address.value : 0);
  pieces_.message(kFrame, message);
  return known->second;
}

// Addresses are those of the file's own tables, so each mapping begins at 0.
std::uint64_t PerfettoStacks::mapping(model::ModuleId id) {
  std::uint64_t& known = mappings_[id.value];
  if (known != 0) return known;
  known = ++last_mapping_;
  const model::Module& module = profile_.modules[id.value];
  std::string_view path = profile_.strings[module.path.value != 0 ? module.path : module.name];
  WireWriter message;
  message.number(1, known);
  const std::string build_id = from_hex(profile_.strings[module.build_id]);
  if (!build_id.empty()) message.number(2, text(kBuildId, build_ids_, build_id));
  message.number(5, INT64_MAX);
  // A path is a list of its parts.
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end != 0) message.number(7, text(kMappingPath, paths_, analysis::printable(path.substr(0, end))));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  pieces_.message(kMapping, message);
  return known;
}

}  // namespace fathom::present
