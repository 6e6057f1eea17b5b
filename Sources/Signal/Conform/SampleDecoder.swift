/// What the samples themselves were found to be, counted since the start.
public struct SampleFaults: Sendable, Equatable {
  /// NaN and infinities, set to 0.
  public var notFinite: Int64 = 0
  /// Float samples beyond ±1.0, set to ±1.0.
  public var over: Int64 = 0
  /// Runs of three or more neighbours at full scale with one sign: clipping. One legal full-scale sample is none.
  public var clippedRuns: Int64 = 0

  public init() {}
}

/// Turns interleaved device samples into one channel of Float at full scale ±1.0, at the device's own rate.
///
/// Pure and allocation-free after start.
struct SampleDecoder {
  let format: SourceFormat
  let choice: ChannelChoice
  private(set) var faults = SampleFaults()
  private var clips: ClipCounter

  init(format: SourceFormat, choice: ChannelChoice, fullScale: Float? = nil) {
    self.format = format
    self.choice = choice
    clips = ClipCounter(threshold: fullScale ?? format.sample.fullScale)
  }

  /// Decodes `count` frames of `bytes`, from frame `first` on, into the front of `out`.
  mutating func decode(_ bytes: RawSpan, first: Int, count: Int, into out: inout MutableSpan<Float>) {
    switch choice {
    case .channel(let channel):
      load(bytes, first: first, count: count, channel: channel - 1, into: &out)
      scrub(&out, count)
    case .mix:
      mix(bytes, first: first, count: count, into: &out)
    }
    clips.count(out, count)
    faults.clippedRuns = clips.runs
  }

  private func load(
    _ bytes: RawSpan, first: Int, count: Int, channel: Int, into out: inout MutableSpan<Float>
  ) {
    let step = format.bytesPerFrame
    var offset = first * step + channel * format.sample.bytes
    // The caller checked `first + count` against the span: one check here keeps the loops free of them.
    precondition(count == 0 || offset + (count - 1) * step + format.sample.bytes <= bytes.byteCount)
    precondition(count <= out.count)
    switch format.sample {
    case .u8:
      for i in 0..<count {
        let v = Int32(unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
        unsafe out[unchecked: i] = Float(v - 128) * (1 / 128)
        offset &+= step
      }
    case .s16 where step == 2:  // what most devices and files are: a loop that vectorises
      for i in 0..<count {
        let v = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset &+ i &* 2, as: Int16.self)
        unsafe out[unchecked: i] = Float(v) * (1 / 32_768)
      }
    case .s16:
      for i in 0..<count {
        let v = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Int16.self)
        unsafe out[unchecked: i] = Float(v) * (1 / 32_768)
        offset &+= step
      }
    case .s24Packed:
      for i in 0..<count {
        let low = Int32(unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt16.self))
        let high = Int32(unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset + 2, as: Int8.self))
        unsafe out[unchecked: i] = Float(high << 16 | low) * (1 / 8_388_608)
        offset &+= step
      }
    case .s24In32:
      for i in 0..<count {
        let v = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Int32.self)
        unsafe out[unchecked: i] = Float((v << 8) >> 8) * (1 / 8_388_608)
        offset &+= step
      }
    case .s32:
      for i in 0..<count {
        let v = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Int32.self)
        unsafe out[unchecked: i] = Float(v) * (1 / 2_147_483_648)
        offset &+= step
      }
    case .float32 where step == 4:
      unsafe out.withUnsafeMutableBytes { target in
        unsafe bytes.withUnsafeBytes { source in
          guard let to = target.baseAddress, let from = source.baseAddress else { return }
          unsafe to.copyMemory(from: from + offset, byteCount: count * 4)
        }
      }
    case .float32:
      for i in 0..<count {
        unsafe out[unchecked: i] = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: Float.self)
        offset &+= step
      }
    }
  }

  /// NaN and infinities to 0, beyond full scale to full scale; both counted. Only float sources can hold any.
  private mutating func scrub(_ out: inout MutableSpan<Float>, _ count: Int) {
    guard format.sample == .float32 else { return }
    var i = 0
    while i < count {
      if i + 8 <= count, allBelow(1.000_000_1, out.span, i) {
        i += 8
        continue
      }
      for j in i..<min(i + 8, count) { out[j] = scrubbed(out[j]) }
      i += 8
    }
  }
  private mutating func scrubbed(_ v: Float) -> Float {
    if abs(v) <= 1 { return v }
    if v.isFinite {
      faults.over += 1
      return v < 0 ? -1 : 1
    }
    faults.notFinite += 1
    return 0
  }

  private mutating func mix(_ bytes: RawSpan, first: Int, count: Int, into out: inout MutableSpan<Float>) {
    let one = SourceFormat(sample: format.sample, rate: format.rate, channels: 1)
    let single = SampleDecoder(format: one, choice: .channel(1))
    let scale = 1 / Float(format.channels)
    withTemporarySample { sample in
      for i in 0..<count {
        var sum: Float = 0
        for channel in 0..<format.channels {
          single.load(
            bytes, first: (first + i) * format.channels + channel, count: 1, channel: 0, into: &sample)
          sum += format.sample == .float32 ? scrubbed(sample[0]) : sample[0]
        }
        out[i] = sum * scale
      }
    }
  }
  private func withTemporarySample(_ body: (inout MutableSpan<Float>) -> Void) {
    var one: InlineArray<1, Float> = [0]
    var span = one.mutableSpan
    body(&span)
  }
}

/// Counts runs of clipped samples.
///
/// A run is three neighbours or more at full scale with the same sign: a legal full-scale sample, or the one at the
/// crest of a full-scale sine, isn't one.
public struct ClipCounter: Sendable {
  public private(set) var runs: Int64 = 0
  private static let many = 96  // a fifth of 10 ms
  private let threshold: Float
  private var length = 0
  private var positive = false

  /// - Parameter threshold: amplitude from which a sample is at full scale.
  public init(threshold: Float) { self.threshold = threshold }

  /// Many at a time where none of them is near full scale, which is nearly always.
  mutating func count(_ samples: borrowing MutableSpan<Float>, _ count: Int) {
    var i = 0
    while i < count {
      if i + Self.many <= count, peak(samples.span, i) < threshold {
        length = 0
        i += Self.many
        continue
      }
      if i + 8 <= count, allBelow(threshold, samples.span, i) {
        length = 0
        i += 8
        continue
      }
      for j in i..<min(i + 8, count) { add(samples[j]) }
      i += 8
    }
  }
  /// Of `many` samples, none of them NaN.
  @inline(__always) private func peak(_ samples: Span<Float>, _ first: Int) -> Float {
    var peaks = SIMD8<Float>(repeating: 0)
    var i = first
    while i < first &+ Self.many {
      let v = magnitude(
        unsafe samples.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: i &* 4, as: SIMD8<Float>.self))
      peaks.replace(with: v, where: v .> peaks)
      i &+= 8
    }
    return peaks.max()
  }
  @inline(__always) public mutating func add(_ sample: Float) {
    if abs(sample) < threshold {
      length = 0
      return
    }
    if length > 0, positive != (sample > 0) { length = 0 }
    positive = sample > 0
    length += 1
    if length == 3 { runs += 1 }
  }
}

/// Whether the magnitudes of eight samples from `first` on are all below `limit`. False for NaN.
@inline(__always)
private func allBelow(_ limit: Float, _ samples: Span<Float>, _ first: Int) -> Bool {
  let v = unsafe samples.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: first &* 4, as: SIMD8<Float>.self)
  return all((v .< limit) .& (v .> -limit))
}
