import COpusFile

/// Decodes one Ogg Opus stream at 48 kHz and keeps its time line.
///
/// Frames lie where the granule positions put them: what is lost in the middle is filled with silence and told,
/// what comes twice is dropped. So the length is (last granule position - pre-skip), whatever is damaged.
/// Keep it on one thread at a time.
@safe final class OpusReader {
  let channels: Int
  /// Frames by the granule positions.
  let statedFrames: Int64
  private(set) var problems: [SourceProblem] = []

  private let handle: OpaquePointer  // freed once, in deinit
  private let stream: WindowStream  // the handle points at it
  private var decoded: [Float]  // the packet at hand, `decodedChannels` interleaved
  private var decodedChannels = 1
  private var first = 0  // frames of `decoded` that are still to be delivered
  private var last = 0
  private var silence: Int64 = 0  // frames still to fill in
  private var delivered: Int64 = 0
  private var shift: Int64 = 0  // frames of time line that were too many to fill
  private var dropped: Int64 = 0  // frames behind the time line since the last hole
  private var atHole = false
  private var faults = 0
  private var ended = false

  private static let packetFrames = 5_760  // 120 ms, the longest packet
  /// Longest loss that is filled; beyond it a granule position is more likely wrong than right.
  private static let mostSilence: Int64 = 600 * 48_000
  /// Positions that are off by less than this, without a loss, are a writer's rounding.
  private static let tolerance: Int64 = 2_880

  /// - Throws: `unreadable` with libopusfile's code in words, in `fault(_:)`.
  init(_ stream: WindowStream) throws(SourceError) {
    self.stream = stream
    var calls = unsafe OpusFileCallbacks(
      read: { address, bytes, count in
        guard let stream = unsafe WindowStream.at(address), let bytes = unsafe bytes, count > 0 else {
          return 0
        }
        let got = unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
        return got == 0 && stream.failure != 0 ? -1 : Int32(got)
      },
      seek: { address, offset, whence in
        guard let stream = unsafe WindowStream.at(address) else { return -1 }
        return stream.seek(to: offset, whence: whence) ? 0 : -1
      },
      tell: { unsafe WindowStream.at($0)?.position ?? -1 },
      close: nil)
    var code: Int32 = 0
    guard let opened = unsafe op_open_callbacks(stream.address, &calls, nil, 0, &code) else {
      if stream.failure != 0 { throw .io(stream.failure) }
      throw .unreadable(OpusReader.text(of: code))
    }
    unsafe handle = opened
    channels = Int(unsafe op_channel_count(opened, 0))
    statedFrames = max(0, unsafe op_pcm_total(opened, -1))
    decoded = [Float](repeating: 0, count: OpusReader.packetFrames * 8)
  }
  deinit { unsafe op_free(handle) }

  /// Writes up to `frames` frames with `channels` (the file's, not this stream's) interleaved; 0 at the end.
  ///
  /// - Parameter base: frames of the file before this stream, for the places of problems.
  func read(
    into samples: UnsafeMutablePointer<Float>, frames: Int, channels: Int, base: Int64
  ) throws(SourceError) -> Int {
    while true {
      if silence > 0 {
        let count = Int(min(Int64(frames), silence))
        unsafe samples.update(repeating: 0, count: count * channels)
        silence -= Int64(count)
        delivered += Int64(count)
        return count
      }
      if first < last {
        let count = min(frames, last - first)
        unsafe copy(count, into: samples, channels: channels)
        first += count
        delivered += Int64(count)
        return count
      }
      if ended { return 0 }
      try decodeNext(base: base)
    }
  }

  /// Gets the next packet's frames, and sees where on the time line they lie.
  private func decodeNext(base: Int64) throws(SourceError) {
    var link: Int32 = 0
    let room = Int32(decoded.count)
    let got = unsafe decoded.withUnsafeMutableBufferPointer {
      unsafe op_read_float(handle, $0.baseAddress, room, &link)
    }
    if stream.failure != 0 { throw .io(stream.failure) }
    let due = delivered + shift
    switch got {
    case OP_HOLE:
      atHole = true
    case ..<0:
      faults += 1
      atHole = true
      note(
        "packet_damaged", base + delivered, nil, "a packet couldn't be decoded (\(OpusReader.text(of: got)))")
      guard faults < 1_000, got == OP_EBADPACKET else {
        ended = true
        throw .read("the stream is damaged after \(base + delivered) frames (\(OpusReader.text(of: got)))")
      }
    case 0:
      ended = true
      if due < statedFrames { lose(statedFrames - due, base: base) }
    default:
      decodedChannels = max(1, Int(unsafe op_channel_count(handle, link)))
      let end = unsafe op_pcm_tell(handle)
      let start = end - Int64(got)
      first = 0
      last = Int(got)
      let off = start - due
      let slack = atHole ? 0 : OpusReader.tolerance
      if off > slack {
        lose(off, base: base)
      } else if off < -slack {
        first = Int(min(Int64(last), -off))
        dropped += Int64(first)
        if first == last { return }  // still at the hole, until the time line is met again
      }
      if dropped > 0 {
        note("overlap", base + delivered, dropped, "frames that came twice were dropped")
        dropped = 0
      } else if atHole, off <= 0 {
        note("hole", base + delivered, 0, "the stream is damaged here; no time is lost")
      }
      atHole = false
      // Without an end flag libopusfile doesn't trim the last packet.
      let left = statedFrames - (delivered + shift + silence)
      if Int64(last - first) > left { last = first + Int(max(0, left)) }
      if left <= 0 { ended = true }
    }
  }

  private func lose(_ frames: Int64, base: Int64) {
    let fills = frames <= OpusReader.mostSilence
    note(
      "audio_missing", base + delivered, frames,
      fills
        ? "audio is missing; silence stands in its place" : "audio is missing; the gap is too long to fill")
    if fills { silence = frames } else { shift += frames }
  }

  private func note(_ kind: String, _ frame: Int64, _ frames: Int64?, _ message: String) {
    guard problems.count < SourceLimits.problems else { return }
    problems.append(SourceProblem(kind: kind, atFrame: frame, frames: frames, message: message))
  }

  /// Mixes down to one channel, copies one to all, else keeps the first ones.
  private func copy(_ count: Int, into samples: UnsafeMutablePointer<Float>, channels: Int) {
    let from = decodedChannels
    for frame in 0..<count {
      let source = (first + frame) * from
      let target = frame * channels
      if channels == 1, from > 1 {
        var sum: Float = 0
        for channel in 0..<from { sum += decoded[source + channel] }
        unsafe samples[target] = sum / Float(from)
      } else {
        for channel in 0..<channels {
          unsafe samples[target + channel] =
            from == 1 ? decoded[source] : channel < from ? decoded[source + channel] : 0
        }
      }
    }
  }

  private static func text(of code: Int32) -> String {
    switch code {
    case OP_EREAD: "it couldn't be read"
    case OP_EIMPL: "its Opus stream uses a feature that isn't supported"
    case OP_ENOTFORMAT: "it has no Ogg Opus stream that begins whole"
    case OP_EBADHEADER: "a header packet of the Opus stream is damaged"
    case OP_EVERSION: "the Opus stream is of an unknown version"
    case OP_EBADPACKET: "a packet is damaged"
    case OP_EBADLINK: "a stream of the chain is damaged"
    case OP_EBADTIMESTAMP: "its time stamps are damaged"
    default: "libopusfile gives code \(code)"
    }
  }
}
