#include "formats/open/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fathom::open {
namespace {

using testing::ElementsAre;

class Inputs : public testing::Test {
 protected:
  Inputs() { std::filesystem::create_directories(folder_ + "/dumps"); }
  ~Inputs() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "x";
    return path;
  }

  const std::string folder_ = testing::TempDir() + "inputs_" + std::to_string(::getpid());
};

TEST_F(Inputs, AListWithCommasIsSeveralInputs) {
  const std::string a = file("a.heap"), b = file("b.heap"), c = file("dumps/c.heap");
  EXPECT_THAT(files_of_inputs({a + "," + b}).value(), ElementsAre(a, b));
  EXPECT_THAT(files_of_inputs({b + ",," + a + ","}).value(), ElementsAre(b, a));
  EXPECT_THAT(files_of_inputs({a + "," + folder_ + "/dumps"}).value(), ElementsAre(a, c));
  EXPECT_THAT(files_of_inputs({folder_ + "/?.heap," + c}).value(), ElementsAre(a, b, c));
  EXPECT_THAT(files_of_inputs({a + "," + a}).value(), ElementsAre(a)) << "each once";
}

TEST_F(Inputs, AFileThatIsCalledLikeAListIsOneFile) {
  const std::string odd = file("a,b.heap");
  file("a");
  EXPECT_THAT(files_of_inputs({odd}).value(), ElementsAre(odd));
  EXPECT_THAT(files_of_inputs({","}).value(), ElementsAre(","));
}

TEST_F(Inputs, APatternWithoutFilesIsNotFound) {
  const auto files = files_of_inputs({folder_ + "/*.nothing"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace fathom::open
