import CCrypto

/// A running SHA-256 (FIPS 180-4) through OpenSSL. Keep it on one thread.
@safe public final class Digest {
  private let context: OpaquePointer

  /// - Returns: nil where OpenSSL can't give a context or SHA-256.
  public init?() {
    guard let made = unsafe EVP_MD_CTX_new() else { return nil }
    guard unsafe EVP_DigestInit_ex(made, EVP_sha256(), nil) == 1 else {
      unsafe EVP_MD_CTX_free(made)
      return nil
    }
    unsafe context = made
  }
  deinit { unsafe EVP_MD_CTX_free(context) }

  public func update(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { _ = unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
  }

  /// The digest of all that came so far. More may come after it.
  public func value() -> [UInt8] {
    var out = [UInt8](repeating: 0, count: 32)
    guard let copy = unsafe EVP_MD_CTX_new() else { return out }
    defer { unsafe EVP_MD_CTX_free(copy) }
    unsafe EVP_MD_CTX_copy_ex(copy, context)
    unsafe out.withUnsafeMutableBufferPointer { _ = unsafe EVP_DigestFinal_ex(copy, $0.baseAddress, nil) }
    return out
  }

  public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    let digest = Digest()
    digest?.update(bytes.span)
    return digest?.value() ?? []
  }
  /// Lowercase hexadecimal.
  public static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
  /// OpenSSL's own words.
  public static var libraryVersion: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION)) }
}
