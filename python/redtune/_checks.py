"""Checks: what a caller gives where a number or a text is wanted, before it goes to C++."""

import math
import operator


def _refused(value, name, wanted):
    return f"cannot take {name}={repr(value)[:80]}: give {wanted}"


def whole(value, name, most=2**63 - 1):
    """A number from 0 to most, of any type that is one of integers."""
    wanted = f"a whole number from 0 to {most}"
    if isinstance(value, bool):
        raise TypeError(_refused(value, name, wanted))
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(_refused(value, name, wanted)) from None
    if not 0 <= number <= most:
        raise ValueError(_refused(value, name, wanted))
    return number


def seconds(value, name):
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(_refused(value, name, "a number of seconds")) from None
    if not 0 <= number < math.inf:
        raise ValueError(_refused(value, name, "a number of seconds, 0 or more"))
    return number


def text(value, name, wanted="a text"):
    """A text as C takes it: of UTF-8, without a character of 0."""
    if not isinstance(value, str):
        raise TypeError(_refused(value, name, wanted))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(_refused(value, name, wanted + " in UTF-8")) from None
    if "\0" in value:
        raise ValueError(_refused(value, name, wanted + " without a character of 0"))
    return value


def missing(module, name, names):
    """The text of an AttributeError, with the nearest name that there is."""
    import difflib  # which takes longer to import than all of the package

    near = difflib.get_close_matches(name, names, 1)
    also = f"; did you mean {near[0]}?" if near else ""
    return f"module '{module}' has no attribute '{name}'{also}"
