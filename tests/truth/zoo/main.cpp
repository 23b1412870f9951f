// stacks_zoo [SECONDS]: two threads run all scenes until the time is over. Prints how often each was run. If
// other programs use the CPUs it continues until it has had half as much CPU time, and at most ten times as
// long: every scene shall be recorded.
#include <pthread.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "zoo.h"

ZOO_FUNCTION std::uint64_t zoo_burn(std::uint64_t rounds) {
  std::uint64_t value = 1;
  for (std::uint64_t i = 0; i < rounds; ++i) value = value * 6364136223846793005ULL + i;
  return value;
}

namespace {

struct Scene {
  const char* name;
  void (*play)(zoo::Deadline);
  std::atomic<int> played{0};
};

std::array<Scene, 15> g_scenes{{{"alloca", zoo::scene_alloca},
                                {"aligned", zoo::scene_aligned},
                                {"huge", zoo::scene_huge},
                                {"recursion", zoo::scene_recursion},
                                {"assembly", zoo::scene_assembly},
                                {"signal", zoo::scene_signal},
                                {"alternate_stack", zoo::scene_alternate_stack},
                                {"plt", zoo::scene_plt},
                                {"dlopen", zoo::scene_dlopen},
                                {"libc", zoo::scene_libc},
                                {"vdso", zoo::scene_vdso},
                                {"jit", zoo::scene_jit},
                                {"threads", zoo::scene_threads},
                                {"fork", zoo::scene_fork},
                                {"exec", zoo::scene_exec}}};

struct Show {
  double seconds;
  zoo::Deadline end, latest_end;
  bool over() const {
    timespec cpu{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return zoo::passed(latest_end) || (zoo::passed(end) && static_cast<double>(cpu.tv_sec) >= seconds / 2);
  }
};

// `stride` has no divisor in common with the number of scenes, so every scene is reached.
void play_all(const char* thread_name, std::size_t stride, const Show& show) {
  pthread_setname_np(pthread_self(), thread_name);
  for (std::size_t i = 0; !show.over(); i = (i + stride) % g_scenes.size()) {
    g_scenes[i].play(zoo::in_ms(25));
    ++g_scenes[i].played;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return zoo::child_main();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  zoo::write_perf_map();
  const int ms = static_cast<int>(seconds * 1000);
  const Show show{seconds, zoo::in_ms(ms), zoo::in_ms(10 * ms)};
  std::thread first([&] { play_all("zoo-first", 1, show); });
  std::thread second([&] { play_all("zoo-second", 7, show); });
  first.join();
  second.join();
  zoo::remove_perf_map();

  std::printf("{");
  for (std::size_t i = 0; i < g_scenes.size(); ++i) {
    std::printf("%s\"%s\": %d", i == 0 ? "" : ", ", g_scenes[i].name, g_scenes[i].played.load());
  }
  std::printf("}\n");
  return 0;
}
