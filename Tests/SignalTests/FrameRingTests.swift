import Foundation
import Testing

@testable import Signal

@Test func `what goes into the ring comes out, in order, and nothing is overwritten`() async {
  let ring = FrameRing(format: SourceFormat(sample: .s32, rate: 2_000, channels: 1), seconds: 1)
  let total: Int32 = 300_000
  let writer = Thread {
    var next: Int32 = 0
    while next < total {
      let n = ring.write(atMost: Int.random(in: 1...500)) { span in
        let count = min(span.byteCount / 4, Int(total - next))
        for i in 0..<count { span.storeBytes(of: next + Int32(i), toByteOffset: i * 4, as: Int32.self) }
        return count
      }
      next += Int32(n)
      if n == 0 { sched_yield() }
    }
    ring.close()
  }
  writer.start()
  var expected: Int32 = 0
  var wrong = 0
  while true {
    let closed = ring.isClosed
    let n = ring.read(atMost: 333) { bytes in
      for i in 0..<(bytes.byteCount / 4) {
        if unsafe bytes.unsafeLoad(fromByteOffset: i * 4, as: Int32.self) != expected { wrong += 1 }
        expected += 1
      }
    }
    if n == 0, closed { break }
    if n == 0 { sched_yield() }
  }
  #expect(wrong == 0)
  #expect(expected == total)
}

@Test func `a full ring takes nothing and loses nothing`() {
  let ring = FrameRing(format: SourceFormat(sample: .u8, rate: 10, channels: 1), seconds: 1)
  var written = 0
  while true {
    let n = ring.write(atMost: 100) { span in span.byteCount }
    if n == 0 { break }
    written += n
  }
  #expect(written == ring.capacity)
  #expect(ring.free == 0)
  #expect(ring.read(atMost: 10) { _ in } == 10)
  #expect(ring.free == 10)
}

@Test func `the ring never takes more than 16 MB`() {
  let ring = FrameRing(format: SourceFormat(sample: .float32, rate: 192_000, channels: 64))
  #expect(ring.capacity * ring.format.bytesPerFrame <= 16_000_000)
}
