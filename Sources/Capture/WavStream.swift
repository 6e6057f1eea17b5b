import CSndFile

/// How libsndfile is made to decode exactly what a `WavLayout` found, and nothing else.
extension WavLayout {
  /// Plain samples need no header: libsndfile is told what they are. nil for the packed codecs.
  var raw: SndFileReader.Raw? {
    let subtype: Int
    switch format.encoding {
    case .u8: subtype = SF_FORMAT_PCM_U8
    case .s16: subtype = SF_FORMAT_PCM_16
    case .s24: subtype = SF_FORMAT_PCM_24
    case .s32: subtype = SF_FORMAT_PCM_32
    case .float32: subtype = SF_FORMAT_FLOAT
    case .float64: subtype = SF_FORMAT_DOUBLE
    case .alaw: subtype = SF_FORMAT_ALAW
    case .ulaw: subtype = SF_FORMAT_ULAW
    case .imaADPCM, .microsoftADPCM, .gsm: return nil
    }
    return SndFileReader.Raw(subtype: subtype, rate: format.rate, channels: format.channels)
  }

  /// The samples' window of the file, behind a header of our own where the codec needs one.
  func stream(of file: ByteFile) -> WindowStream {
    var bytes = dataBytes
    var head: [UInt8] = []
    if format.isPacked {
      bytes = min(bytes, 0xFFFF_0000)  // what a WAV header can state: 24 h at the least
      head = canonicalHead(bytes: UInt32(bytes))
    }
    return WindowStream(file, head: head, window: dataOffset..<(dataOffset + bytes))
  }

  private func canonicalHead(bytes: UInt32) -> [UInt8] {
    func field(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    let chunk = format.chunk.count % 2 == 0 ? format.chunk : format.chunk + [0]
    let riff = UInt32(4 + 8 + chunk.count + 8) + bytes
    return Array("RIFF".utf8) + field(riff) + Array("WAVEfmt ".utf8) + field(UInt32(chunk.count)) + chunk
      + Array("data".utf8) + field(bytes)
  }
}
