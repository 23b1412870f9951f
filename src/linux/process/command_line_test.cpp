#include "linux/process/command_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace fathom::process {
namespace {

using Words = std::vector<std::string>;

TEST(KeptCommandLine, OrdinaryArgumentsStay) {
  EXPECT_EQ(command_line(Words{"neard", "--home", "/data/near", "run", "--boot-nodes=a@b:1", "-j4"}),
            "neard --home /data/near run --boot-nodes=a@b:1 -j4");
  EXPECT_EQ(command_line(Words{"sort", "-t", "=", "--key=2", "--passes", "3", "--bypass=x"}),
            "sort -t = --key=2 --passes 3 --bypass=x");
  EXPECT_EQ(command_line(Words{}), "");
}

TEST(KeptCommandLine, ValuesOfOptionsThatNameASecretAreHidden) {
  EXPECT_EQ(command_line(Words{"node", "--password", "hunter2", "--db-pass=x"}),
            "node --password *** --db-pass=***");
  EXPECT_EQ(command_line(Words{"node", "--api-key=abc", "--etherscan_api_key", "abc", "-v"}),
            "node --api-key=*** --etherscan_api_key *** -v");
  EXPECT_EQ(command_line(Words{"anvil", "--mnemonic", "test test test junk", "--port", "1"}),
            "anvil --mnemonic *** --port 1");
  EXPECT_EQ(command_line(Words{"a", "--password", "--verbose", "x"}), "a --password --verbose x")
      << "an option that takes its value from elsewhere";
}

TEST(KeptCommandLine, VariablesAndLinesOfAShellAreLookedInto) {
  EXPECT_EQ(command_line(Words{"env", "AWS_SECRET_ACCESS_KEY=abc", "HOME=/", "prog"}),
            "env AWS_SECRET_ACCESS_KEY=*** HOME=/ prog");
  EXPECT_EQ(command_line(Words{"sh", "-c", "TOKEN=abc ./run --db-password=x; ls"}),
            "sh -c TOKEN=*** ./run --db-password=***; ls");
  EXPECT_EQ(command_line(Words{"curl", "-H", "Authorization: Bearer abc.def"}),
            "curl -H Authorization: Bearer ***");
}

TEST(KeptCommandLine, AddressesLoseTheirPasswordsAndTokens) {
  EXPECT_EQ(command_line(Words{"reth", "--rpc", "https://me:secret@host:8545/path?token=abc&x=1"}),
            "reth --rpc https://me:***@host:8545/path?token=***&x=1");
  EXPECT_EQ(command_line(Words{"a", "https://host:80/@x"}), "a https://host:80/@x");
  EXPECT_EQ(command_line(Words{"a", "://", "http://", "x://@", "y://:@"}), "a :// http:// x://@ y://:***@");
}

TEST(KeptCommandLine, PrivateKeysAreHiddenInAnyPlace) {
  const std::string key(64, 'a');
  EXPECT_EQ(command_line(Words{"cast", "send", "0x" + key, "k=" + key}), "cast send 0x*** k=***");
  EXPECT_EQ(command_line(Words{"a", key + "a", key.substr(1)}), "a " + key + "a " + key.substr(1))
      << "another length is no key";
}

TEST(KeptCommandLine, PasswordsThatALetterTakesAreHidden) {
  EXPECT_EQ(command_line(Words{"worker", "-p", "pa55", "-v"}), "worker -p *** -v");
  EXPECT_EQ(command_line(Words{"/usr/bin/mysqldump", "-pa55word", "-u", "root", "db"}),
            "/usr/bin/mysqldump -p*** -u root db");
  EXPECT_EQ(command_line(Words{"redis-cli", "-a", "hunter2", "ping"}), "redis-cli -a *** ping");
  EXPECT_EQ(command_line(Words{"curl", "-u", "me:hunter2", "--user", "me:x"}),
            "curl -u me:*** --user me:***");
  EXPECT_EQ(command_line(Words{"server", "-p", "8080", "-p", "80:80", "-p", "/run/x", "-a", "word", "-u",
                               "1000:1000"}),
            "server -p 8080 -p 80:80 -p /run/x -a word -u 1000:1000");
  EXPECT_EQ(command_line(Words{"worker", "-parallel", "-p"}), "worker -parallel -p");
  EXPECT_EQ(command_line(Words{"worker", "-pa55word", "-p2048k", "-pthread"}),
            "worker -p*** -p2048k -pthread");
}

TEST(KeptCommandLine, PasswordsOfAProgramThatAnotherStartsAreHidden) {
  EXPECT_EQ(command_line(Words{"sudo", "-u", "me", "/usr/bin/mysql", "-psecret", "db"}),
            "sudo -u me /usr/bin/mysql -p*** db");
  EXPECT_EQ(command_line(Words{"sh", "-c", "exec mysql -uroot -psecret db; redis-cli -a hunter2 ping "}),
            "sh -c exec mysql -uroot -p*** db; redis-cli -a *** ping ");
  EXPECT_EQ(command_line(Words{"sh", "-c", "worker  -p pa55 -p 8080 --db-pass x"}),
            "sh -c worker  -p *** -p 8080 --db-pass ***");
}

}  // namespace
}  // namespace fathom::process
