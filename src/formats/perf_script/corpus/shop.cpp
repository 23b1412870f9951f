// For the corpus: a name with a template, a call that is inlined twice, a thread with a name of two words.
#include <pthread.h>
#include <cmath>
#include <functional>
#include <thread>
namespace shop {
inline double price(double x) {
  return std::sqrt(x) + 1;
}
inline double basket(double x) {
  return price(x) * price(x + 1);
}
template <class T>
[[gnu::noinline]] T add_up(T from, int count) {
  T sum = from;
  for (int i = 0; i < count; ++i) sum += basket(sum + i);
  return sum;
}
}  // namespace shop
static volatile double result;
__attribute__((noinline)) static void serve(int n) {
  result = shop::add_up<double>(1, n);
  asm volatile("");
}
int main() {
  std::thread helper([] {
    pthread_setname_np(pthread_self(), "cash desk 2");
    for (int i = 0; i < 40; ++i) serve(300000);
  });
  std::function<void()> f = [] { serve(12000000); };
  f();
  helper.join();
}
