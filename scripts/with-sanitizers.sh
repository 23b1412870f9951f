#!/usr/bin/env bash
# Runs a command with the required sanitizer options: scripts/with-sanitizers.sh COMMAND...
# Every exception is in tests/sanitizers/ with its reason.
set -euo pipefail
lists=$(realpath "$(dirname "$0")/../tests/sanitizers")
# The quotes are for the sanitizers: a path may have a space.
# Frames stay on the stack (no detect_stack_use_after_return): some tests look for what a thread has there.
export ASAN_OPTIONS="strict_string_checks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export LSAN_OPTIONS="suppressions='$lists/leaks.txt':print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
# Handlers of tests allocate on purpose, in threads of which they know where they stand.
export TSAN_OPTIONS="suppressions='$lists/threads.txt':halt_on_error=0:report_signal_unsafe=0${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
exec "$@"
