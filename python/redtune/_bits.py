"""Bits: masks with a bit for each element, such as the validity of Arrow's arrays."""

from . import _checks


class bits:
    """A mask of bits for where=: element i of x is there if bit offset + i is 1, from the lowest bit
    of the first byte on; x's elements are counted in C order.

    buffer: bytes, anything with Python's buffer protocol, such as a pyarrow.Buffer, or an array of
        uint8 on a GPU; or an array of Arrow's, whose validity and offset these are.
    offset: how many bits come before that of the first element.

    >>> redtune.sum(numpy.array([1, 2, 3], dtype="f4"), where=redtune.bits(bytes([5])))
    np.float32(4.0)
    """

    __slots__ = ("_buffer", "_first")

    def __init__(self, buffer, offset=0):
        import numpy

        self._first = _checks.whole(offset, "offset")
        if hasattr(buffer, "buffers") and hasattr(buffer, "offset"):  # an array of Arrow's
            validity = buffer.buffers()[0]
            self._first += buffer.offset
            count = (self._first + len(buffer) + 7) // 8
            buffer = numpy.full(count, 255, "u1") if validity is None else validity
        if str(getattr(buffer, "dtype", "")) in ("bool", "torch.bool"):
            raise TypeError(
                "cannot take bits from an array of bools; give the array itself as where"
            )
        try:
            buffer = numpy.frombuffer(buffer, "u1")
        except (TypeError, BufferError):  # an array of a GPU
            pass
        except ValueError:
            if len(buffer):
                raise
            buffer = numpy.empty(0, "u1")
        self._buffer = buffer

    def _bools(self, shape):
        """Bools of that shape, of a buffer of the host that has as many bits."""
        import numpy

        count = int(numpy.prod(shape, dtype="i8"))
        low, first = divmod(self._first, 8)
        raw = numpy.asarray(self._buffer).view("u1")[low : (self._first + count + 7) // 8]
        found = numpy.unpackbits(raw, count=first + count, bitorder="little")[first:]
        return found.view(bool).reshape(shape)
