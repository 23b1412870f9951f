// A program that knows where its CPU time goes: cpu_shares [SECONDS]
//
// Two named threads call work_alpha ... work_delta in slices of uneven length, some from a shallow stack and
// some from a deep one, and read their own CPU clock around every slice. At the end it prints the answer as
// one JSON object. The lengths are uneven because a program in step with the sampling clock would deceive any
// sampling profiler.
#include <pthread.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

// The functions keep their names and their frames: noipa forbids every optimization across their calls.
#define TRUTH_FUNCTION extern "C" __attribute__((noipa))

TRUTH_FUNCTION std::uint64_t work_alpha(std::uint64_t rounds) {
  std::uint64_t value = 1;
  for (std::uint64_t i = 0; i < rounds; ++i) value = value * 6364136223846793005ULL + i;
  return value;
}

TRUTH_FUNCTION std::uint64_t work_beta(std::uint64_t rounds) {
  std::uint64_t value = 88172645463325252ULL;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
  }
  return value;
}

TRUTH_FUNCTION std::uint64_t work_gamma(std::uint64_t rounds) {
  double value = 0.5;
  for (std::uint64_t i = 0; i < rounds; ++i) value = 3.57 * value * (1 - value);
  return static_cast<std::uint64_t>(value * 1e9);
}

TRUTH_FUNCTION std::uint64_t work_delta(std::uint64_t rounds) {
  std::array<std::uint64_t, 64> table{};
  for (std::uint64_t i = 0; i < rounds; ++i) table[(i * 7) % table.size()] += table[i % table.size()] + i;
  return table[3];
}

using Work = std::uint64_t (*)(std::uint64_t);

static double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

static double process_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Function {
  const char* name;
  Work work;
  int share;  // out of about a hundred slices
  int depth;  // of the stack below it
};
constexpr std::array<Function, 4> kFunctions{{{"work_alpha", work_alpha, 40, 0},
                                              {"work_beta", work_beta, 30, 60},
                                              {"work_gamma", work_gamma, 20, 0},
                                              {"work_delta", work_delta, 10, 200}}};

static std::uint64_t volatile g_sink;

TRUTH_FUNCTION void timed_slice(Work work, std::uint64_t rounds, double* spent_s) {
  const double before = thread_cpu_s();
  g_sink = work(rounds);
  *spent_s += thread_cpu_s() - before;
}

TRUTH_FUNCTION void descend(int depth, Work work, std::uint64_t rounds, double* spent_s) {
  if (depth == 0) {
    timed_slice(work, rounds, spent_s);
  } else {
    descend(depth - 1, work, rounds, spent_s);
  }
  asm volatile("" ::: "memory");  // keeps work after the call above, so that it is not a tail call
}

struct Answer {
  std::string name;
  double cpu_s = 0;
  std::array<double, kFunctions.size()> spent_s{};
};

static void run_thread(const char* name, std::uint64_t seed, double seconds, Answer& answer) {
  pthread_setname_np(pthread_self(), name);
  answer.name = name;
  std::uint64_t random = seed;
  const auto next = [&random](std::uint64_t below) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (random >> 33) % below;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    int draw = static_cast<int>(next(100));
    std::size_t chosen = 0;
    while (draw >= kFunctions[chosen].share) draw -= kFunctions[chosen++].share;
    const Function& function = kFunctions[chosen];
    descend(function.depth, function.work, 20'000 + next(200'000), &answer.spent_s[chosen]);
  }
  answer.cpu_s = thread_cpu_s();
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  std::array<Answer, 2> answers;
  std::thread one([&] { run_thread("truth-one", 17, seconds, answers[0]); });
  std::thread two([&] { run_thread("truth-two", 4711, seconds, answers[1]); });
  one.join();
  two.join();

  std::printf("{\"cpu_s\": %.6f, \"functions\": {", process_cpu_s());
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    std::printf("%s\"%s\": %.6f", i == 0 ? "" : ", ", kFunctions[i].name,
                answers[0].spent_s[i] + answers[1].spent_s[i]);
  }
  std::printf("}, \"threads\": {");
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::printf("%s\"%s\": %.6f", i == 0 ? "" : ", ", answers[i].name.c_str(), answers[i].cpu_s);
  }
  std::printf("}}\n");
  return 0;
}
