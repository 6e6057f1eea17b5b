import CALSA
import Glibc
import Signal

/// How a device is wanted. A device that can't do it does what is nearest, and says so.
public struct CaptureWish: Sendable, Equatable {
  /// Frames handed over at a time, in milliseconds, 1…1 000.
  public var periodMs: Int
  /// The device's own buffer, in milliseconds, 2…10 000: how late a read may be before frames are lost.
  public var bufferMs: Int
  /// Reads through the mapped buffer where the device has one.
  public var mmap: Bool
  /// Hertz. The device runs at the nearest rate that it has.
  public var rate: Int
  /// A device that hasn't so many runs with the fewest it has.
  public var channels = 1
  /// Only exactly this will do: a device that comes back in mid-take.
  public var exactly: SourceFormat?

  public init(periodMs: Int = 10, bufferMs: Int = 100, mmap: Bool = false, rate: Int = 48_000) {
    self.periodMs = periodMs
    self.bufferMs = bufferMs
    self.mmap = mmap
    self.rate = rate
  }
}

/// What a device can be asked for.
public struct DeviceOffer: Sendable, Equatable {
  /// ALSA's names, such as `S16_LE`; also those that Holdfast doesn't read.
  public var formats: [String]
  /// Hertz: the usual rates that it runs at, ascending, or its bounds where it has none of them.
  public var rates: [Int]
  /// Channel counts, least and most.
  public var channels: ClosedRange<Int>

  private static func list(_ words: [String], _ what: String) -> String {
    words.count > 8 ? "\(words.count) \(what)" : words.joined(separator: " or ")
  }
  /// For people: `S16_LE or S24_3LE, 44100 or 48000 Hz, 1 to 2 channels`.
  public var text: String {
    let least = channels.lowerBound
    let most = channels.upperBound
    let count = least == most ? "\(least) channel\(least == 1 ? "" : "s")" : "\(least) to \(most) channels"
    return Self.list(formats, "formats") + ", " + Self.list(rates.map(String.init), "rates") + " Hz, " + count
  }
}

/// What was agreed.
struct Negotiated: Sendable, Equatable {
  var format: SourceFormat
  var mapped: Bool
  /// Frames.
  var period: Int
  /// Frames.
  var buffer: Int
}

enum NegotiationFailure: Error {
  /// Nothing in common.
  case refused
  /// From ALSA, positive.
  case errno(Int32)
}

/// The talk with a PCM about formats. All of it before the first frame; nothing here runs on the capture thread.
enum Negotiation {
  /// In the order they are wanted: what is exact in 16 bit first, then the rest that loses nothing.
  static let formats: [(snd_pcm_format_t, SampleFormat)] = [
    (SND_PCM_FORMAT_S16_LE, .s16), (SND_PCM_FORMAT_S32_LE, .s32), (SND_PCM_FORMAT_FLOAT_LE, .float32),
    (SND_PCM_FORMAT_S24_3LE, .s24Packed), (SND_PCM_FORMAT_S24_LE, .s24In32), (SND_PCM_FORMAT_U8, .u8),
  ]
  static let usualRates = [
    8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 176_400, 192_000,
  ]

  /// Calls `body` with everything the PCM can do, ALSA's own resampling shut out.
  private static func space<R>(_ pcm: OpaquePointer, _ body: (OpaquePointer) -> R) -> Result<
    R, NegotiationFailure
  > {
    var made: OpaquePointer?
    guard unsafe snd_pcm_hw_params_malloc(&made) >= 0, let params = unsafe made else {
      return .failure(.errno(ENOMEM))
    }
    defer { unsafe snd_pcm_hw_params_free(params) }
    let code = unsafe snd_pcm_hw_params_any(pcm, params)
    guard code >= 0 else { return .failure(.errno(-code)) }
    // The rate that is reported has to be the rate the device runs at.
    unsafe snd_pcm_hw_params_set_rate_resample(pcm, params, 0)
    return .success(unsafe body(params))
  }

  static func offer(_ pcm: OpaquePointer) -> DeviceOffer? {
    let result = unsafe space(pcm) { params -> DeviceOffer? in
      var formats: [String] = []
      for number in 0...Int32(SND_PCM_FORMAT_LAST.rawValue) {
        let format = snd_pcm_format_t(rawValue: number)
        guard unsafe snd_pcm_hw_params_test_format(pcm, params, format) == 0,
          let name = unsafe snd_pcm_format_name(format)
        else { continue }
        unsafe formats.append(String(cString: name))
      }
      var rates = usualRates.filter { unsafe snd_pcm_hw_params_test_rate(pcm, params, UInt32($0), 0) == 0 }
      var low: UInt32 = 0
      var high: UInt32 = 0
      var direction: Int32 = 0
      if rates.isEmpty, unsafe snd_pcm_hw_params_get_rate_min(params, &low, &direction) >= 0,
        unsafe snd_pcm_hw_params_get_rate_max(params, &high, &direction) >= 0
      {
        rates = low == high ? [Int(low)] : [Int(low), Int(high)]
      }
      guard unsafe snd_pcm_hw_params_get_channels_min(params, &low) >= 0,
        unsafe snd_pcm_hw_params_get_channels_max(params, &high) >= 0, low <= high
      else { return nil }
      return DeviceOffer(formats: formats, rates: rates, channels: Int(low)...Int(high))
    }
    guard case .success(let offer) = result else { return nil }
    return offer
  }

