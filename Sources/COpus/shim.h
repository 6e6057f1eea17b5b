// libopus for Swift. The ctl calls are variadic, which Swift can't import: one inline function each.
#pragma once
#include <opus.h>
#include <opus_multistream.h>

static inline int holdfast_opus_set_bitrate(OpusEncoder *e, opus_int32 v) { return opus_encoder_ctl(e, OPUS_SET_BITRATE(v)); }
static inline int holdfast_opus_set_vbr(OpusEncoder *e, opus_int32 v) { return opus_encoder_ctl(e, OPUS_SET_VBR(v)); }
static inline int holdfast_opus_set_complexity(OpusEncoder *e, opus_int32 v) { return opus_encoder_ctl(e, OPUS_SET_COMPLEXITY(v)); }
static inline int holdfast_opus_get_lookahead(OpusEncoder *e, opus_int32 *v) { return opus_encoder_ctl(e, OPUS_GET_LOOKAHEAD(v)); }
static inline int holdfast_opus_ms_reset(OpusMSDecoder *d) { return opus_multistream_decoder_ctl(d, OPUS_RESET_STATE); }
static inline int holdfast_opus_ms_set_gain(OpusMSDecoder *d, opus_int32 q8) { return opus_multistream_decoder_ctl(d, OPUS_SET_GAIN(q8)); }
static inline int holdfast_opus_decoder_reset(OpusDecoder *d) { return opus_decoder_ctl(d, OPUS_RESET_STATE); }
