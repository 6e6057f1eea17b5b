import CSndFile
import Glibc

/// Owns one libsndfile handle that reads from a `WindowStream`. Keep it on one thread at a time.
@safe final class SndFileReader {
  /// What to tell libsndfile of samples without a header.
  struct Raw {
    var subtype: Int
    var rate: Int
    var channels: Int
  }

  /// What samples are handed on as. Those of 16 bits are cheaper as they are than through libsndfile's floats, and the same.
  enum StoredSample { case float32, s16 }

  let rate: Int
  let channels: Int
  /// nil where the file doesn't tell.
  let statedFrames: Int64?
  private let format: Int32
  private let handle: OpaquePointer  // closed once, in deinit
  private let stream: WindowStream  // the handle points at it

  init(_ stream: WindowStream, raw: Raw? = nil) throws(SourceError) {
    self.stream = stream
    var info = SF_INFO()
    if let raw {
      info.samplerate = Int32(raw.rate)
      info.channels = Int32(raw.channels)
      info.format = Int32(SF_FORMAT_RAW | raw.subtype | SF_ENDIAN_LITTLE)
    }
    var calls = SndFileReader.callbacks
    guard let opened = unsafe sf_open_virtual(&calls, Int32(SFM_READ), &info, stream.address) else {
      if stream.failure != 0 { throw .io(stream.failure) }
      let reason = unsafe SndFileReader.line(sf_strerror(nil))
      throw .unreadable("no audio could be found in it (\(reason))")
    }
    unsafe handle = opened
    format = info.format
    rate = Int(info.samplerate)
    channels = Int(info.channels)
    statedFrames = (0..<Int64.max).contains(info.frames) ? info.frames : nil
  }
  deinit { unsafe sf_close(handle) }

  /// Decodes up to `frames` interleaved frames, as floats or as they are stored; 0 at the end or where nothing more can be decoded.
  ///
  /// - Throws: `io` where the kernel failed, `read` where libsndfile says what is wrong. It often doesn't: compare
  ///   the frames delivered with `statedFrames`.
  func read(
    into samples: UnsafeMutableRawPointer, frames: Int, as stored: StoredSample
  ) throws(SourceError) -> Int {
    let wanted = sf_count_t(frames)
    let got =
      switch stored {
      case .float32:
        unsafe Int(sf_readf_float(handle, samples.assumingMemoryBound(to: Float.self), wanted))
      case .s16: unsafe Int(sf_readf_short(handle, samples.assumingMemoryBound(to: Int16.self), wanted))
      }
    if got > 0 { return got }
    if stream.failure != 0 { throw .io(stream.failure) }
    if unsafe sf_error(handle) != SF_ERR_NO_ERROR {
      let reason = unsafe SndFileReader.line(sf_strerror(handle))
      throw .read(reason)
    }
    return 0
  }

  /// Goes to a frame.
  ///
  /// - Returns: false where libsndfile can't, as behind the end.
  func seek(to frame: Int64) -> Bool { unsafe sf_seek(handle, frame, Int32(SEEK_SET)) == frame }

  /// Such as "FLAC" and "s16", from libsndfile's codes.
  var names: (container: String, sample: String) {
    let container: String
    switch Int(format) & Int(SF_FORMAT_TYPEMASK) {
    case Int(SF_FORMAT_WAV), Int(SF_FORMAT_WAVEX): container = "WAV"
    case Int(SF_FORMAT_AIFF): container = "AIFF"
    case Int(SF_FORMAT_AU): container = "AU"
    case Int(SF_FORMAT_W64): container = "W64"
    case Int(SF_FORMAT_RF64): container = "RF64"
    case Int(SF_FORMAT_FLAC): container = "FLAC"
    case Int(SF_FORMAT_CAF): container = "CAF"
    case Int(SF_FORMAT_OGG): container = "Ogg"
    case Int(SF_FORMAT_MPEG): container = "MP3"
    default: container = "other"
    }
    let sample: String
    switch Int(format) & Int(SF_FORMAT_SUBMASK) {
    case Int(SF_FORMAT_PCM_S8): sample = "s8"
    case Int(SF_FORMAT_PCM_U8): sample = "u8"
    case Int(SF_FORMAT_PCM_16): sample = "s16"
    case Int(SF_FORMAT_PCM_24): sample = "s24"
    case Int(SF_FORMAT_PCM_32): sample = "s32"
    case Int(SF_FORMAT_FLOAT): sample = "f32"
    case Int(SF_FORMAT_DOUBLE): sample = "f64"
    case Int(SF_FORMAT_ULAW): sample = "ulaw"
    case Int(SF_FORMAT_ALAW): sample = "alaw"
    case Int(SF_FORMAT_IMA_ADPCM): sample = "ima_adpcm"
    case Int(SF_FORMAT_MS_ADPCM): sample = "ms_adpcm"
    case Int(SF_FORMAT_GSM610): sample = "gsm"
    case Int(SF_FORMAT_VORBIS): sample = "vorbis"
    case Int(SF_FORMAT_OPUS): sample = "opus"
    case Int(SF_FORMAT_MPEG_LAYER_I): sample = "mp1"
    case Int(SF_FORMAT_MPEG_LAYER_II): sample = "mp2"
    case Int(SF_FORMAT_MPEG_LAYER_III): sample = "mp3"
    default: sample = "other"
    }
    return (container, sample)
  }

  /// C text as one line without the full stop.
  private static func line(_ text: UnsafePointer<CChar>?) -> String {
    guard let text = unsafe text else { return "no reason given" }
    let whole = unsafe String(cString: text)
    var line = String(whole.map { $0.isNewline ? " " : $0 })
    while let last = line.last, last == " " || last == "." { line.removeLast() }
    return line
  }

  private static var callbacks: SF_VIRTUAL_IO {
    unsafe SF_VIRTUAL_IO(
      get_filelen: { unsafe WindowStream.at($0)?.size ?? 0 },
      seek: { offset, whence, address in
        guard let stream = unsafe WindowStream.at(address) else { return -1 }
        return stream.seek(to: offset, whence: whence) ? stream.position : -1
      },
      read: { bytes, count, address in
        guard let stream = unsafe WindowStream.at(address), let bytes = unsafe bytes, count > 0 else {
          return 0
        }
        return sf_count_t(
          unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))))
      },
      write: { _, _, _ in 0 },
      tell: { unsafe WindowStream.at($0)?.position ?? 0 })
  }
}
