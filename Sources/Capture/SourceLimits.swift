/// What the stages after a source can take, told in one line where a source is beyond it.
public enum SourceLimits {
  public static let channels = 1...1_024  // libsndfile's own limit
  /// Hertz. libsamplerate converts by 1/256 to 256, and a take has 48 000 Hz.
  public static let rates = 188...12_288_000
  /// A damaged file can have a fault a page: so many are told, the rest only counted.
  static let problems = 64

  /// - Throws: `unreadable`, with what is out of range.
  public static func check(rate: Int, channels count: Int) throws(SourceError) {
    if count == 0 { throw .unreadable("it states 0 channels") }
    guard channels.contains(count) else {
      throw .unreadable("it states \(count) channels; \(channels.upperBound) is the most that can be read")
    }
    guard rates.contains(rate) else {
      throw .unreadable(
        "it states a sample rate of \(rate) Hz; \(rates.lowerBound) to \(rates.upperBound) Hz can be read")
    }
  }
}
