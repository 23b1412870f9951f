// The same program under valgrind's massif and under us: what was live when most was, the marked peak and who
// had asked for it; and ms_print reads what we write. Differences that remain are those of the definitions:
// massif also sees what libraries ask for before the program's entry (72,704 bytes of libstdc++), and keeps a
// block whose realloc failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using testing::HasSubstr;

struct Massif {
  double peak_bytes = 0;
  std::map<std::string, double> at_peak;  // by function, of the first row of the tree
  std::size_t snapshots = 0, trees = 0;
};

Massif read_massif(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  Massif all;
  double bytes = 0;
  bool in_peak = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("snapshot=")) ++all.snapshots;
    if (line.starts_with("mem_heap_B=")) bytes = std::stod(line.substr(11));
    if (line.starts_with("heap_tree=")) {
      in_peak = line == "heap_tree=peak";
      if (line != "heap_tree=empty") ++all.trees;
      if (in_peak) all.peak_bytes = bytes;
    }
    // " n1: 4096 0x1234: site_big (known_heap.cpp:71)": one blank, so right below the root.
    if (in_peak && line.starts_with(" n")) {
      std::istringstream fields(line);
      std::string node, address, function;
      double size = 0;
      fields >> node >> size >> address >> function;
      all.at_peak[function] += size;
    }
  }
  return all;
}

class MassifDifferential : public testing::Test {
 protected:
  TempDir folder_;
};

TEST_F(MassifDifferential, PeakAndItsPlacesAreThoseOfMassif) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  if (!find_program("valgrind")) GTEST_SKIP() << "valgrind is not installed (apt-get install valgrind)";
  const std::string theirs = folder_ / "theirs", ours = folder_ / "ours.massif.out";
  // Without --peak-inaccuracy a peak of theirs may be 1 % too small by itself.
  const Outcome valgrind = Running({"valgrind", "--tool=massif", "--peak-inaccuracy=0.0",
                                    "--massif-out-file=" + theirs, HEAP_PATTERNS, "peak", "2"})
                               .wait(std::chrono::seconds(60));
  ASSERT_TRUE(valgrind.ok()) << valgrind.describe();

  const std::string recording = folder_ / "x.fathom";
  const Outcome recorded =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording, "--", HEAP_PATTERNS, "peak", "2"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  const Outcome exported = fathom({"export", recording, "--to", "massif", "-o", ours});
  ASSERT_TRUE(exported.ok()) << exported.describe();

  const Massif massif = read_massif(theirs), fathom = read_massif(ours);
  EXPECT_GT(massif.peak_bytes, 10e6);
  EXPECT_NEAR(fathom.peak_bytes, massif.peak_bytes, 0.01 * massif.peak_bytes);
  EXPECT_LE(fathom.snapshots, 100u);
  EXPECT_GE(fathom.trees, 1u);
  std::size_t compared = 0;
  for (const auto& [function, bytes] : massif.at_peak) {
    // Of what has a place of its own in massif's tree: at least a twentieth of all.
    if (!function.starts_with("site_") || bytes < 0.05 * massif.peak_bytes) continue;
    const auto found = fathom.at_peak.find(function);
    ASSERT_NE(found, fathom.at_peak.end()) << function;
    EXPECT_NEAR(found->second, bytes, 0.01 * bytes) << function;
    ++compared;
  }
  EXPECT_EQ(compared, 2u);  // the spike, and what it stands on
}

TEST_F(MassifDifferential, MsPrintPrintsWhatWeWrite) {
  FATHOM_NEEDS_BPF();
  FATHOM_NEEDS_HEAP_TRACING();
  if (!find_program("ms_print")) GTEST_SKIP() << "ms_print is not installed (apt-get install valgrind)";
  const std::string recording = folder_ / "x.fathom", ours = folder_ / "massif.out";
  const Outcome recorded =
      fathom({"record", "--heap=exact", "--lossless", "-o", recording, "--", KNOWN_HEAP, "2000", "2"});
  ASSERT_TRUE(recorded.ok()) << recorded.describe();
  // The ending of the name says the format.
  ASSERT_TRUE(fathom({"export", recording, "-o", ours}).ok());
  const Outcome printed = Running({"ms_print", ours}).wait(std::chrono::seconds(30));
  EXPECT_TRUE(printed.ok()) << printed.describe();
  EXPECT_EQ(printed.errors, "");
  EXPECT_THAT(printed.output, HasSubstr("(recorded by fathom)"));
  EXPECT_THAT(printed.output, HasSubstr("(peak)"));
  EXPECT_THAT(printed.output, HasSubstr("site_"));
  // The same layout without ms_print, but for the line that names its file.
  const Outcome same = fathom({"export", recording, "--to", "ms_print"});
  ASSERT_TRUE(same.ok()) << same.describe();
  std::istringstream left(printed.output), right(same.output);
  std::string a, b;
  while (std::getline(left, a) && std::getline(right, b)) {
    if (a.starts_with("ms_print arguments:")) continue;
    ASSERT_EQ(a, b);
  }
  EXPECT_FALSE(std::getline(right, b)) << b;
}

}  // namespace
}  // namespace fathom::support
