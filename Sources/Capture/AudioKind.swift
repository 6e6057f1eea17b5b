/// What a file is, by its first bytes. Pure.
enum AudioKind {
  /// Where the format that we know begins, behind any ID3 tags; 0 where libsndfile shall see the tags itself.
  static func start(of source: ByteSource) throws(SourceError) -> Int64 {
    var start: Int64 = 0
    for _ in 0..<4 {
      let head = try source.read(start, 16)
      if head.holds("fLaC") || head.holds("OggS") { return start }
      guard let length = lengthOfID3(head) else { return 0 }
      start += length
    }
    return 0
  }

  /// Whether an MP3 file states its length in its first packet.
  static func hasXingHead(_ source: ByteSource) throws(SourceError) -> Bool {
    let tag = lengthOfID3(try source.read(0, 16)) ?? 0
    let bytes = try source.read(tag, 2_048)
    return bytes.indices.contains { bytes.holds("Xing", at: $0) || bytes.holds("Info", at: $0) }
  }

  /// Bytes of an ID3v2 tag with its head, where one begins.
  static func lengthOfID3(_ head: [UInt8]) -> Int64? {
    guard head.count >= 10, head.holds("ID3"), head[3] < 0xFF, head[4] < 0xFF,
      head[6...9].allSatisfy({ $0 < 0x80 })
    else { return nil }
    let body = head[6...9].reduce(Int64(0)) { $0 << 7 | Int64($1) }
    return 10 + body + (head[5] & 0x10 == 0 ? 0 : 10)
  }

  /// Formats that nobody here reads, by name, so that the person knows what to do.
  static func foreign(_ head: [UInt8]) -> String? {
    let name: String
    if head.holds("ftyp", at: 4) {
      name = "an MP4 or M4A file"
    } else if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
      name = "a Matroska or WebM file"
    } else if head.holds("RIFF"), head.holds("AVI ", at: 8) {
      name = "an AVI file"
    } else if head.starts(with: [0x30, 0x26, 0xB2, 0x75]) {
      name = "a Windows Media file"
    } else if head.holds("#!AMR") {
      name = "an AMR file"
    } else {
      return nil
    }
    return "it is \(name), which can't be read; convert it to WAV, FLAC or Opus first"
  }

  static func contentType(_ names: (container: String, sample: String)) -> String {
    switch names.container {
    case "WAV", "RF64", "W64": "audio/wav"
    case "FLAC": "audio/flac"
    case "AIFF": "audio/aiff"
    case "AU": "audio/basic"
    case "CAF": "audio/x-caf"
    case "MP3": "audio/mpeg"
    case "Ogg": "audio/ogg; codecs=\(names.sample == "s16" || names.sample == "s24" ? "flac" : names.sample)"
    default: "application/octet-stream"
    }
  }
}
