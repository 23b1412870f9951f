// A C++ program that has jemalloc linked into it: its operators are that library's too.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  std::map<int, std::string> names;
  std::vector<std::unique_ptr<std::vector<int>>> rows;
  for (int i = 0; i < rounds; ++i) {
    names[i % 100] = std::string(static_cast<std::size_t>(i % 300), 'x');
    rows.push_back(std::make_unique<std::vector<int>>(i % 50));
    if (rows.size() > 64) rows.erase(rows.begin(), rows.begin() + 32);
  }
  std::free(std::realloc(std::malloc(100), 200));
  return names.size() > 1000 ? 1 : 0;
}
