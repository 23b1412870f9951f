// Allocates before, during and after a stop of fathom. Usage: interrupted_heap FOLDER SECONDS
//   site_before   1000 blocks of 64 bytes, and FOLDER/ready is created
//   site_storm    once FOLDER/stopped exists, blocks of 48 bytes for SECONDS, 64 live at a time; all are
//                 freed. Half of those of site_before are freed, too, and FOLDER/stormed is created
//   site_after    once FOLDER/continued exists and most of a second has passed, 1000 blocks of 100 bytes, 400
//                 of which are freed
// At the end only 600 blocks of site_after are left.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#define SITE extern "C" __attribute__((noipa))

SITE void* site_before() {
  void* block = std::malloc(64);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
SITE void* site_storm() {
  void* block = std::malloc(48);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}
SITE void* site_after() {
  void* block = std::malloc(100);
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
void make(const std::string& path) {
  close(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
}
void await(const std::string& path) {
  for (int i = 0; i < 60'000 && access(path.c_str(), F_OK) != 0; ++i) usleep(1000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string folder = argv[1], stopped = folder + "/stopped", stormed = folder + "/stormed",
                    continued = folder + "/continued";
  static void* before[1000];
  for (void*& block : before) block = site_before();
  make(folder + "/ready");
  await(stopped);
  static void* ring[64];
  const double end = now() + std::atof(argv[2]);
  for (int i = 0; now() < end; ++i) {
    std::free(ring[i % 64]);
    ring[i % 64] = site_storm();
  }
  for (void* block : ring) std::free(block);
  for (int i = 0; i < 500; ++i) std::free(before[i]);
  make(stormed);
  await(continued);
  usleep(200'000);
  std::free(site_storm());
  usleep(600'000);
  static void* after[1000];
  for (void*& block : after) block = site_after();
  for (int i = 0; i < 400; ++i) std::free(after[i]);
  for (int i = 500; i < 1000; ++i) std::free(before[i]);
  _exit(0);
}
