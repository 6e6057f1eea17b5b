import Signal

/// Another source's frames in blocks of at most so many: what comes out of the stages must not depend on them.
public final class BlockSource: Source {
  private let inner: any Source
  private let frames: Int
  public var format: SourceFormat { inner.format }
  public var statedFrames: Int64? { inner.statedFrames }
  public var problems: [SourceProblem] { inner.problems }
  public var periodFrames: Int { inner.periodFrames }
  public var fullScale: Float { inner.fullScale }
  public var damage: String? { inner.damage }
  public func interrupt() { inner.interrupt() }
  public var drainsAfterInterrupt: Bool { inner.drainsAfterInterrupt }
  public func takeLoss() -> CaptureLoss? { inner.takeLoss() }

  /// - Parameter frames: most frames a read delivers, 1 or more.
  public init(_ inner: any Source, frames: Int) {
    self.inner = inner
    self.frames = max(1, frames)
  }

  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    var block = buffer._mutatingExtracting(first: min(buffer.byteCount, frames * format.bytesPerFrame))
    return try inner.read(into: &block)
  }
}
