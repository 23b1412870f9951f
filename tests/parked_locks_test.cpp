// Locks whose waiters park as parking_lot's do are identified by their addresses, in a program that knows
// them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/environment.h"
#include "support/fathom_program.h"

namespace fathom::support {
namespace {

using nlohmann::json;

TEST(ParkedLocks, AreIdentifiedByTheirAddressesAndNotByTheirWaiters) {
  FATHOM_NEEDS_BPF();
  const TempDir folder;
  const Outcome program = fathom({"record", "-o", folder / "x.fathom", "--", PARKED_LOCKS, "3"});
  ASSERT_TRUE(program.ok()) << program.describe();
  const Outcome said = fathom({"report", folder / "x.fathom", "--metric", "off-cpu", "--json"});
  ASSERT_TRUE(said.ok()) << said.describe();
  const json locks = json::parse(said.output).at("locks").at("by_object");
  const std::map<std::string, double> truth = answer_of(program);
  ASSERT_EQ(truth.size(), 2u);
  std::set<std::string> teams;
  for (const auto& [address, waited_s] : truth) {
    const std::uint64_t number = std::stoull(address, nullptr, 16);
    const auto lock = std::find_if(locks.begin(), locks.end(), [&](const json& row) {
      return row.contains("address") && row.at("address") == number;
    });
    ASSERT_NE(lock, locks.end()) << address << ": " << locks.dump(1);
    // All but what came before the proof, which takes a few tenths of a second; and no wait for another lock.
    const double said_s = lock->at("total_s").get<double>();
    EXPECT_LE(said_s, 1.05 * waited_s + 0.1) << lock->dump(1);
    EXPECT_GE(said_s, 0.1 * waited_s) << lock->dump(1);
    ASSERT_FALSE(lock->at("waiters").empty());
    const std::string team = lock->at("waiters").at(0).at("thread");
    teams.insert(team);
    for (const json& side : {lock->at("waiters"), lock->at("releasers")}) {
      for (const json& party : side)
        EXPECT_TRUE(party.at("thread") == team || party.at("thread") == "") << lock->dump(1);
    }
    EXPECT_TRUE(lock->contains("holds")) << lock->dump(1);
  }
  EXPECT_EQ(teams, (std::set<std::string>{"first", "second"}));
  for (const json& row : locks) {
    if (!row.contains("address") || row.at("operation") != "wait")
      continue;  // of before the proof; of a join
    EXPECT_TRUE(truth.contains(fmt::format("{:#x}", row.at("address").get<std::uint64_t>()))) << row.dump(1);
  }
}

}  // namespace
}  // namespace fathom::support
