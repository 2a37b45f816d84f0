/* A neighbour for `benchmarks/caches.py`: it walks a buffer, or only waits, and tells its CPU time as it goes.
 *
 * neighbour CORE BYTES FILE: stay on CORE; write to one cache line of BYTES after the other, for ever, and the
 * CPU seconds had so far as a double into FILE. With 0 bytes it executes `pause`, which leaves the caches and
 * most of a shared core to the other thread, and keeps everybody else off this one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LINE 64
#define STEPS 1024 /* between two looks at the clock: some ten microseconds */

static void wait_a_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    size_t bytes = strtoull(arguments[2], NULL, 10), at = 0;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(atoi(arguments[1]), &cores);
    int file = open(arguments[3], O_RDWR);
    volatile double *told = mmap(NULL, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    volatile char *buffer = malloc(bytes + LINE);
    if (sched_setaffinity(0, sizeof cores, &cores) || told == MAP_FAILED || !buffer) return 2;
    memset((char *)buffer, 1, bytes);
    for (;;) {
        for (int step = 0; step < STEPS; step++) {
            if (bytes) {
                buffer[at]++;
                at = at + LINE < bytes ? at + LINE : 0;
            } else {
                wait_a_moment();
            }
        }
        struct timespec used;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        *told = used.tv_sec + used.tv_nsec / 1e9;
    }
}
