// Functions whose frames are made in every way that compilers make them, each calling `leaf` at the end.
// Compiled twice for self_unwind_test: with and without frame pointers.
#pragma once

using Leaf = void (*)(void*);

struct CallShapes {
  void (*recursion)(int depth, Leaf leaf, void* argument);
  void (*variable_size)(int size, Leaf leaf, void* argument);  // alloca
  void (*realigned)(int size, Leaf leaf, void* argument);      // 64-byte aligned locals and alloca
  void (*large)(Leaf leaf, void* argument);                    // a frame larger than a page
  void (*many_saved)(int value, Leaf leaf, void* argument);    // all callee-saved registers pushed
};

extern const CallShapes kWithFramePointer;
extern const CallShapes kWithoutFramePointer;
