#include "tools/dataset/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fathom::dataset {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DatasetLayout, NamesAreThoseOfHiveWithWhateverIsInThem) {
  EXPECT_EQ(partition_folder("d", "my app", "2026-11-20", "../x"),
            "d/service=my%20app/date=2026-11-20/host=..%2Fx");
  EXPECT_EQ(partition_folder("d", "s", "2026-11-20", ""), "d/service=s/date=2026-11-20/host=unknown");
  EXPECT_EQ(date_of(1'763'632'500), "2025-11-20");
  EXPECT_EQ(file_stem(10, 70, 0xab), "10-70-00000000000000ab");
}

class DatasetFolder : public testing::Test {
 protected:
  DatasetFolder() {
    std::string name = testing::TempDir() + "dataset-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~DatasetFolder() override { std::filesystem::remove_all(folder_); }
  void touch(const std::string& service, const std::string& host, const std::string& name) {
    const std::string folder = partition_folder(folder_, service, "2026-11-20", host);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/" + name) << "x";
  }
  std::vector<std::string> hosts_of(const std::string& choice) {
    clickhouse::Location location;
    location.service = "a b";
    EXPECT_TRUE(clickhouse::parse_choice(choice, location));
    std::vector<std::string> hosts;
    for (const SamplesFile& file : samples_files(folder_, location)) hosts.push_back(file.host);
    return hosts;
  }
  std::string folder_;
};

TEST_F(DatasetFolder, OneOfServicesIsADataset) {
  EXPECT_FALSE(is_dataset(folder_));
  EXPECT_FALSE(is_dataset(folder_ + "/nothing"));
  touch("z", "h", "1-2-f.samples.parquet");
  touch("a b", "h", "1-2-f.samples.parquet");
  EXPECT_TRUE(is_dataset(folder_));
  EXPECT_THAT(services_in(folder_), ElementsAre("a b", "z"));
}

TEST_F(DatasetFolder, HostsAreChosenAndLeftOut) {
  for (const char* host : {"web1", "web2", "db/1"}) touch("a b", host, "1-2-f.samples.parquet");
  EXPECT_THAT(hosts_of(""), ElementsAre("db/1", "web1", "web2"));
  EXPECT_THAT(hosts_of("host=web2,db/1"), ElementsAre("db/1", "web2"));
  EXPECT_THAT(hosts_of("host=!web2"), ElementsAre("db/1", "web1"));
  EXPECT_THAT(hosts_of("host=!web2&host=web1,web2"), ElementsAre("web1"));
}

TEST_F(DatasetFolder, TimesAreReadFromNamesThatHaveThem) {
  touch("a b", "h", "100-160-0f.samples.parquet");
  touch("a b", "h", "100-160-0f.stacks.parquet");
  touch("a b", "h", "data_0.samples.parquet");
  touch("a b", "h", "readme.txt");
  clickhouse::Location location;
  location.service = "a b";
  const auto files = samples_files(folder_, location);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0].has_times);
  EXPECT_EQ(files[0].first_unix_s, 100U);
  EXPECT_EQ(files[0].end_unix_s, 160U);
  EXPECT_FALSE(files[1].has_times);
  EXPECT_THAT(stacks_files(files[0].folder), ElementsAre(HasSubstr("100-160-0f.stacks.parquet")));
}

}  // namespace
}  // namespace fathom::dataset
