import CPlatform
import Glibc

/// An error number of the C library.
public struct Errno: Error, Equatable, Sendable {
  public let code: Int32

  public init(_ code: Int32) { self.code = code }
  /// The number the last failed call of this thread left.
  public static var current: Errno { Errno(Glibc.errno) }

  /// The C library's text, such as "No space left on device".
  public var text: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      guard let base = buffer.baseAddress, unsafe strerror_r(code, base, buffer.count) == 0 else {
        return "error \(code)"
      }
      return unsafe String(cString: base)
    }
  }
  public static let notFound = ENOENT
  public static let notAFolder = ENOTDIR
  public static let io = EIO
  public static let noMemory = ENOMEM
  public static let exists = EEXIST
  public static let busy = EBUSY

  public var isPermission: Bool { code == EACCES || code == EPERM }
  /// True where the kernel or the file system has no such call. Only of calls whose arguments are known to be right.
  public var isNotProvided: Bool { code == EINVAL || code == ENOSYS || code == EOPNOTSUPP }
  /// True where the disk or a quota is full, or a file has reached its size limit.
  public var isDiskFull: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
}
