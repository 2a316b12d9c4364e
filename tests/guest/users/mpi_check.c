/* SPDX-License-Identifier: BSD-2-Clause */
/* Two or more ranks: ping-pong with compare, allreduce with compare, one-sided put with compare. Prints half the round trip of each size. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (4 << 20)

static int bad;

static uint8_t pattern(size_t i, unsigned seed)
{
	return (uint8_t)((i * 2654435761u + seed * 40503u) >> 13);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i, seed);
}

static void compare(const char *what, const uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != pattern(i, seed)) {
			printf("%s of %zu bytes: byte %zu is wrong\n", what, n, i);
			bad++;
			return;
		}
	}
}

static void pingpong(int rank, uint8_t *buf, size_t size, int rounds)
{
	double start = MPI_Wtime();

	for (int i = 0; i < rounds; i++) {
		unsigned there = 2u * (unsigned)i + (unsigned)size, back = there + 1;

		if (rank == 0) {
			fill(buf, size, there);
			MPI_Send(buf, (int)size, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
			memset(buf, 0, size);
			MPI_Recv(buf, (int)size, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			compare("pong", buf, size, back);
		} else if (rank == 1) {
			memset(buf, 0, size);
			MPI_Recv(buf, (int)size, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			compare("ping", buf, size, there);
			fill(buf, size, back);
			MPI_Send(buf, (int)size, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
		}
	}
	if (rank == 0)
		printf("%zu B: %.1f us; ", size, (MPI_Wtime() - start) / rounds / 2 * 1e6);
}

static void allreduce(int rank, int ranks, int count)
{
	int64_t *in = malloc((size_t)count * sizeof(*in)), *out = calloc((size_t)count, sizeof(*out));

	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int i = 0; i < count; i++)
		in[i] = (int64_t)i * (rank + 1);
	MPI_Allreduce(in, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++) {
		if (out[i] != (int64_t)i * ranks * (ranks + 1) / 2) {
			printf("allreduce of %d: element %d is wrong\n", count, i);
			bad++;
			break;
		}
	}
	free(in);
	free(out);
}

static void put(int rank, uint8_t *buf, size_t size)
{
	uint8_t *mem;
	MPI_Win win;

	MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	MPI_Win_fence(0, win);
	fill(buf, size, 99);
	if (rank == 0)
		MPI_Put(buf, (int)size, MPI_BYTE, 1, 0, (int)size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	if (rank == 1)
		compare("put", mem, size, 99);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 0, 1, 1024, 65536, 1 << 20, LARGEST };
	uint8_t *buf = malloc(LARGEST);
	int rank, ranks, all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks < 2 || !buf) {
		fprintf(stderr, "needs two ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		pingpong(rank, buf, sizes[i], sizes[i] > 65536 ? 3 : 20);
	for (int count = 1; count <= 262144; count *= 64)
		allreduce(rank, ranks, count);
	put(rank, buf, 65536);
	MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("\n%d ranks, data %s\n", ranks, all ? "wrong" : "right");
	MPI_Finalize();
	free(buf);
	return all != 0;
}
