#include "record/session/heap/heap_target.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "attach/allocators/find.h"
#include "attach/allocators/hook_points.h"
#include "attach/allocators/nameless/code_map.h"
#include "attach/allocators/runtime_arenas.h"
#include "attach/inject/trial/nameless_allocator.h"
#include "linux/process/environment.h"

namespace fathom::session {
namespace {

// First to last address that the module's segments take up in the process.
std::pair<ProcessAddress, ProcessAddress> extent_of(const elf::ElfFile& file, std::uint64_t bias) {
  std::uint64_t first = UINT64_MAX, last = 0;
  for (const elf::Segment& segment : file.segments()) {
    if (segment.type != PT_LOAD) continue;
    first = std::min(first, segment.address.value);
    last = std::max(last, segment.address.value + segment.memory_size);
  }
  return {{bias + first}, {bias + last}};
}

// Only a function that no other module can bind to, and that no instruction names, is reached through its
// words in data alone.
bool slots_are_complete(const allocators::HookPoints& points) {
  return !points.slots.empty() && points.direct_references == 0 && points.slot_loads == 0 &&
         points.table_slots == 0 && !points.exported;
}

class Finder {
 public:
  Finder(HeapTarget& target, std::int32_t pid, symbolize::DebugFiles& debug_files)
      : target_(target), pid_(pid), environment_(pid), debug_files_(debug_files) {}

  void look_into(const CodeMapping& mapping) {
    const elf::ElfFile& file = mapping.module->file->elf();
    // Code that is not named in the file itself may be in the file that was stripped off it.
    std::optional<symbolize::DebugFile> twin;
    if (file.section(".symtab") == nullptr) twin = debug_files_.find(file, source_of(*mapping.module, pid_));
    allocators::Found found = allocators::find(file, twin ? &twin->file.elf() : nullptr);
    for (std::string& note : found.notes)
      target_.notes.push_back(note.starts_with(file.name()) ? std::move(note)
                                                            : fmt::format("{}: {}", file.name(), note));
    std::erase_if(found.unseen, [&](const allocators::Unseen& unseen) {
      auto off = allocators::said_to_be_off(
          unseen, [this](const std::string& setting) { return environment_.has(setting); }, command_line());
      if (off) target_.notes.push_back(fmt::format("{}: {}", file.name(), *off));
      return off.has_value();
    });
    if (!twin) find_by_code(mapping, found);
    for (allocators::Unseen& unseen : found.unseen)
      target_.unseen.push_back({std::move(unseen), file.name(), mapping.module->id});
    for (const allocators::Allocator& allocator : found.allocators) add(mapping, allocator);
    if (!target_.sized_deletes || found.sized_deletes.empty()) return;
    allocators::Allocator nobodys{allocators::Kind::kOther, {}, {}, std::move(found.sized_deletes), {}};
    add_hooks(mapping, nobodys, TRACER_NO_ALLOCATOR);
  }

 private:
  void find_by_code(const CodeMapping& mapping, allocators::Found& found) {
    const elf::ElfFile& file = mapping.module->file->elf();
    const std::vector<std::string> evidence =
        inject::find_by_code({pid_, mapping.module->fd.get(), mapping.bias, target_.may_probe,
                              target_.at_work, target_.cache_folder},
                             file, found);
    const std::size_t first = found.allocators.size() - evidence.size();
    for (std::size_t i = 0; i < evidence.size(); ++i)
      target_.found_by_code.push_back(
          fmt::format("{}: {}: {}", file.name(), found.allocators[first + i].label, evidence[i]));
  }
  std::string_view command_line() {
    if (!command_line_)
      command_line_ = process::read_beginning(fmt::format("/proc/{}/cmdline", pid_), process::kMostStartText)
                          .value_or("");
    return *command_line_;
  }

