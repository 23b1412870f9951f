// A C++ program that has tcmalloc linked into it, and comes to it by operators of all forms.
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct alignas(64) Wide {
  char bytes[192];
};
static void* volatile kept[8];

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  std::map<int, std::string> names;
  std::vector<std::unique_ptr<std::vector<int>>> rows;
  for (int i = 0; i < rounds; ++i) {
    names[i % 100] = std::string(static_cast<std::size_t>(i % 300), 'x');
    rows.push_back(std::make_unique<std::vector<int>>(i % 50));
    if (rows.size() > 64) rows.erase(rows.begin(), rows.begin() + 32);
    const auto size = static_cast<std::size_t>(i % 300 + 1);
    kept[0] = new Wide;
    kept[1] = new (std::nothrow) Wide[2];
    kept[2] = ::operator new(size, std::nothrow);
    kept[3] = ::operator new[](size);
    delete static_cast<Wide*>(kept[0]);
    ::operator delete[](kept[1], std::align_val_t(64), std::nothrow);
    ::operator delete(kept[2], std::nothrow);
    ::operator delete[](kept[3], size);
  }
  std::free(std::realloc(std::malloc(100), 200));
  return names.size() > 1000 ? 1 : 0;
}
