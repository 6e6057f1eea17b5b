import TestSupport
import Testing

/// Some cuts of `make powerloss`: the power goes while a take is recorded, sealed, replaced, recovered.
@Suite struct PowerLossTests {
  @Test func `what a disk may hold after a power cut is recovered`() throws {
    let said = try run(
      "python3", [Places.root + "/benchmarks/powerloss.py", Places.holdfast, "--quick"], timeout: 300)
    #expect(said.code == 0, "\(said.outText)\(said.errText)")
  }
}
