#include "base/accounts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fathom {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "+@netgroup\n"
    "cut:x:7\n"
    "no-number:x:many:7::/:/bin/false\n"
    "alice:x:1000:100:Alice,,,:/home/alice:/bin/sh\n"
    "second:x:1000:200::/:/bin/sh\n"
    "last:x:1001:1001";

TEST(Accounts, AreFoundByNumberWithNameAndPrimaryGroup) {
  const auto alice = account_in(kPasswd, 1000);
  ASSERT_TRUE(alice);
  EXPECT_EQ(alice->name, "alice");
  EXPECT_EQ(alice->gid, 100u);
}

TEST(Accounts, TheLastLineNeedsNoEnd) {
  const auto last = account_in(kPasswd, 1001);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->name, "last");
}

TEST(Accounts, LinesThatAreCutShortOrHaveNoNumberAreSkipped) {
  EXPECT_FALSE(account_in(kPasswd, 7));
  EXPECT_FALSE(account_in("", 0));
  EXPECT_FALSE(account_in("a:x:-1:0::/:/\n:x:5:5::/:/\nb:x:4294967296:0::/:/\n", 5));
}

TEST(Accounts, AMemberIsAWholeNameInTheLineOfTheGroup) {
  constexpr std::string_view kGroup =
      "root:x:0:\nusers:x:100:\nwheel:x:10:bob,alice\ndocker:x:11:alicelong\nempty:x:12\n";
  EXPECT_TRUE(lists_member(kGroup, 10, "alice"));
  EXPECT_TRUE(lists_member(kGroup, 10, "bob"));
  EXPECT_FALSE(lists_member(kGroup, 11, "alice"));
  EXPECT_FALSE(lists_member(kGroup, 100, "alice"));
  EXPECT_FALSE(lists_member(kGroup, 12, "alice"));
}

TEST(Accounts, RootIsAnAccountOfThisSystemAndItsPrimaryGroupIsOneOfItsOwn) {
  const auto root = account_of(0);
  if (::access("/etc/passwd", R_OK) != 0) {
    EXPECT_FALSE(root);
    return;
  }
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  EXPECT_TRUE(is_group_of(root->gid, *root));
  EXPECT_FALSE(is_group_of(4'000'000'000u, *root));
}

}  // namespace
}  // namespace fathom
