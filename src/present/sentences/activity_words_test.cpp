#include "present/sentences/activity_words.h"

#include <gtest/gtest.h>

namespace fathom::present {
namespace {

TEST(Activity, SaysWhatACallDoes) {
  EXPECT_EQ(activity_of("std::__cxx11::basic_regex<char>::basic_regex(char const*)"),
            "building std::basic_regex");
  EXPECT_EQ(activity_of("std::vector<int>::~vector()"), "destroying std::vector");
  EXPECT_EQ(activity_of("std::lock_guard<std::mutex>::lock_guard(std::mutex&)"), "taking a lock");
  EXPECT_EQ(activity_of("std::unique_lock<std::mutex>::~unique_lock()"), "releasing a lock");
  EXPECT_EQ(activity_of("operator new(unsigned long)"), "allocating memory");
  EXPECT_EQ(activity_of("__libc_free"), "freeing memory");
  EXPECT_EQ(activity_of("asm_exc_page_fault"), "in page faults");
  EXPECT_EQ(activity_of("Table::find(int)"), "in Table::find");
  EXPECT_EQ(activity_of("redis-server@fde+0x13bf40"), "in an unnamed function of redis-server (0x13bf40)");
}

}  // namespace
}  // namespace fathom::present
