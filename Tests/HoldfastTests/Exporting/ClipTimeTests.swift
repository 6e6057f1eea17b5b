import Testing

@testable import Holdfast

@Suite struct ClipTimeTests {
  @Test(
    arguments: [
      ("00:00", 0), ("0:01", 1_000), ("01:02.5", 62_500), ("1:02.05", 62_050), ("1:02.005", 62_005),
      ("60:00.123", 3_600_123), ("1:00:00.123", 3_600_123), ("999:59", 59_999_000),
      ("10:59:59.999", 39_599_999),
    ] as [(String, Int64)])
  func `a time is read`(text: String, ms: Int64) { #expect(ClipTime.milliseconds(text) == ms) }

  @Test(arguments: [
    "", "5", "1.5", ":", "1:", ":1", "1:60", "1:2:60", "1:60:00", "1:00.", "1:00.1234", "1:00.-1", "-1:00",
    "+1:00",
    "1:00:00:00", "a:00", "1:0a", " 1:00", "1:00 ", "1:００", "0:000", "9999999999:00", "1:00..5", "nan:00",
  ])
  func `what is none is refused`(text: String) { #expect(ClipTime.milliseconds(text) == nil) }

  @Test func `a time is written as it is read`() {
    for ms: Int64 in [0, 1, 999, 61_001, 3_600_123, 59_999_999] {
      #expect(ClipTime.milliseconds(ClipTime.text(ms)) == ms)
    }
  }
}
