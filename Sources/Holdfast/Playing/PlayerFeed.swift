import Signal

/// A clip's frames on their way to an output: read, converted to its rate where that is another, fitted to its channels.
/// The player thread's own.
struct PlayerFeed {
  private let reader: ClipReader
  private let range: Range<Int64>
  private let channels: Int
  private let converters: [Resampler]
  private var block: [Float]
  private var column: [Float]
  private let blockFrames: Int
  private var isFlushed = false
  /// Interleaved in the output's channels; the first `count` frames count.
  private(set) var samples: [Float] = []
  private(set) var count = 0

  /// - Parameter range: frames of the file at its own rate.
  init(_ reader: ClipReader, _ range: Range<Int64>, rate: Int, channels: Int) throws(RecorderFailure) {
    (self.reader, self.range, self.channels) = (reader, range, channels)
    blockFrames = max(1, reader.rate / 50)
    block = [Float](repeating: 0, count: blockFrames * reader.channels)
    column = [Float](repeating: 0, count: blockFrames)
    var converters: [Resampler] = []
    if rate != reader.rate {
      do throws(ConformError) {
        for _ in 0..<reader.channels {
          converters.append(try Resampler(from: reader.rate, to: rate, quality: .medium))
        }
      } catch { throw Failures.conform(error) }
    }
    self.converters = converters
  }

  /// Goes to a frame of the file; one outside of the clip is its nearest end.
  ///
  /// - Returns: the frame that comes next.
  mutating func seek(to frame: Int64) throws(RecorderFailure) -> Int64 {
    for converter in converters { converter.reset() }
    isFlushed = false
    count = 0
    try reader.seek(to: min(max(frame, range.lowerBound), range.upperBound))
    return reader.position
  }

  /// Fills `samples` with what comes next.
  ///
  /// - Returns: false at the clip's end.
  mutating func next() throws(RecorderFailure) -> Bool {
    count = 0
    while count == 0 {
      guard !isFlushed else { return false }
      let wanted = Int(min(Int64(blockFrames), range.upperBound - reader.position))
      let got = wanted > 0 ? try reader.read(into: &block, atMost: wanted) : 0
      isFlushed = got == 0
      if converters.isEmpty {
        fit(block, got)
      } else {
        convert(got)
      }
    }
    return true
  }

  private mutating func convert(_ frames: Int) {
    var columns: [[Float]] = []
    for (channel, converter) in converters.enumerated() {
      for i in 0..<frames { column[i] = block[i * converters.count + channel] }
      var out: [Float] = []
      converter.process(column, count: frames, last: isFlushed) { span, made in
        for i in 0..<made { out.append(span[i]) }
      }
      columns.append(out)
    }
    let made = columns.map(\.count).min() ?? 0
    var mixed = [Float](repeating: 0, count: made * columns.count)
    for (channel, samples) in columns.enumerated() {
      for i in 0..<made { mixed[i * columns.count + channel] = samples[i] }
    }
    fit(mixed, made)
  }

  /// Mono goes to all channels, several to one are averaged, else the first ones are taken and the rest is silent.
  private mutating func fit(_ source: [Float], _ frames: Int) {
    let from = reader.channels
    count = frames
    if samples.count < frames * channels { samples = [Float](repeating: 0, count: frames * channels) }
    for i in 0..<frames {
      for channel in 0..<channels {
        let sample: Float
        if from == 1 {
          sample = source[i]
        } else if channels == 1 {
          sample = source[(i * from)..<((i + 1) * from)].reduce(0, +) / Float(from)
        } else {
          sample = channel < from ? source[i * from + channel] : 0
        }
        samples[i * channels + channel] = sample
      }
    }
  }
}
