#include "analysis/core/common_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fathom::analysis {
namespace {

TEST(CommonCosts, AreInWords) {
  struct Case {
    std::string_view function, words;
  };
  for (const Case& each :
       {Case{"gc_collect_main", "garbage collection"},
        Case{"runtime.gcBgMarkWorker.func2", "garbage collection"},
        Case{"v8::internal::Scavenger::Process(v8::JobDelegate*)", "garbage collection"},
        Case{"heap::base::SlotCallbackResult v8::internal::Scavenger::ScavengeObject<v8::internal::Slot>"
             "(v8::internal::Slot, v8::internal::HeapObject)",
             "garbage collection"},
        Case{"void std::__cxx11::basic_regex<char>::assign<char const*>(char const*, char const*)",
             "regular expressions"},
        Case{"_Unwind_Find_FDE", "throwing exceptions"}, Case{"__strcoll_l", "locale and collation"},
        Case{"lzma_mf_bt4_find", "compression"}, Case{"operator new(unsigned long)", "allocation"},
        Case{"__memmove_avx_unaligned_erms", "copying memory"}, Case{"c_parse_file()", "parsing"},
        Case{"gc_collect_main(void*, int)", "garbage collection"}})
    EXPECT_EQ(common_cost(each.function), each.words) << each.function;
}

TEST(CommonCosts, AreNotGuessedForOtherNames) {
  for (const std::string_view name : {"main", "void Shop::serve<v8::internal::Heap::Kind>(int)",
                                      "Shop::serve", "state::build_root", "freeze", "mallocator::run", ""})
    EXPECT_EQ(common_cost(name), std::nullopt) << name;
}

TEST(KernelWork, IsASystemCallOrPageFaults) {
  EXPECT_EQ(spoken_kernel_work("__x64_sys_fdatasync"), "the system call fdatasync");
  EXPECT_EQ(spoken_kernel_work("__arm64_sys_read"), "the system call read");
  EXPECT_EQ(spoken_kernel_work("asm_exc_page_fault"), "page faults");
  EXPECT_EQ(spoken_kernel_work("ext4_bread"), "ext4_bread");
}

}  // namespace
}  // namespace fathom::analysis
