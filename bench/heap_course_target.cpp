// Runs one course (src/analysis/verdicts/testing_courses.h) in real time with real blocks. Usage:
// heap_course_target COURSE SEED SECONDS LIFE: runs for SECONDS; LIFE is the life of the course in seconds.
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "analysis/verdicts/testing_courses.h"

using namespace fathom::analysis;

// Each course has its own function, whose name identifies a verdict.
#define SITE_OF(name)                                                                    \
  extern "C" __attribute__((noipa)) void* name(void* block, std::size_t size) {          \
    void* const made = block == nullptr ? std::malloc(size) : std::realloc(block, size); \
    std::memset(made, 1, size);                                                          \
    return made;                                                                         \
  }
SITE_OF(site_request)
SITE_OF(site_base)
SITE_OF(site_leak)
SITE_OF(site_cache)
SITE_OF(site_table)
SITE_OF(site_queue)
SITE_OF(site_session)
SITE_OF(site_batch)

namespace {

class RealHeap : public CourseHeap {
 public:
  std::uint64_t allocate(CourseSite site, std::size_t size) override { return reallocate(site, 0, size); }
  void free(std::uint64_t block) override { std::free(reinterpret_cast<void*>(block)); }
  std::uint64_t reallocate(CourseSite site, std::uint64_t block, std::size_t size) override {
    using Function = void* (*)(void*, std::size_t);
    static constexpr std::array<Function, kCourseSites.size()> kFunctions = {
        site_request, site_base, site_leak, site_cache, site_table, site_queue, site_session, site_batch};
    return reinterpret_cast<std::uint64_t>(
        kFunctions[static_cast<std::size_t>(site)](reinterpret_cast<void*>(block), size));
  }
};

double now_s() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  RealHeap heap;
  CourseRandom random(std::strtoull(argv[2], nullptr, 10));
  const Course course = make_course(argv[1], heap, random, std::atof(argv[3]));
  if (!course.tick) return 2;
  const double start = now_s();
  const int ticks = static_cast<int>(std::atof(argv[4]) / kCourseTick_s);
  for (int tick = 0; tick < ticks; ++tick) {
    course.tick(tick * kCourseTick_s);
    const double left = start + (tick + 1) * kCourseTick_s - now_s();
    if (left > 0) usleep(static_cast<useconds_t>(left * 1e6));
  }
  _exit(0);
}
