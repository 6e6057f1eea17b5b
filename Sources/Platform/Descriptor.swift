import CPlatform
import Glibc

/// Owns one open file descriptor and closes it once.
public struct Descriptor: ~Copyable, Sendable {
  public let raw: Int32

  /// Takes over `raw`, which nobody else may close.
  public init(owning raw: Int32) { self.raw = raw }
  deinit { close(raw) }
}
