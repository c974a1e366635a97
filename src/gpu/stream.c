/* Stream: an order of work on the GPU. */
#include "gpu/stream.h"

redtune_status rdt_stream_create(const rdt_driver *driver, CUstream *out, redtune_error *err) {
    CUstream stream = NULL;
    CUresult rc = driver->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    redtune_status status = rdt_driver_check(driver, rc, err, "create a stream");
    if (!status) *out = stream;
    return status;
}

void rdt_stream_destroy(const rdt_driver *driver, CUstream stream) {
    if (stream) driver->stream_destroy(stream);
}

redtune_status rdt_stream_wait(const rdt_driver *driver, CUstream stream, redtune_error *err) {
    return rdt_driver_check(driver, driver->stream_synchronize(stream), err,
                            "finish work on the GPU");
}