  void add(const CodeMapping& mapping, const allocators::Allocator& allocator) {
    const elf::ElfFile& file = mapping.module->file->elf();
    // A library that is loaded again is the same allocator.
    for (std::size_t number = 0; number < target_.allocators.size(); ++number) {
      const auto& known = target_.allocators[number];
      if (known.module == mapping.module->id && known.label == allocator.label)
        return add_hooks(mapping, allocator, static_cast<std::uint8_t>(number));
    }
    if (target_.allocators.size() == TRACER_ALLOCATORS) {
      target_.unseen.push_back({{allocator.kind,
                                 allocator.label,
                                 fmt::format("{} allocators are traced already", TRACER_ALLOCATORS),
                                 {}},
                                file.name(),
                                mapping.module->id});
      return;
    }
    const auto number = static_cast<std::uint8_t>(target_.allocators.size());
    target_.allocators.push_back(
        {allocator.kind, allocator.label, file.name(), mapping.module->id, allocator.own_code});
    add_hooks(mapping, allocator, number);
  }

  void add_hooks(const CodeMapping& mapping, const allocators::Allocator& allocator, std::uint8_t number) {
    const elf::ElfFile& file = mapping.module->file->elf();
    std::optional<allocators::nameless::CodeMap> code;
    const auto points =
        allocators::hook_points_of(file, allocator, [&](std::uint64_t at, std::uint64_t target) {
          if (!code) code.emplace(file);
          return code->may_branch(at, target);
        });
    const auto [start, end] = extent_of(file, mapping.bias);
    // Hooked at their start, they see the calls of other functions of the allocator as well.
    std::set<ElfAddress> seen_from_inside;
    for (std::size_t i = 0; i < allocator.functions.size(); ++i)
      if (!slots_are_complete(points[i])) seen_from_inside.insert(allocator.functions[i].address);
    for (std::size_t i = 0; i < allocator.functions.size(); ++i) {
      const allocators::Function& function = allocator.functions[i];
      if (!function.ends_in.empty() && std::ranges::all_of(function.ends_in, [&](ElfAddress inner) {
            return seen_from_inside.contains(inner);
          }))
        continue;  // its bytes would be counted twice
      inject::Hook hook;
      hook.name = function.name;
      hook.shape = function.shape;
      hook.allocator = number;
      hook.function = {mapping.bias + function.address.value};
      if (function.partner) hook.partner = ProcessAddress{mapping.bias + function.partner->value};
      const auto bytes = allocators::code_of(file, function);
      hook.code.assign(bytes.begin(), bytes.end());
      hook.entered_at = points[i].entered_at;
      if (slots_are_complete(points[i])) {
        for (const ElfAddress slot : points[i].slots) hook.slots.push_back({mapping.bias + slot.value});
      }
      hook.essential =
          number != TRACER_NO_ALLOCATOR && allocators::ends_blocks(function.shape) && !function.hands_on;
      hook.module_start = start;
      hook.module_end = end;
      target_.hooks.push_back(std::move(hook));
    }
  }

  HeapTarget& target_;
  std::int32_t pid_;
  process::Environment environment_;
  std::optional<std::string> command_line_;
  symbolize::DebugFiles& debug_files_;
};

}  // namespace

bool find_more(HeapTarget& target, std::int32_t pid, std::span<const CodeMapping> mappings,
               symbolize::DebugFiles& debug_files) {
  Finder finder(target, pid, debug_files);
  bool found = false;
  for (const CodeMapping& mapping : mappings) {
    if (mapping.module == nullptr || mapping.module->kind != model::ModuleKind::kFile ||
        !mapping.module->file || !target.modules.emplace(mapping.module, mapping.bias).second)
      continue;
    finder.look_into(mapping);
    found = true;
  }
  return found;
}

std::string text_of(const HeapTarget::UnseenOfModule& unseen) {
  return fmt::format("{}: {}", unseen.module_name, allocators::text_of(unseen.what));
}

void leave_out_halves(HeapTarget& target, std::vector<inject::PlannedHook>& planned) {
  std::map<std::uint8_t, std::string> halves;  // by allocator: why
  for (const inject::PlannedHook& hook : planned)
    if (hook.kind == TRACER_HOOK_NONE && hook.hook.essential && !hook.same_as_another)
      halves.try_emplace(hook.hook.allocator, hook.text);
  for (const auto& [number, why] : halves) {
    const HeapTarget::AllocatorOfModule& allocator = target.allocators[number];
    target.unseen.push_back(
        {{allocator.kind, allocator.label, why, {}}, allocator.module_name, allocator.module});
  }
  std::erase_if(planned,
                [&](const inject::PlannedHook& hook) { return halves.contains(hook.hook.allocator); });
}

}  // namespace fathom::session
