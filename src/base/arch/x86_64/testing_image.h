// For tests: a tracer that does nothing but count. Each hook adds one to its own word in the shared memory
// and goes on to the original; a forked child, whose state is wiped, only goes on. Its instructions are
// written out here, so that tests of the injector need no other part of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attach/inject/plan/placement.h"
#include "base/abi/heap_tracer.h"

namespace fathom::inject::testing {

// Where hook number `index` of `shape` counts, from the start of the shared memory: in the first ring's data.
inline std::uint64_t counter_offset(const tracer_shared& head, int shape, std::uint32_t index) {
  return head.rings_offset + TRACER_RING_DATA +
         (static_cast<std::uint64_t>(shape) * TRACER_HOOKS + index) * sizeof(u64);
}

// `rings_offset` as the shared memory will have it; `by_call`: the hook calls the original, and so leaves a
// frame of its own on the stack, instead of jumping there.
inline std::vector<std::byte> counting_image(std::uint64_t rings_offset, bool by_call = false) {
  constexpr std::uint32_t kHookBytes = 64;
  constexpr std::uint32_t kHooksAt = static_cast<std::uint32_t>(round_up(sizeof(tracer_image_header)));
  constexpr std::uint32_t kConfigAt =
      static_cast<std::uint32_t>(round_up(kHooksAt + TRACER_SHAPES * TRACER_HOOKS * kHookBytes));
  constexpr auto kBytes = static_cast<std::uint32_t>(round_up(kConfigAt + sizeof(tracer_config)));

  std::vector<std::byte> image(kBytes);
  tracer_image_header header{};
  header.magic = TRACER_MAGIC;
  header.version = TRACER_VERSION;
  header.text_bytes = kBytes;
  header.config_offset = kConfigAt;
  header.state_bytes = 1 << 20;

  std::uint32_t at = 0;
  const auto emit = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) image[at++] = static_cast<std::byte>(byte);
  };
  const auto emit_relative = [&](std::size_t target) {  // rel32, counted from behind itself
    const auto value = static_cast<std::int32_t>(target) - static_cast<std::int32_t>(at) - 4;
    std::memcpy(image.data() + at, &value, sizeof(value));
    at += 4;
  };
  tracer_shared head{};
  head.rings_offset = rings_offset;
  for (int shape = 0; shape < TRACER_SHAPES; ++shape)
    for (std::uint32_t index = 0; index < TRACER_HOOKS; ++index) {
      const std::size_t number = static_cast<std::size_t>(shape) * TRACER_HOOKS + index;
      const std::size_t original = kConfigAt + offsetof(tracer_config, original) + number * sizeof(u64);
      const auto counter = static_cast<std::uint32_t>(counter_offset(head, shape, index));
      at = kHooksAt + static_cast<std::uint32_t>(number) * kHookBytes;
      header.hook_offset[shape][index] = at;
      emit({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
      emit({0x4c, 0x8b, 0x1d});        // mov state(%rip), %r11
      emit_relative(kConfigAt + offsetof(tracer_config, state));
      emit({0x4d, 0x8b, 0x1b});        // mov (%r11), %r11: the shared memory, 0 in a forked child
      emit({0x4d, 0x85, 0xdb});        // test %r11, %r11
      emit({0x74, 0x08});              // je behind the next
      emit({0xf0, 0x49, 0xff, 0x83});  // lock incq counter(%r11)
      std::memcpy(image.data() + at, &counter, sizeof(counter));
      at += 4;
      if (by_call) {
        emit({0x48, 0x83, 0xec, 0x08});  // sub $8, %rsp: aligns the stack
        emit({0xff, 0x15});              // call *original(%rip)
        emit_relative(original);
        emit({0x48, 0x83, 0xc4, 0x08, 0xc3});  // add $8, %rsp; ret
      } else {
        emit({0xff, 0x25});  // jmp *original(%rip)
        emit_relative(original);
      }
    }
  std::memcpy(image.data(), &header, sizeof(header));
  return image;
}

}  // namespace fathom::inject::testing
