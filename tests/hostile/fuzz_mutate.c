/* How the fuzzer changes an input: mostly a few bytes in place, since a file whose length is not
 * what its header says is refused before anything of it is looked at. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t bytes_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed);

enum { PIECE_MAX = 16 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t bytes_max, unsigned seed) {
    uint8_t piece[PIECE_MAX];
    if (!bytes || seed % 8 == 0) return LLVMFuzzerMutate(data, bytes, bytes_max);
    size_t at = seed / 8 % bytes, length = 1 + seed / 7 % PIECE_MAX;
    if (length > bytes - at) length = bytes - at;
    memcpy(piece, data + at, length);
    memcpy(data + at, piece, LLVMFuzzerMutate(piece, length, length));
    return bytes;
}
