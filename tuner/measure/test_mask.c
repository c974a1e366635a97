/* Test mask: the mask beside the test data of problems along any axes. */
#include "tuner/measure/test_mask.h"

#include "base/random.h"

enum { PERIOD = RDT_TEST_MASK_PERIOD, ABSENT_FROM = 1000, ABSENT_TO = 1200 };

static unsigned draw_byte(uint64_t n) {
    rdt_random random = {n % PERIOD};
    return (unsigned)rdt_random_below(&random, 255 * 3);
}

bool rdt_test_mask_has(uint64_t n) {
    const uint64_t at = n % PERIOD;
    return (at < ABSENT_FROM || at >= ABSENT_TO) && draw_byte(n) % 3 != 0;
}

/* Any byte that is not 0 says that an element is there. A bit's period in bytes is as long, since
 * it is odd. */
static void fill_period(bool bits, unsigned char period[PERIOD]) {
    for (uint64_t n = 0; n < PERIOD; n++) period[n] = 0;
    for (uint64_t n = 0; n < (bits ? 8 * (uint64_t)PERIOD : PERIOD); n++) {
        if (!rdt_test_mask_has(n)) continue;
        if (bits)
            period[n / 8] |= (unsigned char)(1u << n % 8);
        else
            period[n] = (unsigned char)(1 + draw_byte(n) / 3);
    }
}

redtune_status rdt_test_mask_open(const rdt_driver *driver, CUstream stream, redtune_mask mask,
                                  uint64_t elements, rdt_test_mask *out, redtune_error *err) {
    unsigned char period[PERIOD];
    const uint64_t bytes = elements > PERIOD ? elements : PERIOD;
    rdt_test_mask self = {.bits = rdt_problem_mask_bits(mask)};
    fill_period(self.bits, period);
    redtune_status status = rdt_buffer_create(driver, bytes, &self.buffer, err);
    if (!status)
        status = rdt_buffer_write(driver, self.buffer.address, period, PERIOD, stream, err);
    if (!status)
        status = rdt_buffer_repeat(driver, self.buffer.address, PERIOD, bytes, stream, err);
    if (status)
        rdt_test_mask_close(&self);
    else
        *out = self;
    return status;
}

void rdt_test_mask_close(rdt_test_mask *mask) { rdt_buffer_destroy(&mask->buffer); }

uint64_t rdt_test_mask_place(const rdt_test_mask *mask, uint64_t n) {
    return mask->bits ? mask->buffer.address * 8 + n : mask->buffer.address + n;
}
