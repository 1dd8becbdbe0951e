/* Segment registers by their number, in encodings of instructions and in the vcpu page alike. */
#ifndef VMM_SEGMENTS_H
#define VMM_SEGMENTS_H

enum { SEGMENT_ES, SEGMENT_CS, SEGMENT_SS, SEGMENT_DS, SEGMENT_FS, SEGMENT_GS, SEGMENT_LDTR, SEGMENT_TR, NUM_SEGMENT };

#endif
