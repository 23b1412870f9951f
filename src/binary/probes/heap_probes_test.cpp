#include "binary/probes/heap_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "binary/elf/module_file.h"
#include "binary/probes/testing_static_probe.h"

namespace fathom::probes {
namespace {

[[gnu::noipa]] void tell_of_a_heap(void* block, long size, long weight) {
  FATHOM_TEST_PROBE("otel_memory", "alloc", "0", "8@%0 8@%1 8@%2", "r"(block), "r"(size), "r"(weight));
  FATHOM_TEST_PROBE("otel_memory", "alloc", "0", "8@%0 8@%1 8f@%2", "r"(block), "r"(size), "x"(1.0));
  FATHOM_TEST_PROBE("otel_memory", "alloc", "0", "8@%0 8@%1", "r"(block), "r"(size));
  FATHOM_TEST_PROBE("otel_memory", "free", "0", "8@%0", "r"(block));
  FATHOM_TEST_PROBE("otel_memory", "free", "0", "8@%0 8f@%1", "r"(block), "x"(1.0));
  FATHOM_TEST_PROBE("otel_memory", "mmap", "0", "8@%0 8@%1", "r"(block), "r"(size));
  FATHOM_TEST_PROBE("other_memory", "alloc", "0", "8@%0 8@%1 8@%2", "r"(block), "r"(size), "r"(weight));
}

TEST(HeapProbes, AreThoseOfTheProviderWhoseValuesCanBeRead) {
  tell_of_a_heap(nullptr, 1, 2);
  const auto file = elf::ModuleFile::open("/proc/self/exe").value();
  const auto found = find_heap_probes(file.elf());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->allocs.size(), 1U);
  EXPECT_EQ(found->frees.size(), 2U) << "of a free the first value is enough";
  EXPECT_THAT(
      found->problems,
      ::testing::ElementsAre("otel_memory:alloc: argument 3 cannot be read: it is a floating-point number",
                             "otel_memory:alloc: it has 2 of 3 values"));
  EXPECT_EQ(text_of(*found), "alloc at 1 place, free at 2 places");
}

TEST(HeapProbes, WithoutFreesSaySo) {
  HeapProbes probes;
  EXPECT_TRUE(probes.empty());
  probes.allocs.resize(3);
  EXPECT_FALSE(probes.empty());
  EXPECT_EQ(text_of(probes), "alloc at 3 places, free at none");
  probes.frees = std::exchange(probes.allocs, {});
  EXPECT_FALSE(probes.empty()) << "allocations may be told by another file";
}

}  // namespace
}  // namespace fathom::probes
