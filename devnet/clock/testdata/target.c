// Reads the clock in several threads, in the three ways of C, and holds each value
// against the kernel's, asked before and after by system call. Arguments: pairs of
// allowed offsets in nanoseconds, least and most. Ends when standard input does. Without arguments it
// measures what a call of the clock costs that each byte of its input names.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAY 16
#define SECOND 1000000000LL

static long long lo[MAY], hi[MAY];
static int may;
static atomic_llong seen[MAY], calls;
static atomic_int over, faults;
static char wrong[10][200];

static long long raw(int clock) {
	struct timespec ts;
	syscall(SYS_clock_gettime, clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void explain(const char *what, long long before, long long least, long long most, long long after) {
	int at = -1;
	for (int i = 0; i < may; i++)
		if (before + lo[i] <= most && least <= after + hi[i])
			at = i;
	atomic_fetch_add(&calls, 1);
	if (at >= 0) {
		atomic_fetch_add(&seen[at], 1);
		return;
	}
	int n = atomic_fetch_add(&faults, 1);
	if (n < 10)
		snprintf(wrong[n], sizeof wrong[n], "%s %lld to %lld between %lld and %lld", what, least, most, before, after);
}

static void *reader(void *arg) {
	(void)arg;
	while (!atomic_load(&over)) {
		for (int n = 0; n < 8; n++) {
			struct timespec ts;
			struct timeval tv;
			long long before = raw(CLOCK_REALTIME);
			int r = clock_gettime(CLOCK_REALTIME, &ts);
			long long after = raw(CLOCK_REALTIME);
			long long v = ts.tv_sec * SECOND + ts.tv_nsec;
			if (r || ts.tv_nsec < 0 || ts.tv_nsec >= SECOND)
				v = 0;
			explain("clock_gettime", before, v, v, after);

			before = raw(CLOCK_REALTIME);
			r = gettimeofday(&tv, NULL);
			after = raw(CLOCK_REALTIME);
			v = tv.tv_sec * SECOND + tv.tv_usec * 1000;
			if (r || tv.tv_usec < 0 || tv.tv_usec >= 1000000)
				v = 0;
			explain("gettimeofday", before, v, v + 999, after);

			before = raw(CLOCK_REALTIME_COARSE);
			time_t t = time(NULL);
			after = raw(CLOCK_REALTIME);
			explain("time", before, t * SECOND, t * SECOND + SECOND - 1, after);

			long long m = raw(CLOCK_MONOTONIC);
			clock_gettime(CLOCK_MONOTONIC, &ts);
			v = ts.tv_sec * SECOND + ts.tv_nsec;
			if (v < m || v > raw(CLOCK_MONOTONIC))
				explain("monotonic", m, 0, 0, m);
		}
		usleep(1000);
	}
	return NULL;
}

// The least time of a call, in nanoseconds, over some rounds.
static double cost(int clock) {
	double best = 1e9;
	for (int round = 0; round < 20; round++) {
		struct timespec ts;
		long long begin = raw(CLOCK_MONOTONIC);
		for (int i = 0; i < 100000; i++)
			clock_gettime(clock, &ts);
		double ns = (raw(CLOCK_MONOTONIC) - begin) / 100000.0;
		if (ns < best)
			best = ns;
	}
	return best;
}

int main(int argc, char **argv) {
	pthread_t threads[4];
	char c[16];
	for (int i = 1; i + 1 < argc && may < MAY; i += 2, may++) {
		lo[may] = atoll(argv[i]);
		hi[may] = atoll(argv[i + 1]);
	}
	for (int i = 0; may && i < 4; i++)
		pthread_create(&threads[i], NULL, reader, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, c, 1) > 0) { // without offsets: a clock whose cost is asked
		printf("%.1f\n", cost(c[0] - '0'));
		fflush(stdout);
	}
	if (!may)
		return 0;
	atomic_store(&over, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("{\"Calls\":%lld,\"Wrong\":[", (long long)calls);
	for (int i = 0; i < faults && i < 10; i++)
		printf("%s\"%s\"", i ? "," : "", wrong[i]);
	printf("],\"Seen\":[");
	for (int i = 0; i < may; i++)
		printf("%s%lld", i ? "," : "", (long long)seen[i]);
	puts("]}");
	return 0;
}
