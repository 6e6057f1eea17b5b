/// Where the samples of a RIFF/WAVE or RF64 file lie, and what they are, found by walking the chunks ourselves.
///
/// libsndfile reads a killed recorder's file as empty, loses an unpadded chunk's successor, and takes 7 bit
/// samples for noise; what is decided here is what gets decoded. Pure: it only asks for a few bytes at an offset.
/// Memory and time are bounded whatever the header states.
public struct WavLayout: Sendable, Equatable {
  public private(set) var container = "WAV"
  public let format: WavFormat
  /// First byte of the first sample.
  public let dataOffset: Int64
  /// Bytes of samples that are really there, whole frames only.
  public let dataBytes: Int64
  /// Frames there; nil for packed codecs, whose decoder counts them.
  public let frames: Int64?
  /// Frames that the fact chunk states: exact where a packed codec fills its last block.
  public let factFrames: Int64?
  /// What is wrong with the header and doesn't stop the reading, in the order of the file.
  public let problems: [SourceProblem]

  /// Whether a file that begins so is one for this walk.
  public static func recognises(_ head: [UInt8]) -> Bool {
    (head.holds("RIFF") || head.holds("RF64") || head.holds("BW64")) && head.holds("WAVE", at: 8)
  }

  /// Walks the file.
  ///
  /// - Throws: `unreadable` with the fault; `io` where a read failed.
  public init(reading source: ByteSource) throws(SourceError) {
    var walk = WavWalk(source: source)
    let found = try walk.toData()
    if walk.isRF64 { container = "RF64" }
    let extent = try walk.extent(of: found)
    format = found.format
    dataOffset = found.body
    factFrames = walk.factFrames
    let partial = format.isPacked ? 0 : extent % Int64(format.blockSize)
    dataBytes = extent - partial
    frames = format.isPacked ? nil : dataBytes / Int64(format.blockSize)
    if partial > 0 {
      walk.note(
        "partial_frame", found.body + dataBytes, partial,
        "the samples end inside a frame; that part was dropped")
    }
    problems = walk.problems
  }
}

/// The walk itself: one chunk after another until the samples are found.
private struct WavWalk {
  struct DataChunk {
    var format: WavFormat
    var body: Int64
    var stated: Int64  // bytes, as the header has it
    var sizeField: UInt32
  }

  let source: ByteSource
  var problems: [SourceProblem] = []
  var isRF64 = false
  var factFrames: Int64?
  private var wideSizes: (riff: UInt64, data: UInt64)?

  private static let mostChunks = 4_096
  private static let searchedBytes = 1 << 20
  private static let known: [StaticString] = [
    "data", "fmt ", "LIST", "fact", "bext", "JUNK", "junk", "PAD ", "cue ", "smpl", "iXML", "PEAK", "id3 ",
    "ID3 ",
    "ds64", "cart", "inst", "FLLR", "axml", "chna", "DISP", "LGWV", "minf", "elm1", "regn", "umid", "afsp",
    "_PMX",
  ]

  init(source: ByteSource) { self.source = source }

  mutating func note(_ kind: String, _ offset: Int64?, _ bytes: Int64?, _ message: String) {
    guard problems.count < SourceLimits.problems else { return }
    problems.append(SourceProblem(kind: kind, offset: offset, bytes: bytes, message: message))
  }

  // MARK: To the samples

  mutating func toData() throws(SourceError) -> DataChunk {
    let head = try source.read(0, 12)
    guard head.count == 12 else { throw .unreadable("it ends inside its first 12 bytes") }
    isRF64 = !head.holds("RIFF")
    var format: WavFormat?
    var offset: Int64 = 12
    var searches = 0
    var anchor: Int64 = 12  // behind the last head that looked right
    for _ in 0..<WavWalk.mostChunks {
      let chunk = try source.read(offset, 8)
      guard chunk.count == 8, WavWalk.isPlausible(chunk) else {
        // A size led us astray. The chunk we need may still be near.
        searches += 1
        let wanted: StaticString = format == nil ? "fmt " : "data"
        guard searches <= 2, let next = try search(for: wanted, from: anchor) else { break }
        note("chunk_lost", offset, nil, "chunk sizes are wrong; the next chunk was found at byte \(next)")
        offset = next
        continue
      }
      let size = chunk.u32(4)
      let body = offset + 8
      anchor = body
      if chunk.holds("fmt ") {
        let bytes = try source.read(body, Int(min(size, 4_096)))
        if bytes.count < min(Int(size), 4_096) { throw .unreadable("it ends inside its fmt chunk") }
        let read = try WavFormat(chunk: bytes, offset: body, oddities: &problems)
        if let format {
          guard format == read else { throw .unreadable("it has two fmt chunks that contradict each other") }
          note("second_fmt", offset, Int64(size) + 8, "a second fmt chunk says the same as the first")
        }
        format = read
      } else if chunk.holds("ds64") {
        let bytes = try source.read(body, 16)
        if bytes.count == 16 { wideSizes = (bytes.u64(0), bytes.u64(8)) }
      } else if chunk.holds("fact") {
        let bytes = try source.read(body, 4)
        if size >= 4, bytes.count == 4 { factFrames = Int64(bytes.u32(0)) }
      } else if chunk.holds("data") {
        guard let format else { throw .unreadable("its data chunk has no fmt chunk before it") }
        try checkRiffSize(head.u32(4))
        var stated = Int64(size)
        if isRF64, size == .max, let wideSizes { stated = Int64(clamping: wideSizes.data) }
        return DataChunk(format: format, body: body, stated: stated, sizeField: size)
      }
      offset = try next(after: offset, size: Int64(size))
    }
    if offset < source.size {
      throw .unreadable("its chunks break off at byte \(offset); no samples were found")
    }
    throw .unreadable(format == nil ? "it has no fmt chunk" : "it has no data chunk")
  }

