// Waits. At each SIGUSR1 it allocates and touches the given number of MiB more (at most 512) and keeps them;
// at SIGUSR2 it exits with status 3. It exits on its own after a minute.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

std::vector<char*> g_blocks;

__attribute__((noipa)) void eat(int mib) {
  for (int i = 0; i < mib * 16; ++i) {
    constexpr int kBlock = 64 * 1024;
    char* block = static_cast<char*>(std::malloc(kBlock));
    if (block == nullptr) std::exit(9);
    std::memset(block, 1, kBlock);
    g_blocks.push_back(block);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int mib = argc > 1 ? std::min(std::atoi(argv[1]), 512) : 1;
  sigset_t told;
  ::sigemptyset(&told);
  ::sigaddset(&told, SIGUSR1);
  ::sigaddset(&told, SIGUSR2);
  ::sigprocmask(SIG_BLOCK, &told, nullptr);
  ::signal(SIGUSR1, [](int) {});  // shows an observer that it is ready
  const timespec longest{60, 0};
  for (;;) {
    switch (::sigtimedwait(&told, nullptr, &longest)) {
      case SIGUSR1:
        eat(mib);
        break;
      case SIGUSR2:
        return 3;
      default:
        return 1;
    }
  }
}
