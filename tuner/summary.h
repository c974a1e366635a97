/* Summary: what is kept of the timed samples of one candidate. */
#ifndef RDT_TUNER_SUMMARY_H
#define RDT_TUNER_SUMMARY_H

/* Sorts the count samples (at least one); gives their median, and half the distance between the
 * quartiles. */
void rdt_summary_of(double *samples, int count, double *median, double *spread);

#endif