  private mutating func checkRiffSize(_ field: UInt32) throws(SourceError) {
    var stated = Int64(field)
    if isRF64, field == .max, let wideSizes { stated = Int64(clamping: wideSizes.riff) }
    let real = source.size - 8
    if abs(stated - real) > 1 {  // 1: a last pad byte, counted or not
      note("riff_size", 4, 4, "the header states \(stated) bytes after it; there are \(real)")
    }
  }

  /// Where the next chunk begins. Odd sizes are padded by the standard and not by every writer.
  private mutating func next(after offset: Int64, size: Int64) throws(SourceError) -> Int64 {
    let end = offset + 8 + size
    if size % 2 == 1 {
      if try rank(end) > rank(end + 1) {
        if end < source.size { note("pad_missing", end, 0, "a chunk of odd size has no pad byte") }
        return end
      }
      if let pad = try source.read(end, 1).first, pad != 0 {
        note("pad_not_zero", end, 1, "a pad byte isn't zero")
      }
      return end + 1
    }
    if try rank(end) > 0 { return end }
    for other in [end + 1, end - 1] where try rank(other) == 2 {
      note("chunk_size", offset + 4, 4, "a chunk's size is wrong by one byte")
      return other
    }
    return end
  }

  /// 2: a chunk we know begins here, 1: a chunk could, or it is the end; 0: neither.
  private func rank(_ offset: Int64) throws(SourceError) -> Int {
    if offset == source.size { return 1 }
    let head = try source.read(offset, 4)
    guard head.count == 4, WavWalk.isPlausible(head) else { return 0 }
    return WavWalk.known.contains { head.holds($0) } ? 2 : 1
  }

  private static func isPlausible(_ head: [UInt8]) -> Bool {
    head.prefix(4).allSatisfy { (0x20...0x7E).contains($0) }
  }

  /// Looks for the chunk that is needed behind a head whose size was wrong; its own size must be possible.
  private func search(for id: StaticString, from start: Int64) throws(SourceError) -> Int64? {
    let bytes = try source.read(start, WavWalk.searchedBytes)
    guard bytes.count >= 8 else { return nil }
    for index in 0...(bytes.count - 8) where bytes.holds(id, at: index) {
      let size = bytes.u32(index + 4)
      let body = start + Int64(index) + 8
      if isPlaceholder(size) || body + Int64(size) <= source.size { return body - 8 }
    }
    return nil
  }

  // MARK: How far they go

  private func isPlaceholder(_ field: UInt32) -> Bool {
    field == 0 || (0x7FFF_F000...0x8000_0000).contains(field) || field >= 0xFFFF_F000
  }

  /// The bytes of samples there are: what is stated, unless it is a placeholder or more than the file has.
  mutating func extent(of data: DataChunk) throws(SourceError) -> Int64 {
    let present = source.size - data.body
    let stated = data.stated
    if stated > present {
      note(
        "data_size", data.body - 4, 4, "the header states \(stated) bytes of samples; \(present) are there")
      return present
    }
    if stated == present { return present }
    let wide = isRF64 && data.sizeField == .max && stated != 0
    let wrapped = (present - stated) % (1 << 32) == 0  // over 4 GiB in a 32 bit field
    if !wide, isPlaceholder(data.sizeField) || wrapped, try !chunksFollow(data.body + stated) {
      note(
        "data_size", data.body - 4, 4,
        "the header's size of the samples, \(stated), was never filled in; \(present) bytes are there")
      return present
    }
    try noteTail(after: data)
    return stated
  }

  /// Whether from here to the very end it is nothing but chunks.
  private func chunksFollow(_ start: Int64) throws(SourceError) -> Bool {
    var offset = start
    for _ in 0..<64 {
      if offset == source.size || offset == source.size + 1 { return true }
      let head = try source.read(offset, 8)
      guard head.count == 8, WavWalk.isPlausible(head) else { return false }
      let size = Int64(head.u32(4))
      offset += 8 + size + size % 2
    }
    return false
  }

  /// Says what lies behind samples whose size is believed.
  private mutating func noteTail(after data: DataChunk) throws(SourceError) {
    var offset = try next(after: data.body - 8, size: data.stated)
    for _ in 0..<64 where offset < source.size {
      let head = try source.read(offset, 8)
      guard head.count == 8, WavWalk.isPlausible(head) else {
        note("trailing_bytes", offset, source.size - offset, "bytes after the samples belong to no chunk")
        return
      }
      if head.holds("data") {
        note(
          "second_data", offset, Int64(head.u32(4)) + 8, "a second data chunk was left out; the first counts")
      }
      offset = try next(after: offset, size: Int64(head.u32(4)))
    }
  }
}
