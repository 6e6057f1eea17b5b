import CSndFile
import Glibc
import Platform

/// Why a sound file can't be written.
public enum SoundWriteError: Error, Equatable, Sendable {
  case io(Int32)  // errno
  /// The container can't hold this rate, count of channels, or length: one clause.
  case refused(String)
}

/// Owns one libsndfile handle that writes 16 bit samples to an open file. Keep it on one thread at a time.
@safe public final class SndFileWriter {
  public enum Container: Sendable { case wav, flac }

  private let handle: OpaquePointer
  private let target: Target  // the handle points at it
  private let container: Container
  private let channels: Int
  private var isClosed = false
  /// Frames written so far.
  public private(set) var frames: Int64 = 0

  /// - Parameters:
  ///   - descriptor: of an empty regular file, open for reading and writing; it stays the caller's.
  ///   - rate: hertz.
  ///   - channels: interleaved.
  public init(
    descriptor: Int32, container: Container, rate: Int, channels: Int
  ) throws(SoundWriteError) {
    let name = container == .wav ? "WAV" : "FLAC"
    var info = SF_INFO()
    info.samplerate = Int32(clamping: rate)
    info.channels = Int32(clamping: channels)
    info.format = Int32((container == .wav ? SF_FORMAT_WAV : SF_FORMAT_FLAC) | SF_FORMAT_PCM_16)
    let target = Target(descriptor)
    var calls = Self.callbacks
    guard unsafe sf_format_check(&info) != 0,
      let made = unsafe sf_open_virtual(
        &calls, Int32(SFM_WRITE), &info, Unmanaged.passUnretained(target).toOpaque())
    else {
      if target.failure != 0 { throw .io(target.failure) }
      throw .refused("\(name) can't hold \(channels) channel\(channels == 1 ? "" : "s") at \(rate) Hz")
    }
    unsafe handle = made
    (self.target, self.container, self.channels) = (target, container, channels)
  }
  deinit { if !isClosed { unsafe sf_close(handle) } }

  /// - Parameter samples: shape `[frame][channel]`, whole frames.
  /// - Throws: `.io` where the disk refuses; `.refused` where a WAV file would grow beyond 4 GiB.
  public func write(_ samples: [Int16]) throws(SoundWriteError) {
    let count = samples.count / channels
    if container == .wav, (frames + Int64(count)) * Int64(channels) * 2 > Int64(UInt32.max) - 4_096 {
      throw .refused("a WAV file can't be longer than 4 GiB: write FLAC, or a shorter stretch")
    }
    let done = unsafe samples.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return 0 }
      return unsafe Int(sf_writef_short(handle, base, sf_count_t(count)))
    }
    guard target.failure == 0, done == count else { throw .io(target.failure == 0 ? EIO : target.failure) }
    frames += Int64(count)
  }

  /// Writes the header's sizes. Nothing can be written behind it.
  public func finish() throws(SoundWriteError) {
    guard !isClosed else { return }
    isClosed = true
    let code = unsafe sf_close(handle)
    guard target.failure == 0, code == 0 else { throw .io(target.failure == 0 ? EIO : target.failure) }
  }

  /// The file as libsndfile sees it; remembers the first failure, which libsndfile doesn't tell.
  private final class Target {
    let descriptor: Int32
    var position: Int64 = 0
    var size: Int64 = 0
    var failure: Int32 = 0
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    static func at(_ address: UnsafeMutableRawPointer?) -> Target? {
      unsafe address.map { unsafe Unmanaged<Target>.fromOpaque($0).takeUnretainedValue() }
    }
    func seek(to offset: Int64, whence: Int32) -> Int64 {
      let base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position : size
      let (wanted, overflow) = base.addingReportingOverflow(offset)
      guard !overflow, wanted >= 0 else { return -1 }
      position = wanted
      return wanted
    }
    func write(_ bytes: UnsafeRawPointer, _ count: Int) -> Int {
      var done = 0
      while done < count, failure == 0 {
        let n = unsafe pwrite(descriptor, bytes + done, count - done, off_t(position))
        if n > 0 {
          done += n
          position += Int64(n)
        } else if n == 0 || errno != EINTR {
          failure = n == 0 ? EIO : errno
        }
      }
      size = max(size, position)
      return done
    }
    func read(_ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
      let n = unsafe pread(descriptor, bytes, count, off_t(position))
      if n > 0 { position += Int64(n) }
      return max(0, n)
    }
  }

  private static var callbacks: SF_VIRTUAL_IO {
    unsafe SF_VIRTUAL_IO(
      get_filelen: { unsafe Target.at($0)?.size ?? 0 },
      seek: { offset, whence, address in unsafe Target.at(address)?.seek(to: offset, whence: whence) ?? -1 },
      read: { bytes, count, address in
        guard let target = unsafe Target.at(address), let bytes = unsafe bytes else { return 0 }
        return sf_count_t(unsafe target.read(bytes, Int(count)))
      },
      write: { bytes, count, address in
        guard let target = unsafe Target.at(address), let bytes = unsafe bytes else { return 0 }
        return sf_count_t(unsafe target.write(bytes, Int(count)))
      },
      tell: { unsafe Target.at($0)?.position ?? 0 })
  }
}

/// Rounds to 16 bits: ±1.0 is ±32 768, what is beyond is clipped, NaN is 0. A 16 bit sample that became a float comes back
/// as it was. Any thread.
public func sixteenBits(_ sample: Float) -> Int16 {
  guard sample == sample else { return 0 }
  return Int16(max(-32_768, min(32_767, (sample * 32_768).rounded())))
}
