/* Summary: what is kept of the timed samples of one candidate. */
#pragma once

/* Sorts the count samples (at least one); gives their median, and half the distance between the
 * quartiles. */
void rdt_summary_of(double *samples, int count, double *median, double *spread);
