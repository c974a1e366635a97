/* Bit file: a mask with a bit for each element. */
#include "cli/bit_file.h"

#include <inttypes.h>
#include "cli/message.h"

static redtune_status ends_early(const rdt_element_file *file, uint64_t lacking,
                                 redtune_error *err) {
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "cannot read the bits of %.200s: %" PRIu64 " of those that the elements "
                           "need are not there; give a longer file, or another --where-offset",
                           file->path, lacking);
}

/* Of the bits that are not held: passes over `first`, and reads the next ones. */
static redtune_status pass_over(rdt_bit_file *bits, uint64_t first, redtune_error *err) {
    size_t length = 0;
    redtune_status status =
        first >= 8 ? rdt_element_file_skip(bits->file, first / 8, err) : REDTUNE_OK;
    if (!status && bits->left)
        status = rdt_element_file_read(bits->file, bits->bytes, sizeof bits->bytes, &length, err);
    bits->at = (size_t)(first % 8);
    bits->end = 8 * length;
    return status;
}

redtune_status rdt_bit_file_begin(rdt_bit_file *bits, rdt_element_file *file, uint64_t first,
                                  uint64_t count, redtune_error *err) {
    const uint64_t known = 8 * file->count; /* 0: of a pipe */
    bits->file = file;
    bits->left = count;
    bits->at = bits->end = 0;
    if (known && (first > known || known - first < count))
        return ends_early(file, first > known ? count : count - (known - first), err);
    return pass_over(bits, first, err);
}

redtune_status rdt_bit_file_take_part(rdt_bit_file *bits, uint64_t first, uint64_t count,
                                      redtune_error *err) {
    const uint64_t held = bits->end - bits->at;
    bits->left = count;
    if (first > held) return pass_over(bits, first - held, err);
    bits->at += (size_t)first;
    return REDTUNE_OK;
}

redtune_status rdt_bit_file_read(void *user, void *buffer, size_t capacity, size_t *bytes,
                                 redtune_error *err) {
    rdt_bit_file *bits = user;
    unsigned char *to = buffer;
    const size_t wanted = capacity < bits->left ? capacity : (size_t)bits->left;
    for (size_t i = 0; i < wanted; i++) {
        if (bits->at >= bits->end) {
            size_t length = 0;
            redtune_status status =
                rdt_element_file_read(bits->file, bits->bytes, sizeof bits->bytes, &length, err);
            if (status) return status;
            if (!length) return ends_early(bits->file, bits->left - i, err);
            bits->at = 0;
            bits->end = 8 * length;
        }
        to[i] = bits->bytes[bits->at / 8] >> bits->at % 8 & 1;
        bits->at++;
    }
    bits->left -= wanted;
    *bytes = wanted;
    return REDTUNE_OK;
}
