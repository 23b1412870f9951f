/* Functions of every common shape. Compiled with and without unwind tables: prologue_test makes rows from the
 * code of the one and compares them with the tables of the other, instruction by instruction. */

extern int external(const void*);

int leaf(int a, int b) {
  return a * b + 1;
}

int calls(int a) {
  int local[8] = {a};
  return external(local) + external(&a);
}

int early_return(int a, int b) {
  if (a == 0) return 1;
  int local[20] = {b};
  if (b > 3) return external(local);
  external(local + 3);
  return external(local) + a;
}

int many_registers(int a, int b, int c, int d, int e, int f) {
  int sum = external(&a);
  sum += external(&b) * a;
  sum += external(&c) * b;
  sum += external(&d) * c;
  sum += external(&e) * d;
  sum += external(&f) * e;
  return sum + f;
}

int recursion(int n) {
  return n < 2 ? n : recursion(n - 1) + recursion(n - 2);
}

int loops(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) sum += external(&k);
    if (sum > 1000) break;
  }
  return sum;
}

int large_frame(int n) {
  char room[70000];
  room[n] = 1;
  return external(room);
}

int variable_frame(int n) {
  char room[n];
  room[0] = 1;
  return external(room) + external(&n);
}

int switches(int a, int b) {
  int local[4] = {a, b};
  switch (a) {
    case 0:
      return external(local);
    case 1:
      return external(local + 1) * 3;
    case 2:
      external(local + 2);
      break;
    case 3:
      b += external(local + 3);
      break;
    case 4:
      b ^= external(&b);
      break;
    case 5:
      return b;
    case 6:
      return external(&a) + external(&b);
  }
  return external(local) + b;
}

int tail_call(int a) {
  return a > 3 ? external(&external) : leaf(a, 7);
}

long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h, long i) {
  return a + b * c + d * e + f + g * h + i;
}

long passes_on_the_stack(long a) {
  return many_arguments(a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7, a + 8) + external(&a);
}
