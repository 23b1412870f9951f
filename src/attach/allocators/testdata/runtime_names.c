/* Names as runtimes export them: WITH_JAVA, WITH_V8; and the section that the linker of Go writes: WITH_GO. */
#define EXPORTED __attribute__((visibility("default")))

#ifdef WITH_JAVA
EXPORTED int JNI_CreateJavaVM(void) {
  return 0;
}
EXPORTED void JVM_GC(void) {}
#endif

#ifdef WITH_V8
EXPORTED void isolate_new(void) __asm__("_ZN2v87Isolate3NewERKNS0_12CreateParamsE");
void isolate_new(void) {}
EXPORTED void isolate_dispose(void) __asm__("_ZN2v87Isolate7DisposeEv");
void isolate_dispose(void) {}
#endif

#ifdef WITH_GO
__attribute__((used, section(".go.buildinfo"))) static const char kBuildInfo[32] = "\xff Go buildinf:";
#endif
