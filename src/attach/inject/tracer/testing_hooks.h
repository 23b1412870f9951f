// For tests: the counting tracer in a target, hooked into target_take and target_give in both ways.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "attach/inject/tracer/shared_layout.h"
#include "attach/inject/tracer/testing_target.h"
#include "base/arch/testing_image.h"

namespace fathom::inject::testing {

inline Options small_options() {
  Options options;
  options.mappings = 64;
  options.pages = options.rules = options.rows = 1024;
  options.ring_count = 4;
  options.ring_bytes = 4096;
  return options;
}

// Owns the image that its Options refer to.
struct CountingOptions {
  explicit CountingOptions(bool by_call = false) : options(small_options()) {
    image = counting_image(lay_out(options)->rings_offset, by_call);
    options.image = image;
  }
  Options options;
  std::vector<std::byte> image;
};

inline Hook slot_hook(std::string name, tracer_shape shape, const Function& function, std::uint64_t slot) {
  Hook hook;
  hook.name = std::move(name);
  hook.shape = shape;
  hook.function = function.address;
  hook.code = function.code;
  hook.slots = {{slot}};
  hook.module_start = function.module_start;
  hook.module_end = function.module_end;
  return hook;
}

inline Hook entry_hook(std::string name, tracer_shape shape, const Function& function) {
  Hook hook = slot_hook(std::move(name), shape, function, 0);
  hook.slots.clear();
  return hook;
}

inline std::vector<Hook> slot_hooks(const TestTarget& target) {
  return {slot_hook("take", TRACER_MALLOC, target.function("target_take"), target.board().slot_taken),
          slot_hook("give", TRACER_FREE, target.function("target_give"), target.board().slot_given)};
}

inline std::vector<Hook> entry_hooks(const TestTarget& target) {
  return {entry_hook("take", TRACER_MALLOC, target.function("target_take")),
          entry_hook("give", TRACER_FREE, target.function("target_give"))};
}

// The target's unwind tables, for all mapped files.
inline unwind::AddressSpace unwind_space(int pid) {
  unwind::AddressSpace space;
  const auto maps = process::read_maps(pid);
  for (const auto& entry : *maps) {
    if (!entry.executable || !entry.is_file()) continue;
    const auto file = elf::ModuleFile::open(entry.path);
    if (!file) continue;
    auto table = unwind::build_table(file->elf());
    const auto address = file->elf().address_of(entry.offset);
    if (table && address)
      space.add(entry.start, entry.end, entry.start.value - address->value,
                std::make_shared<const unwind::Table>(std::move(*table)));
  }
  return space;
}

inline std::uint64_t counted(Tracer& tracer, tracer_shape shape, std::uint32_t index) {
  std::uint64_t value;
  std::memcpy(&value, tracer.memory().data() + counter_offset(tracer.shared(), shape, index), sizeof(value));
  return value;
}

#define ASSERT_OK(result)                                          \
  do {                                                             \
    const auto& outcome_ = (result);                               \
    ASSERT_TRUE(outcome_.has_value()) << outcome_.error().message; \
  } while (false)

// For a parameter that is a target's path: its form.
inline std::string program_name(const ::testing::TestParamInfo<const char*>& parameter) {
  const std::string path = parameter.param;
  return path.substr(path.rfind("target_") + 7);
}

// ptrace is forbidden in some containers; the test cannot run there.
inline bool may_trace() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const bool may = RemoteMemory::open(child).has_value() && Tracer::check(child).has_value();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return may;
}

}  // namespace fathom::inject::testing
