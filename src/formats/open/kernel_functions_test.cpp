#include "formats/open/kernel_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fathom::open {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string note(std::string_view name, std::uint32_t type, std::string_view content) {
  std::string bytes;
  const auto number = [&](std::size_t value) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
  };
  number(name.size() + 1);
  number(content.size());
  number(type);
  for (const std::string_view part : {name, content}) {
    bytes += part;
    if (part == name) bytes += '\0';
    while (bytes.size() % 4 != 0) bytes += '\0';
  }
  return bytes;
}

class KernelFunctions : public testing::Test {
 protected:
  KernelFunctions() {
    std::filesystem::create_directories(folder_);
    places_.notes = write("notes", note("Linux", 257, std::string(7, 'x')) + note("GNU", 3, "\x12\xab\x34"));
    places_.kallsyms = write("kallsyms",
                             "ffffffff81000000 T _text\nffffffff81000040 T do_read\n"
                             "ffffffffc0001000 t helper\t[nf]\n");
  }
  ~KernelFunctions() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << content;
    return folder_ + "/" + name;
  }
  std::vector<std::string> functions(const std::string& build_id, std::uint64_t reference,
                                     const std::string& symbol = "_text") const {
    std::vector<std::string> all;
    for (const auto& row : functions_of_kernel({build_id, symbol, reference}, places_))
      all.push_back(row.name + " " + std::to_string(row.address & 0xffffffff) + row.module);
    return all;
  }

  std::string folder_ = testing::TempDir() + "fathom-kernel-" + std::to_string(::getpid());
  KernelPlaces places_;
};

TEST_F(KernelFunctions, ComeFromThisMachineIfItRunsTheSameKernel) {
  EXPECT_EQ(build_id_of_notes(note("GNU", 3, "\x12\xab\x34")), "12ab34");
  EXPECT_THAT(functions("12ab34", 0xffffffff81000000),
              ElementsAre("_text 2164260864", "do_read 2164260928", "helper 3221229568nf"));
  EXPECT_THAT(functions("12ab340000", 0xffffffff81000000), testing::SizeIs(3)) << "perf fills it with zeros";
  EXPECT_THAT(functions("12ab35", 0xffffffff81000000), IsEmpty());
  EXPECT_THAT(functions("", 0xffffffff81000000), IsEmpty());
}

TEST_F(KernelFunctions, MoveWithTheKernelAfterAReboot) {
  EXPECT_THAT(functions("12ab34", 0xffffffff91000000), ElementsAre("_text 2432696320", "do_read 2432696384"));
  EXPECT_THAT(functions("12ab34", 0), IsEmpty());
  EXPECT_THAT(functions("12ab34", 0xffffffff81000000, "_stext"), IsEmpty()) << "nothing to measure by";
}

TEST_F(KernelFunctions, NotesOfAnyBytesAreReadSafely) {
  const std::string whole = note("GNU", 3, "\x12\xab\x34");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(build_id_of_notes(whole.substr(0, size)), "") << size;
  EXPECT_EQ(build_id_of_notes(std::string(64, '\xff')), "");
}

}  // namespace
}  // namespace fathom::open
