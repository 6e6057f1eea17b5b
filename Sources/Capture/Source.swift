import Platform
import Signal

/// Where frames come from: a file, standard input, a tone, a device. One interface for all.
///
/// Used by one thread at a time, the capture thread.
public protocol Source: AnyObject {
  var format: SourceFormat { get }
  /// Frames the source says it holds, if it says so. Never trusted for more than a progress display.
  var statedFrames: Int64? { get }
  /// Oddities found so far that don't cost audio, such as a header with a wrong size.
  var problems: [SourceProblem] { get }

  /// Fills the front of `buffer` with whole interleaved frames in `format`.
  ///
  /// - Parameter buffer: room for at least one frame.
  /// - Returns: frames delivered, 1 or more; 0 at the end.
  /// - Throws: `SourceError.read` when the rest is damaged, `.io` when the kernel can't read it; frames delivered
  ///   before it are good.
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int

  /// Frames that come together from a live source: what a read asks for.
  var periodFrames: Int { get }

  /// Amplitude from which a sample is at full scale: 32767/32768 where it was 16 bits, whatever `format` says now.
  var fullScale: Float { get }

  /// What audio was lost though the reading went on, silence standing for it; nil where none was. Known at the end.
  var damage: String? { get }

  /// What was lost right before the frames of the read that returned last; nil for nothing. Ask after every read.
  func takeLoss() -> CaptureLoss?

  /// Whether `reopen` may bring it back after `read` threw `.device`.
  var canReopen: Bool { get }
  /// Opens a device that went away once more, in the same format. Back it is only when a `read` returns frames. May block.
  func reopen() throws(CaptureOpenError)

  /// Makes a `read` that waits return soon. Any thread; for good.
  func interrupt()
  /// After `interrupt`, reads go on with what was delivered by then, and end with 0. False: the caller just stops.
  var drainsAfterInterrupt: Bool { get }
}

extension Source {
  public var periodFrames: Int { max(1, format.rate / 100) }
  public var fullScale: Float { format.sample.fullScale }
  public var damage: String? { nil }
  public func takeLoss() -> CaptureLoss? { nil }
  public var canReopen: Bool { false }
  public func reopen() throws(CaptureOpenError) { throw .noDevice(Path("")) }
  public func interrupt() {}
  public var drainsAfterInterrupt: Bool { false }
}

/// A fault in a source that didn't stop it, as `inspect` shows it.
public struct SourceProblem: Sendable, Equatable {
  public var kind: String  // snake_case, such as "header_size"
  public var offset: Int64?  // byte in the file
  public var bytes: Int64?
  public var atFrame: Int64?  // frame of the source where it is heard, at the source's rate
  public var frames: Int64?  // how many frames it touches
  public var message: String

  public init(
    kind: String, offset: Int64? = nil, bytes: Int64? = nil, atFrame: Int64? = nil, frames: Int64? = nil,
    message: String
  ) {
    self.kind = kind
    self.offset = offset
    self.bytes = bytes
    self.atFrame = atFrame
    self.frames = frames
    self.message = message
  }
}

/// Why a source can't be opened or read on. The texts name the fault; the caller adds the path.
public enum SourceError: Error, Equatable, Sendable {
  case notFound
  case permission
  case notAFile(String)  // a folder, a device: what it is
  case io(Int32)  // errno
  case unreadable(String)  // damaged, or no format we know: what is wrong, one line
  case wrongKind(String)  // an audio file's head where raw samples were promised
  case read(String)  // failed in mid-stream
  case device(CaptureFault)  // a device stopped in mid-stream; `ALSASource.reopen` may bring it back

  /// Why a device stopped; nil for other sources' errors.
  public var fault: CaptureFault? { if case .device(let fault) = self { fault } else { nil } }
}
