// Names that a tool has left as the linker knows them, in each format that is text.
#include "formats/import/source_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/readers.h"

namespace fathom::formats {
namespace {

std::vector<std::string> functions_of(std::string_view content) {
  const Reader* reader = reader_of(content);
  if (reader == nullptr) return {"no format"};
  const Result<model::Profile> read = reader->read(content, "test");
  if (!read) return {read.error().message};
  std::vector<std::string> names;
  for (const model::Function& function : read->functions)
    if (const std::string_view name = read->strings[function.name]; !name.empty()) names.emplace_back(name);
  return names;
}

struct Text {
  const char* format;
  const char* content;  // _ZN3app4workEi called by app::parse::h0bfa24a8d6483291, which main calls
};

class SourceNamesOf : public ::testing::TestWithParam<Text> {};

TEST_P(SourceNamesOf, AreThoseOfTheSource) {
  const std::vector<std::string> names = functions_of(GetParam().content);
  EXPECT_THAT(names, testing::IsSupersetOf({"app::work(int)", "app::parse", "main"}));
  for (const std::string& name : names) {
    EXPECT_EQ(name.find("_ZN"), std::string::npos) << name;
    EXPECT_EQ(name.find("0bfa24a8d6483291"), std::string::npos) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SourceNamesOf,
    ::testing::Values(
        Text{"folded", "app;main;app::parse::h0bfa24a8d6483291;_ZN3app4workEi 7\n"},
        Text{"perf script",
             "app 7 1.000001: 1 cycles:\n\t1001 _ZN3app4workEi+0x1 (/app)\n\t1002 "
             "app::parse::h0bfa24a8d6483291+0x2 (/app)\n\t1003 main+0x3 (/app)\n\n"},
        Text{"callgrind",
             "events: Ir\nfn=main\n1 1\ncfn=app::parse::h0bfa24a8d6483291\ncalls=1 2\n1 20\n"
             "fn=app::parse::h0bfa24a8d6483291\n2 5\ncfn=_ZN3app4workEi\ncalls=1 3\n2 15\nfn=_ZN3app4workEi\n"
             "3 15\n"},
        Text{"speedscope",
             R"({"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[
               {"name":"main"},{"name":"app::parse::h0bfa24a8d6483291"},{"name":"_ZN3app4workEi"}]},
               "profiles":[{"type":"sampled","name":"t","unit":"none","startValue":0,"endValue":7,
               "samples":[[0,1,2]],"weights":[7]}]})"},
        Text{
            "massif",
            "desc: (none)\ncmd: ./app\ntime_unit: i\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
            "mem_heap_B=700\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\nn1: 700 (heap allocation "
            "functions) malloc/new/new[], --alloc-fns, etc.\n n1: 700 0x109151: _ZN3app4workEi (in /app)\n  n1: "
            "700 0x109152: app::parse::h0bfa24a8d6483291 (a.rs:4)\n   n0: 700 0x109153: main (a.rs:1)\n"}),
    [](const auto& row) {
      std::string name = row.param.format;
      std::erase(name, ' ');
      return name;
    });

TEST(SourceNames, LeaveANameThatIsOneAlready) {
  SourceNames names;
  const std::string_view written = "main";
  EXPECT_EQ(names.of(written).data(), written.data());
}

}  // namespace
}  // namespace fathom::formats
