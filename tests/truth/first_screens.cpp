// Programs that each have one known answer, for the first screen of a report: what costs is in a library, and whose doing
// it is in a function of this file. With lines, as users build who want to know.
//
//   first_screens regex | churn | recursion  SECONDS_OF_CPU
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace {

volatile long result;

class LogParser {
 public:
  [[gnu::noinline]] bool parse_line(const std::string& line) {
    const std::regex pattern("^([0-9]+)-([0-9]+) ([a-z]+): (.*)$");  // again for every line
    return std::regex_match(line, pattern);
  }
};

class Shop {
 public:
  [[gnu::noinline]] void serve_request() {
    std::vector<std::unique_ptr<std::string>> items;
    for (int i = 0; i < 100; ++i) items.push_back(std::make_unique<std::string>(64, 'x'));
    result = result + static_cast<long>(items.size());
  }
};

[[gnu::noinline]] long fibonacci(long n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  // CPU time, so that a busy machine leaves as many samples as a quiet one.
  const double wanted = std::atof(argv[2]) * CLOCKS_PER_SEC;
  LogParser parser;
  Shop shop;
  while (static_cast<double>(std::clock()) < wanted) {
    if (std::strcmp(argv[1], "regex") == 0)
      result = result + (parser.parse_line("2024-01 info: line") ? 1 : 0);
    if (std::strcmp(argv[1], "churn") == 0) shop.serve_request();
    if (std::strcmp(argv[1], "recursion") == 0) result = result + fibonacci(22);
  }
  std::printf("%ld\n", static_cast<long>(result));
}
