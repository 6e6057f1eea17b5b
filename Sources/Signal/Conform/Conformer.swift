/// Makes one channel at 48 kHz of whatever the source delivers: channel, scrubbing, resampling.
///
/// An unbroken run of n device frames gives exactly round(n·48000/rate) frames. Counts go on from run to run. Keep it on
/// the signal thread.
public final class Conformer {
  public let format: SourceFormat
  private var decoder: SampleDecoder
  private let resampler: Resampler?
  /// Device frames taken.
  public private(set) var deviceFrames: Int64 = 0
  /// 48 kHz frames handed on.
  public private(set) var frames: Int64 = 0
  private var runStart: (device: Int64, frames: Int64) = (0, 0)
  /// 48 kHz frames that those taken will have given, in all.
  public var position: Int64 {
    runStart.frames + takeFrames(deviceFrames: deviceFrames - runStart.device, rate: format.rate)
  }
  private let block: Int  // input frames a resampler call gets, always
  private var pending: [Float]
  private var pendingCount = 0
  private var scratch: [Float]

  public var faults: SampleFaults { decoder.faults }

  /// - Parameter fullScale: amplitude from which a sample counts as clipped; nil for the format's own.
  public init(
    format: SourceFormat, choice: ChannelChoice, quality: ResamplerQuality = .medium, fullScale: Float? = nil
  ) throws(ConformError) {
    if case .channel(let channel) = choice, !(1...format.channels).contains(channel) {
      throw .channel(channel, of: format.channels)
    }
    self.format = format
    decoder = SampleDecoder(format: format, choice: choice, fullScale: fullScale)
    if format.rate == takeRate {
      resampler = nil
    } else {
      resampler = try Resampler(from: format.rate, quality: quality)
    }
    // 5 ms: short enough for the loss bound, long enough to cost nothing. 48 kHz goes through in one block size too.
    block = format.rate == takeRate ? 4800 : max(32, format.rate / 200)
    pending = Array(repeating: 0, count: block)
    scratch = Array(repeating: 0, count: 4800)
  }

  /// Takes `count` frames and hands on what they give.
  ///
  /// - Parameter body: gets a scratch span it may alter, and the frames at its front that count.
  public func push(_ bytes: RawSpan, count: Int, _ body: (inout MutableSpan<Float>, Int) -> Void) {
    var first = 0
    while first < count {
      if resampler == nil {
        let n = min(count - first, scratch.count)
        var span = scratch.mutableSpan
        decoder.decode(bytes, first: first, count: n, into: &span)
        frames += Int64(n)
        first += n
        deviceFrames += Int64(n)
        body(&span, n)
      } else {
        let n = min(count - first, block - pendingCount)
        var span = pending.mutableSpan
        var rest = span._mutatingExtracting(pendingCount..<(pendingCount + n))
        decoder.decode(bytes, first: first, count: n, into: &rest)
        pendingCount += n
        first += n
        deviceFrames += Int64(n)
        if pendingCount == block { convert(last: false, body) }
      }
    }
  }

  /// Puts silence in place of `count` device frames that were lost.
  public func pushSilence(_ count: Int64, _ body: (inout MutableSpan<Float>, Int) -> Void) {
    var left = count
    while left > 0 {
      let n: Int
      if resampler == nil {
        n = Int(min(left, Int64(scratch.count)))
        var span = scratch.mutableSpan
        for i in 0..<n { span[i] = 0 }
        frames += Int64(n)
        body(&span, n)
      } else {
        n = Int(min(left, Int64(block - pendingCount)))
        for i in pendingCount..<(pendingCount + n) { pending[i] = 0 }
        pendingCount += n
        if pendingCount == block { convert(last: false, body) }
      }
      left -= Int64(n)
      deviceFrames += Int64(n)
    }
  }

  /// Ends the run: the resampler's delay line comes out, trimmed or padded to the exact length. What comes next is
  /// another run.
  public func finish(_ body: (inout MutableSpan<Float>, Int) -> Void) {
    if resampler != nil { convert(last: true, body) }
    var missing = position - frames
    while missing > 0 {  // a frame or two where the converter rounds the other way
      let n = Int(min(missing, Int64(scratch.count)))
      var span = scratch.mutableSpan
      for i in 0..<n { span[i] = 0 }
      frames += Int64(n)
      missing -= Int64(n)
      body(&span, n)
    }
    runStart = (deviceFrames, frames)
    resampler?.reset()
  }

  private func convert(last: Bool, _ body: (inout MutableSpan<Float>, Int) -> Void) {
    // At the end of a run the length is exact; before it the converter lags behind by its filter anyway.
    let limit = last ? position : Int64.max
    var total = frames
    resampler?.process(pending, count: pendingCount, last: last) { span, made in
      let n = Int(min(Int64(made), limit - total))
      guard n > 0 else { return }
      for i in 0..<n { span[i] = max(-1, min(1, span[i])) }  // overshoot isn't the speaker's
      total += Int64(n)
      body(&span, n)
    }
    frames = total
    pendingCount = 0
  }
}
