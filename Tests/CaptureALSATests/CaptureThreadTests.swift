import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

/// What the capture thread does besides reading. Counted in a process of its own, with the counters preloaded.
@Suite(.enabled(if: Rig.works, Rig.missing), .serialized) struct CaptureThreadTests {
  /// Alone in its process only: the preload would reach whatever other tests start meanwhile. `make test` runs it first.
  @Test(
    .enabled(if: getenv("HOLDFAST_COUNTS") != nil, "runs alone, with HOLDFAST_COUNTS=1"),
    arguments: ["0", "1"])
  func `a read in the steady state allocates, locks and counts nothing of ours`(
    mmap: String
  ) async throws {
    let library = Rig.shared.folder + "/libcounts.so"
    let cc = Rig.compile("counts", to: library, "-ldl")
    try #require(cc.code == 0, "\(cc.output)")
    setenv("LD_PRELOAD", library, 1)
    setenv("HOLDFAST_TEST_MMAP", mmap, 1)
    defer {
      unsetenv("LD_PRELOAD")
      unsetenv("HOLDFAST_TEST_MMAP")
    }
    await #expect(processExitsWith: .success) {
      let counts = try #require(Counts())
      let mmap = String(cString: getenv("HOLDFAST_TEST_MMAP")) == "1"
      // An overrun within the counted stretch is steady state too.
      let card = Card(bytes: counted(480_000), formats: "S32_LE", script: "0.4 xrun")
      let source = try ALSASource(name: card.name(), wish: CaptureWish(mmap: mmap))
      let room = UnsafeMutableRawBufferPointer.allocate(byteCount: source.periodFrames * 4, alignment: 16)
      let warmed = readPeriods(source, room, 10)
      counts.begin()
      let read = readPeriods(source, room, 100)
      let found = counts.end()
      #expect(warmed > 0 && read > 40_000)
      #expect(found.ourAllocations == 0 && found.ourFrees == 0 && found.ourLocks == 0)
      // The optimiser removes the counts that a debug build makes around every call.
      #if !DEBUG
        #expect(found.ourCounts == 0)
      #endif
      #expect(found.theirLocks > 0, "the counters count nothing")
    }
  }

  @Test func `real time is taken where it is allowed, and its lack is no error`() throws {
    let thread = try Platform.Thread(name: "realtime") {
      let grant = adoptRealtime()
      if grant.isFIFO { #expect(sched_getscheduler(0) & ~0x4000_0000 == SCHED_FIFO) }
      if geteuid() == 0 { #expect(grant.isStackLocked) }
    }
    thread.join()
    var bytes = [UInt8](repeating: 1, count: 100_000)
    let locked = lockInMemory(bytes.span.bytes)
    if geteuid() == 0 { #expect(locked) }
    let none: [UInt8] = []
    let lockedNone = lockInMemory(none.span.bytes)
    #expect(lockedNone)
    bytes[0] = 2
  }
}

/// Reads that many times, without anything else on the way.
@inline(never) private func readPeriods(
  _ source: ALSASource, _ room: UnsafeMutableRawBufferPointer, _ count: Int
) -> Int {
  var frames = 0
  for _ in 0..<count {
    do throws(SourceError) {
      var span = MutableRawSpan(_unsafeBytes: room)
      frames += try source.read(into: &span)
      if source.takeLoss() != nil { frames += 0 }
    } catch { return -1 }
  }
  return frames
}

/// The preloaded counters.
private struct Counts {
  typealias Begin = @convention(c) () -> Void
  typealias End = @convention(c) (UnsafeMutablePointer<Int>) -> Void
  let begin: Begin
  let finish: End

  init?() {
    guard let begin = dlsym(nil, "counts_begin"), let end = dlsym(nil, "counts_end") else { return nil }
    self.begin = unsafeBitCast(begin, to: Begin.self)
    finish = unsafeBitCast(end, to: End.self)
  }
  struct Found {
    var ourAllocations, ourFrees, ourLocks, ourCounts, theirAllocations, theirLocks: Int
  }
  func end() -> Found {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 6) { room in
      room.initialize(repeating: -1)
      finish(room.baseAddress!)
      return Found(
        ourAllocations: room[0], ourFrees: room[1], ourLocks: room[2], ourCounts: room[3],
        theirAllocations: room[4],
        theirLocks: room[5])
    }
  }
}
