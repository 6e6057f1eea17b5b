import Session
import Testing

@testable import Holdfast

@Test func `low disk is told once a level on the way down, and when it is over`() {
  var low = LowDisk(bytesPerSecond: 1_000)
  var told: [LowDiskNotice] = []
  for second in 0..<1_200 {
    if let notice = low.look(free: Int64(1_200 - second) * 1_000, seconds: 1) { told.append(notice) }
  }
  #expect(
    told == [
      .low(secondsLeft: 599), .low(secondsLeft: 299), .low(secondsLeft: 119), .low(secondsLeft: 59),
      .low(secondsLeft: 29), .low(secondsLeft: 9),
    ])
  #expect(low.look(free: 700_000, seconds: 1) == nil, "not far enough above to be over")
  #expect(low.look(free: 901_000, seconds: 1) == .enough)
  #expect(low.look(free: 901_000, seconds: 1) == nil)
}

@Test func `what others write counts where it fills the disk soon`() {
  var low = LowDisk(bytesPerSecond: 1_000)
  var free: Int64 = 100_000_000
  var first: Int64?
  for second in 0..<99 where first == nil {
    free -= 1_000_000
    if case .low(let seconds)? = low.look(free: free, seconds: 1) {
      first = seconds
      #expect(abs(seconds - Int64(99 - second)) <= 40)
    }
  }
  #expect(first != nil)
  // A large file on a large disk is no reason.
  var large = LowDisk(bytesPerSecond: 1_000)
  for second in 0..<60 { #expect(large.look(free: 1 << 40 - Int64(second) * 100_000_000, seconds: 1) == nil) }
}
