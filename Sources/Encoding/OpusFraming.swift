/// Whether the lengths inside an audio packet hold, so that a decoder takes it. Nothing is decoded.
///
/// - Parameters:
///   - packet: as it lies in the Ogg stream.
///   - streams: Opus packets in it, by the head; all but the last are self-delimiting.
/// - Complexity: O(streams and their frames).
/// - Source: RFC 6716 sections 3.2 to 3.4 and appendix B; RFC 7845 section 3: all streams are equally long.
public func opusPacketIsWhole(_ packet: Span<UInt8>, streams: Int) -> Bool {
  var at = 0
  var duration: Int?
  for stream in 0..<streams {
    guard let frames = passOpusPacket(packet, from: &at, delimited: stream < streams - 1),
      duration == nil || frames == duration
    else { return false }
    duration = frames
  }
  return duration != nil && at == packet.count
}

/// Bytes that one frame may take: RFC 6716 section 3.4, R2.
private let longestOpusFrame = 1_275

/// Steps behind one packet.
///
/// - Parameter delimited: it says its own length; else it takes all that is left.
/// - Returns: 48 kHz samples it lasts; nil where its lengths don't hold.
private func passOpusPacket(_ bytes: Span<UInt8>, from at: inout Int, delimited: Bool) -> Int? {
  guard at < bytes.count else { return nil }
  let toc = bytes[at]
  at += 1
  let frame = opusFrameSamples(toc)
  switch toc & 3 {
  case 0, 1:
    let count = Int(toc & 3) + 1
    return passEqual(bytes, &at, count: count, padding: 0, delimited: delimited) ? count * frame : nil
  case 2:
    guard let first = opusLength(bytes, &at) else { return nil }
    return passUnequal(bytes, &at, known: first, padding: 0, delimited: delimited) ? 2 * frame : nil
  default:
    guard at < bytes.count else { return nil }
    let shape = bytes[at]
    at += 1
    let count = Int(shape & 63)
    guard count > 0, count * frame <= 5_760 else { return nil }
    var padding = 0
    if shape & 64 != 0 {
      var more = true
      while more {
        guard at < bytes.count else { return nil }
        more = bytes[at] == 255
        padding += more ? 254 : Int(bytes[at])
        at += 1
      }
    }
    if shape & 128 == 0 {
      return passEqual(bytes, &at, count: count, padding: padding, delimited: delimited)
        ? count * frame : nil
    }
    var known = 0
    for _ in 1..<count {
      guard let length = opusLength(bytes, &at) else { return nil }
      known += length
    }
    return passUnequal(bytes, &at, known: known, padding: padding, delimited: delimited)
      ? count * frame : nil
  }
}

/// Frames of one length, which is stated only in a delimited packet.
private func passEqual(
  _ bytes: Span<UInt8>, _ at: inout Int, count: Int, padding: Int, delimited: Bool
) -> Bool {
  if delimited {
    guard let length = opusLength(bytes, &at) else { return false }
    at += count * length + padding
    return at <= bytes.count
  }
  let left = bytes.count - at - padding
  at = bytes.count
  return left >= 0 && left % count == 0 && left / count <= longestOpusFrame
}
/// Frames whose lengths are stated, but for the last one's, which is stated only in a delimited packet.
private func passUnequal(
  _ bytes: Span<UInt8>, _ at: inout Int, known: Int, padding: Int, delimited: Bool
) -> Bool {
  if delimited {
    guard let last = opusLength(bytes, &at) else { return false }
    at += known + last + padding
    return at <= bytes.count
  }
  let left = bytes.count - at - padding - known
  at = bytes.count
  return (0...longestOpusFrame).contains(left)
}
/// RFC 6716 section 3.2.1.
private func opusLength(_ bytes: Span<UInt8>, _ at: inout Int) -> Int? {
  guard at < bytes.count else { return nil }
  let first = Int(bytes[at])
  at += 1
  guard first >= 252 else { return first }
  guard at < bytes.count else { return nil }
  at += 1
  return first + 4 * Int(bytes[at - 1])
}
/// 48 kHz samples of each frame: RFC 6716 section 3.1, table 2.
private func opusFrameSamples(_ toc: UInt8) -> Int {
  let config = Int(toc >> 3)
  if config < 12 { return [480, 960, 1_920, 2_880][config & 3] }
  if config < 16 { return config & 1 == 0 ? 480 : 960 }
  return 120 << (config & 3)
}

/// Packets of digital silence, for the place of audio that is lost.
///
/// Each stream gets CELT's silence frame, which every decoder plays as zeros after the overlap with what came before.
/// A packet without a frame would be shorter, but libopus invents noise for it and ffmpeg doesn't.
/// Source: RFC 6716 section 4.3: the first symbol is the silence flag; config 28 to 31 are 2.5 to 20 ms of fullband.
public enum OpusSilence {
  /// What a hole's length is rounded to, 48 kHz samples: the shortest frame.
  public static let grain: Int64 = 120

  /// 20 ms of one stream of one channel.
  public static let monoPacket: [UInt8] = [31 << 3, 0xFF, 0xFE]

  /// The longest packet that lasts at most `samples`, of 20, 10, 5 or 2.5 ms.
  ///
  /// - Parameter samples: `grain` or more.
  public static func packet(atMost samples: Int64, _ head: OpusHead) -> (bytes: [UInt8], frames: Int) {
    var size: UInt8 = 3
    while size > 0, Int64(120) << size > samples { size -= 1 }
    var bytes: [UInt8] = []
    for stream in 0..<head.streams {
      bytes.append((28 + size) << 3 | (stream < head.coupledStreams ? 4 : 0))
      if stream < head.streams - 1 { bytes.append(2) }  // its length: RFC 6716 appendix B
      bytes += [0xFF, 0xFE]
    }
    return (bytes, 120 << Int(size))
  }
}
