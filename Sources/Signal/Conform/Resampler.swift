import CSampleRate

/// Owns one libsamplerate converter for one channel. Keep it on one thread: the signal thread, or a player's.
///
/// It is fed in blocks of one size, so that its output doesn't depend on the periods of the source.
@safe public final class Resampler {
  private let state: OpaquePointer
  private let ratio: Double
  private var scratch = [Float](repeating: 0, count: 4_800)

  /// - Parameters:
  ///   - rate: hertz of the input.
  ///   - target: hertz of the output.
  ///   - quality: one of libsamplerate's converter types.
  public init(
    from rate: Int, to target: Int = takeRate, quality: ResamplerQuality
  ) throws(ConformError) {
    ratio = Double(target) / Double(rate)
    guard src_is_valid_ratio(ratio) != 0 else { throw .rate(rate) }
    var code: Int32 = 0
    guard let made = unsafe src_new(quality.converter, 1, &code) else { throw .resampler(code) }
    unsafe state = made
  }
  deinit { unsafe src_delete(state) }

  /// Forgets what it was fed: what comes next follows on nothing.
  public func reset() { unsafe src_reset(state) }

  /// Converts the first `count` samples of `input` and hands on each stretch of output.
  ///
  /// - Parameter last: flushes the converter's delay line behind `input`.
  public func process(
    _ input: [Float], count: Int, last: Bool, _ body: (inout MutableSpan<Float>, Int) -> Void
  ) {
    var used = 0
    while true {
      var data = unsafe SRC_DATA()
      let room = scratch.count
      let code = unsafe input.withUnsafeBufferPointer { source in
        unsafe scratch.withUnsafeMutableBufferPointer { target in
          unsafe data.data_in =
            unsafe source.baseAddress.map { unsafe $0 + used } ?? UnsafePointer(target.baseAddress)
          unsafe data.data_out = target.baseAddress
          unsafe data.input_frames = count - used
          unsafe data.output_frames = room
          unsafe data.src_ratio = ratio
          unsafe data.end_of_input = last ? 1 : 0
          return unsafe src_process(state, &data)
        }
      }
      precondition(code == 0, "libsamplerate refuses its own state")
      unsafe used += data.input_frames_used
      let made = unsafe data.output_frames_gen
      if made > 0 {
        var span = scratch.mutableSpan
        body(&span, made)
      }
      if made < room, used == count { return }
    }
  }
}

/// How well rates are converted; the cost of MEDIUM is about half of the Opus encoder's.
public enum ResamplerQuality: Sendable {
  case fastest, medium, best

  var converter: Int32 {
    switch self {
    case .fastest: Int32(SRC_SINC_FASTEST)
    case .medium: Int32(SRC_SINC_MEDIUM_QUALITY)
    case .best: Int32(SRC_SINC_BEST_QUALITY)
    }
  }
}

/// Why a source's format can't become a take.
public enum ConformError: Error, Equatable, Sendable {
  case rate(Int)
  case channel(Int, of: Int)
  case resampler(Int32)
}

/// libsamplerate's own words.
public enum ResamplerVersion {
  public static var text: String { unsafe String(cString: src_get_version()) }
}