  /// Agrees on access, rate, channels, format, period and buffer, in that order, and sets the PCM up.
  static func run(_ pcm: OpaquePointer, _ wish: CaptureWish) throws(NegotiationFailure) -> Negotiated {
    let result = unsafe space(pcm) { params in unsafe agree(pcm, params, wish) }
    let agreed = try result.get().get()
    try unsafe soften(pcm, agreed)
    return agreed
  }

  private static func agree(
    _ pcm: OpaquePointer, _ params: OpaquePointer, _ wish: CaptureWish
  ) -> Result<Negotiated, NegotiationFailure> {
    let mapped = SND_PCM_ACCESS_MMAP_INTERLEAVED
    let order =
      wish.mmap ? [mapped, SND_PCM_ACCESS_RW_INTERLEAVED] : [SND_PCM_ACCESS_RW_INTERLEAVED, mapped]
    guard let access = order.first(where: { unsafe snd_pcm_hw_params_set_access(pcm, params, $0) >= 0 })
    else {
      return .failure(.refused)
    }
    var rate = UInt32(clamping: wish.exactly?.rate ?? wish.rate)
    var direction: Int32 = 0
    guard unsafe snd_pcm_hw_params_set_rate_near(pcm, params, &rate, &direction) >= 0 else {
      return .failure(.refused)
    }

    var channels: UInt32 = UInt32(clamping: wish.exactly?.channels ?? wish.channels)
    if unsafe snd_pcm_hw_params_set_channels(pcm, params, channels) < 0 {
      guard wish.exactly == nil, unsafe snd_pcm_hw_params_set_channels_first(pcm, params, &channels) >= 0
      else {
        return .failure(.refused)
      }
    }
    let wanted = formats.filter { wish.exactly == nil || $0.1 == wish.exactly?.sample }
    guard let format = wanted.first(where: { unsafe snd_pcm_hw_params_set_format(pcm, params, $0.0) >= 0 })
    else { return .failure(.refused) }

    // Wishes: a device that has neither keeps its own.
    let periodMs = min(1_000, max(1, wish.periodMs))
    var period = snd_pcm_uframes_t(max(1, Int(rate) * periodMs / 1000))
    unsafe snd_pcm_hw_params_set_period_size_near(pcm, params, &period, &direction)
    var buffer = max(2 * period, snd_pcm_uframes_t(Int(rate) * min(10_000, max(2, wish.bufferMs)) / 1000))
    unsafe snd_pcm_hw_params_set_buffer_size_near(pcm, params, &buffer)

    let code = unsafe snd_pcm_hw_params(pcm, params)
    guard code >= 0 else { return .failure(.errno(-code)) }
    unsafe snd_pcm_hw_params_get_rate(params, &rate, &direction)
    unsafe snd_pcm_hw_params_get_channels(params, &channels)
    unsafe snd_pcm_hw_params_get_period_size(params, &period, &direction)
    unsafe snd_pcm_hw_params_get_buffer_size(params, &buffer)
    let agreed = Negotiated(
      format: SourceFormat(sample: format.1, rate: Int(rate), channels: Int(channels)),
      mapped: access == mapped,
      period: max(1, Int(period)), buffer: max(1, Int(buffer)))
    guard rate > 0, channels > 0, wish.exactly == nil || wish.exactly == agreed.format else {
      return .failure(.refused)
    }
    return .success(agreed)
  }

  /// The software half: wake a period at a time, start only when told, time stamps of the monotonic clock.
  private static func soften(_ pcm: OpaquePointer, _ agreed: Negotiated) throws(NegotiationFailure) {
    var made: OpaquePointer?
    guard unsafe snd_pcm_sw_params_malloc(&made) >= 0, let params = unsafe made else { throw .errno(ENOMEM) }
    defer { unsafe snd_pcm_sw_params_free(params) }
    var code = unsafe snd_pcm_sw_params_current(pcm, params)
    guard code >= 0 else { throw .errno(-code) }
    var boundary: snd_pcm_uframes_t = 0
    unsafe snd_pcm_sw_params_get_boundary(params, &boundary)
    unsafe snd_pcm_sw_params_set_start_threshold(pcm, params, boundary)
    unsafe snd_pcm_sw_params_set_avail_min(pcm, params, snd_pcm_uframes_t(agreed.period))
    unsafe snd_pcm_sw_params_set_tstamp_mode(pcm, params, SND_PCM_TSTAMP_ENABLE)
    unsafe snd_pcm_sw_params_set_tstamp_type(pcm, params, SND_PCM_TSTAMP_TYPE_MONOTONIC)
    code = unsafe snd_pcm_sw_params(pcm, params)
    guard code >= 0 else { throw .errno(-code) }
  }
}
