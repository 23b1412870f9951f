#include "binary/symbolize/main_crate.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace fathom::symbolize {
namespace {

TEST(MainCrate, IsThatOfAMainAtTheTopOfACrateInBothManglings) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"_ZN7my_node4main17h0123456789abcdefE", "my_node"},
      {"_ZN7my_node4main17h0123456789abcdefE.llvm.123456", "my_node"},
      {"_RNvCs1a2B_7my_node4main", "my_node"},
      {"_RNvCs1a2B_7my_node4main.llvm.99", "my_node"},
      {"_RNvC7my_node4main", "my_node"},
      {"_ZN8_private4main17h0123456789abcdefE", "_private"},
      {"_RNvCs_8__private4main", "_private"},
      {"_RNvCs_8_private4main", ""},                     // without the separator that a name with "_" has
      {"_ZN7my_node3cli4main17h0123456789abcdefE", ""},  // a main further down
      {"_ZN7my_node4main3run17h0123456789abcdefE", ""},  // a function of main
      {"_ZN7my_node4main17h0123456789abcdef", ""},       // cut short
      {"_ZN7my_node4mainEv", ""},                        // C++
      {"_RNvNtCs1a2B_7my_node3cli4main", ""},            // a main further down
      {"_RNCNvCs1a2B_7my_node4main0B3_", ""},            // a closure in main
      {"_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE", ""},
      {"_ZN99my_node4main17h0123456789abcdefE", ""},
      {"_ZN0_4main17h0123456789abcdefE", ""},
      {"_ZN7my\x1bnode4main17h0123456789abcdefE", ""},
      {"main", ""},
      {"", ""},
  };
  for (const auto& [mangled, crate] : cases) EXPECT_EQ(main_crate_of(mangled), crate) << mangled;
}

TEST(MainCrate, EveryPrefixIsReadOrRefused) {
  for (const std::string whole : {"_ZN7my_node4main17h0123456789abcdefE", "_RNvCs1a2B_7my_node4main"})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(main_crate_of(std::string_view(whole).substr(0, size)), "") << whole.substr(0, size);
}

}  // namespace
}  // namespace fathom::symbolize
